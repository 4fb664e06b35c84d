// Package recall brings the session of an issue to this machine when a command or a request label for it comes here: one that
// waits for a person, has failed or was stopped, or whose host is gone, and that another machine had last. So whichever host
// hears an answer first continues the session that asked.
//
// What says which session the issue has is its newest status comment, of an account that may be believed. The checkpoint on
// the server has to say the same of itself. The issue is claimed before anything is fetched: of two hosts that hear the same
// command one continues. A claim is given back unless the session is here.
//
// It writes claims, and through its owner the directory of the session. A kill leaves a claim, which is stale once
// its host is gone or is given back by the next process of that host, and at most a directory that was not started.
package recall

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Claims finds out who has an issue, and claims it; see [orphan.Lookout].
type Claims interface {
	Holder(ctx context.Context, issue int) (host claim.HostID, left *orphan.Request, err error)
	Take(ctx context.Context, want claim.Want, left *orphan.Request) (claim.Held, error)
}

// Recaller brings sessions of one repository here. All fields are set.
type Recaller struct {
	Claims Claims
	// Record reads an issue with its comments.
	Record func(ctx context.Context, issue int) (ghsync.Record, error)
	// Believes reports whether a comment is of the program: of its own account, or of one that may push.
	Believes func(ctx context.Context, c ghsync.Comment) (bool, error)
	// Saved reports whether a session, by its name on the server, has a checkpoint there.
	Saved func(ctx context.Context, session string) (bool, error)
	// Unfinished reports whether a session failed, was stopped or waits, by its checkpoint.
	Unfinished func(ctx context.Context, session string, issue int) (bool, error)
	// Continue makes the directory of a session from its checkpoint. refused says why that must not be.
	Continue func(ctx context.Context, session string, issue int) (dir, refused string, err error)
	Log      *slog.Logger
}

// Asked is a command that a session is wanted for.
type Asked struct {
	Issue int
	By    gate.Trigger
	// Of is the session that the command is for, by its name on the server: that of the pull request it was written
	// on. Empty = the one that the issue shows.
	Of string
	// Here is the session of the issue that this machine has, by its name on the server; empty: it has none.
	Here string
	// Retry says that the command asks for another try: a session that is done stays where it is.
	Retry bool
	// Newer reports whether Here went on elsewhere since it was here; nil: there is no session here.
	Newer func(ctx context.Context) (bool, error)
}

// Session makes the directory of the session that a command is for, and returns it with the claim of its issue. dir is
// empty if this machine has that session already, or if no session waits. The error is *claim.TakenError if a host
// has the issue.
func (r Recaller) Session(ctx context.Context, a Asked) (dir string, held claim.Held, err error) {
	_, left, err := r.Claims.Holder(ctx, a.Issue)
	if err != nil {
		return "", nil, err
	}
	name, err := r.named(ctx, a, left)
	if err != nil || name == "" {
		return "", nil, err
	}
	if a.Retry {
		if left, err := r.Unfinished(ctx, name, a.Issue); err != nil || !left {
			return "", nil, err
		}
	}
	held, err = r.Claims.Take(ctx, claim.Want{Issue: a.Issue, Session: name, Trigger: a.By.String(), State: claim.Running}, left)
	if err != nil {
		return "", nil, err
	}
	dir, refused, err := r.Continue(ctx, name, a.Issue)
	if err == nil && refused == "" {
		r.Log.Info("a session is continued from its checkpoint", "issue", a.Issue, "session", name, "trigger", a.By.String())
		return dir, held, nil
	}
	if refused != "" {
		r.Log.Warn("a session is not continued", "issue", a.Issue, "session", name, "err", refused)
	}
	return "", nil, errors.Join(err, release(ctx, held))
}

// named returns the session of the issue, by its name on the server, if it has to be brought here.
func (r Recaller) named(ctx context.Context, a Asked, left *orphan.Request) (name string, err error) {
	if left != nil {
		if left.Saved && (a.Of == "" || a.Of == left.Seen.Claim.Session) {
			name = left.Seen.Claim.Session
		}
		return name, nil
	}
	record, err := r.Record(ctx, a.Issue)
	if err != nil || record.Issue.Closed {
		return "", err
	}
	if name, err = Shown(ctx, record, r.Believes); err != nil || name == "" || a.Of != "" && name != a.Of {
		return "", err
	}
	if name == a.Here {
		if newer, err := a.Newer(ctx); err != nil || !newer {
			return "", err
		}
		return name, nil
	}
	if saved, err := r.Saved(ctx, name); err != nil || !saved {
		return "", err
	}
	return name, nil
}

// Shown returns the session that the newest believed status comment of an issue shows, by its name on the server; "" without one.
func Shown(ctx context.Context, record ghsync.Record, believes func(context.Context, ghsync.Comment) (bool, error)) (string, error) {
	for _, c := range slices.Backward(record.Comments) {
		m, marked := ghsync.ParseMarker(c.Body)
		if !marked || m.Kind != ghsync.KindStatus || m.Part != "" || !isSession(m.Session) {
			continue
		}
		if believed, err := believes(ctx, c); err != nil || believed {
			return m.Session, err
		}
	}
	return "", nil
}

// isSession reports whether a name is that of a session on the server.
func isSession(public string) bool {
	i := strings.LastIndexByte(public, '-')
	if i < 0 {
		return false
	}
	name, identity := public[:i], public[i+1:]
	return session.ValidName(name) && session.ValidIdentity(identity) && orchestrator.PublicID(name, identity) == public
}

// Unheard reports whether a claim of this host is for a session that was called here by a command or a review which is heard
// again: it does not end as lost. One that was given the command here, or that another try is, does.
func Unheard(seen claim.Seen, j *journal.Journal) bool {
	q, ok := orphan.Mislaid(seen)
	if !ok || q.Trigger.Kind != gate.Comment && q.Trigger.Kind != gate.Review {
		return false
	}
	_, decided := j.Decision(seen.Issue, q.Trigger)
	given, heard := j.Command(q.Trigger.String())
	return !decided && (!heard || given.Session == "")
}

// releaseTime bounds how long a claim is given back. One that stays is stale when its host is gone.
const releaseTime = 20 * time.Second

func release(ctx context.Context, held claim.Held) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := held.Release(ctx); err != nil && !errors.As(err, new(*claim.LostError)) {
		return err
	}
	return nil
}
