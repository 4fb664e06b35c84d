package recall

import (
	"context"

	"github.com/agentmux/agentmux/bot/again"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

// Bringer makes the directory of the session that is asked for, as [Recaller.Session] does.
type Bringer interface {
	Session(ctx context.Context, a Asked) (dir string, held claim.Held, err error)
}

// Label brings the session here that a request label continues. All fields but Over are set.
type Label struct {
	Recaller
	Of       Checkpoints
	Record   ghsync.Record    // the reading that was judged
	Decision *gate.Decision   // that accepted the label; a refusal if the session waits for something else
	Now      *ghsync.Snapshot // what a new session would work from
	// Over says, after Session, that the issue has a session on another machine which the label does not continue. What is
	// here is older then.
	Over bool
}

// Session is that of the Recaller for a session that [again.Former.Continue] continues. A request in a comment brings
// nothing: the session was brought for it before.
func (l *Label) Session(ctx context.Context, a Asked) (dir string, held claim.Held, err error) {
	if a.By.Kind != gate.Label {
		return "", nil, nil
	}
	r := l.Recaller
	r.Record = func(context.Context, int) (ghsync.Record, error) { return l.Record, nil }
	r.Unfinished = func(ctx context.Context, name string, issue int) (bool, error) {
		wanted, err := l.Of.judged(ctx, name, issue, func(files map[string][]byte) bool { return again.Brings(files, l.Decision, l.Now) })
		l.Over = !wanted
		return wanted, err
	}
	a.Retry = true
	return r.Session(ctx, a)
}
