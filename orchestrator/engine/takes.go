package engine

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// Work takes what agents hand in.
type Work interface {
	// Take takes the tree of a workspace as it stands, also while its agent still writes there,
	// and judges it. It is called from several goroutines, for different workspaces. It changes
	// nothing but the store of the work, and ends the launch first if the taking says so.
	Take(ctx context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error)
}

// takes are the submissions that wait in front of the cursor until their work is taken. Only the
// loop's goroutine touches it; each take runs in a goroutine of its own.
type takes struct {
	*Options
	ctx   context.Context // of the takes
	ended chan taken
	held  map[string]*take // by submission
}

type take struct {
	orchestrator.Taking
	snapshot *orchestrator.Snapshot // nil while it is taken
	wanted   bool                   // the submission was met in the present pass
}

// taken is the end of one take; a snapshot of nil means that it was interrupted.
type taken struct {
	submission string
	snapshot   *orchestrator.Snapshot
}

func newTakes(ctx context.Context, o *Options) takes {
	return takes{Options: o, ctx: ctx, ended: make(chan taken), held: map[string]*take{}}
}

// of returns the snapshot of a submission. While it is nil, the submission has to wait: its work
// is being taken, or an earlier one of the same workspace is not decided about.
func (k *takes) of(submission string, t orchestrator.Taking) *orchestrator.Snapshot {
	if known, ok := k.held[submission]; ok {
		known.wanted = true
		return known.snapshot
	}
	for _, other := range k.held {
		if other.Workspace == t.Workspace && (other.snapshot == nil || other.wanted) {
			return nil
		}
	}
	k.held[submission] = &take{Taking: t, wanted: true}
	go func() {
		snapshot, err := k.take(t)
		if err != nil && k.ctx.Err() == nil {
			snapshot = &orchestrator.Snapshot{Problem: err.Error()}
		}
		crash.Point("taken", t.Task)
		k.ended <- taken{submission, snapshot}
	}()
	return nil
}

// take turns a panic into a submission that cannot be taken.
func (k *takes) take(t orchestrator.Taking) (snapshot *orchestrator.Snapshot, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while the work of %s is taken: %v", t.Workspace, p)
		}
	}()
	return k.Work.Take(k.ctx, t)
}

// decided forgets a submission that is decided about. What is still being taken is forgotten at
// its end.
func (k *takes) decided(submission string) {
	if t := k.held[submission]; t != nil && t.snapshot != nil {
		delete(k.held, submission)
	}
}

// finish takes the end of one take.
func (k *takes) finish(end taken) {
	if end.snapshot == nil {
		delete(k.held, end.submission)
		return
	}
	k.held[end.submission].snapshot = end.snapshot
}

func (k *takes) running() int {
	n := 0
	for _, t := range k.held {
		if t.snapshot == nil {
			n++
		}
	}
	return n
}

// holds reports whether a submission of the launch waits.
func (k *takes) holds(launch orchestrator.Launch) bool {
	for _, t := range k.held {
		if t.Launch == launch {
			return true
		}
	}
	return false
}

// begin starts a pass over what is submitted, and end forgets what it did not meet: a line of a
// file that was replaced, a marker that was removed.
func (k *takes) begin() {
	for _, t := range k.held {
		t.wanted = false
	}
}

func (k *takes) end() {
	for submission, t := range k.held {
		if !t.wanted && t.snapshot != nil {
			delete(k.held, submission)
		}
	}
}

// close waits for the takes that run; their context has ended.
func (k *takes) close() {
	for k.running() > 0 {
		k.finish(<-k.ended)
	}
}

// maxAhead is how many lines behind one that waits are searched for others whose work can be
// taken meanwhile.
const maxAhead = 100

// first reports whether the first line has what it needs: then it is decided about next. If it
// has to wait for its work, that of the lines behind it is taken, too.
func (k *takes) first(st *orchestrator.State, lines []orchestrator.Line) bool {
	if k.Work == nil {
		return true
	}
	if k.line(st, &lines[0]) {
		k.decided(submission(&lines[0]))
		return true
	}
	for i := range lines[1:min(len(lines), maxAhead)] {
		k.prepare(&lines[1+i])
		k.line(st, &lines[1+i])
	}
	return false
}

// line gives a line the work that it hands in, and reports whether it has what it needs.
func (k *takes) line(st *orchestrator.State, line *orchestrator.Line) bool {
	t, ok := duty.Takes(k.Definition, st, line)
	if !ok {
		return true
	}
	// A line that somebody made by hand is taken as its agent stands.
	t.End = line.Launch != "" && line.Same == "" && !line.At.IsZero() && !duty.Awaited(line, k.Now())
	line.Snapshot = k.of(submission(line), t)
	return line.Snapshot != nil
}

// submission names a line among those that wait.
func submission(line *orchestrator.Line) string {
	return fmt.Sprintf("%d/%s", line.Cursor.Offset, line.ID)
}

// marker is line for a marker that a person made.
func (k *takes) marker(st *orchestrator.State, o *orchestrator.Observation) bool {
	if k.Work == nil {
		return true
	}
	t, ok := duty.TakesMarked(k.Definition, st, o)
	if !ok {
		return true
	}
	o.Snapshot = k.of("marker/"+o.Name+"/"+o.Evidence, t)
	return o.Snapshot != nil
}

// awaitTakes takes everything that is submitted, before agents are started that may have
// submitted already.
func (l *loop) awaitTakes(ctx context.Context) error {
	for l.takes.running() > 0 {
		select {
		case end := <-l.takes.ended:
			l.takes.finish(end)
		case <-ctx.Done():
			return nil
		}
		if err := l.pass(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
