package restore

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Pushed returns the checkpoint that this machine has pushed last of the session in dir; empty for none.
func Pushed(dir string) string {
	note, err := claim.ReadNote(dir)
	if err != nil {
		return ""
	}
	return note.Checkpoint
}

// Owed returns the directory below a project of a session, by its name on the server, and whether it was
// restored there and not started since.
func Owed(project, name string) (dir string, owed bool) {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i]
	}
	dir = filepath.Join(session.Dir(project), name)
	sess, err := session.Open(dir)
	if err != nil {
		return dir, false
	}
	_, owed, err = Read(sess)
	return dir, err == nil && owed
}

// Unsubmitted are the workspaces with work that was not handed in; those of a session that was not restored are none.
func (n *Note) Unsubmitted() []string {
	if n == nil {
		return nil
	}
	return n.Begun
}

// Settling returns an OnCommit that notes at the first commit of the session in dir that it was started here: a later
// start must not take what agents did since for what came along. One that cannot be noted is started once more.
func (n *Note) Settling(dir string, next func(*orchestrator.State)) func(*orchestrator.State) {
	settled := *n
	return func(s *orchestrator.State) {
		if !settled.Settled {
			settled.Settled = true
			settled.Settled = settled.write(dir) == nil
		}
		if next != nil {
			next(s)
		}
	}
}

// Move is the note as the start of the session in dir has it, without its workspaces.
func (n *Note) Move(dir string) *orchestrator.Move {
	return &orchestrator.Move{
		Host: n.Host, Checkpoint: n.Checkpoint, Age: orchestrator.Duration(time.Duration(n.Age) * time.Second), LeftOut: n.LeftOut,
		Dir: dir, Work: map[string]orchestrator.Moved{},
	}
}
