package job

import (
	"io"
	"slices"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// follower writes the records of a session to the log of the job while they are committed: a group
// for each visit of a phase.
type follower struct {
	run     *run
	records *session.Follower
	tree    *watch.Tree
	stop    chan struct{}
	done    chan struct{}
}

// follow begins to write what the session in dir does. Close ends it, once everything is written.
func (r *run) follow(dir string) io.Closer {
	r.dir = dir
	sess, err := session.Open(dir)
	if err != nil {
		return nothing{}
	}
	tree, err := r.watcher.Watch(dir, nil)
	if err != nil {
		return nothing{}
	}
	f := &follower{run: r, records: sess.Follow(r.told[dir]), tree: tree, stop: make(chan struct{}), done: make(chan struct{})}
	go f.loop()
	return f
}

func (f *follower) loop() {
	defer close(f.done)
	for {
		f.read()
		select {
		case <-f.stop:
			f.read()
			return
		case <-f.tree.Wakes():
		}
	}
}

// failures are records that people should see on the page of the run.
var failures = []string{orchestrator.EvAgentFailed, orchestrator.EvScopeViolation, orchestrator.EvWorkspaceLost}

func (f *follower) read() {
	records, err := f.records.Read()
	if err != nil {
		return // the next call may read more, and the end is told from the state
	}
	for _, e := range records {
		line := f.run.shown(console.OneLine(story.Line(e)))
		if e.Type == orchestrator.EvPhaseEntered {
			f.run.log.Group(e.Phase)
		}
		if line == "" {
			continue
		}
		f.run.finder.Say("%s %s", e.TS.UTC().Format("15:04:05"), line)
		if slices.Contains(failures, e.Type) {
			f.run.log.Annotate(Warning, e.Phase, line)
		}
	}
}

// Close ends the following.
func (f *follower) Close() error {
	close(f.stop)
	<-f.done
	f.run.told[f.run.dir] = f.records.After
	f.run.log.EndGroup()
	return f.tree.Close()
}

type nothing struct{}

func (nothing) Close() error { return nil }
