package show

import (
	"context"
	"fmt"
	"os"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Tell returns the story of a session that can be read. It reads the session's files and, once the
// session has ended, asks whether its tmux server runs. It does not use the network.
func Tell(ctx context.Context, e session.Entry) story.Story {
	return tell(ctx, e, story.Facts{Name: e.Name, Running: e.Running})
}

// TellLater is Tell for who does not ask right at the end of the session, after which its host gives the
// claim of its issues back: one that is still there is owed.
func TellLater(ctx context.Context, e session.Entry) story.Story {
	note, err := claim.ReadNote(e.Dir)
	return tell(ctx, e, story.Facts{Name: e.Name, Running: e.Running, Claimed: err == nil && len(note.Claims) > 0})
}

func tell(ctx context.Context, e session.Entry, f story.Facts) story.Story {
	var records []orchestrator.Event
	if sess, err := session.Open(e.Dir); err == nil {
		records, _, _ = sess.Events(0) // what cannot be read is left out; doctor says why
		f.Unread = unread(sess, e.State)
		f.Server = e.State.Ended() && !e.Running && hasServer(ctx, sess)
	}
	if e.State.Shown() {
		f.Unshown = !mirror.Shown(e.Dir, e.State.Seq)
		f.Trouble = mirror.Trouble(e.Dir)
		f.Away.Since, f.Away.Tries = mirror.Away(e.Dir)
	}
	if proposable(e.State) {
		f.Proposal = proposal(ctx, e.Dir, e.State, story.Tell(e.State, records, f).Withheld)
	}
	return story.Tell(e.State, records, f)
}

// unread are the names of the commands that no host has read yet.
func unread(sess *session.Session, s *orchestrator.State) (names []string) {
	lines, _, err := sess.Lines(session.Commands, s.CommandCursor, 0)
	if err != nil {
		return nil
	}
	for _, line := range lines {
		if p, err := line.Decode(); err == nil && line.Corrupt == "" && p.Name != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// hasServer reports whether a session's tmux server runs and no person is attached to it: with a
// person it stays until they leave.
func hasServer(ctx context.Context, sess *session.Session) bool {
	s, err := sess.ReadState()
	if err != nil {
		return false
	}
	socket := site.SocketOf(sess.Dir, s, sess.ReadRuntime())
	if _, err := os.Lstat(socket); socket == "" || err != nil {
		return false
	}
	server, err := site.OpenServer(ctx, socket)
	if err != nil {
		return false
	}
	attached, err := server.Attached(ctx)
	return err == nil && !attached
}

// proposable reports whether a done session left its branch in the clone, also after a failed
// review.
func proposable(s *orchestrator.State) bool {
	return s.Phase == orchestrator.PhaseDone && !s.Completion.Pushed && s.Completion.Commit != "" && s.FeatureBranch != ""
}

// proposal returns the command that brings such a branch to its base.
func proposal(ctx context.Context, dir string, s *orchestrator.State, why orchestrator.Withheld) string {
	branch := s.FeatureBranch
	if s.Repo == "" {
		return "git merge " + branch
	}
	remote, head := pushPlace(ctx, dir, s, why)
	return fmt.Sprintf("git push %s %s && gh pr create --repo %s --base %s --head %s", remote, branch, s.Repo, s.BaseBranch, head)
}

// pushPlace returns the remote that a person can push a session's branch to, and how a pull
// request names the branch there. Without write access to the repository that is a fork.
func pushPlace(ctx context.Context, dir string, s *orchestrator.State, why orchestrator.Withheld) (remote, head string) {
	branch, fork := s.FeatureBranch, project.Fork{}
	if why != orchestrator.PushElsewhere {
		fork = project.FindFork(ctx, site.ProjectOf(session.Entry{Dir: dir}), string(s.Repo))
	}
	refused := why == orchestrator.PushElsewhere || why == orchestrator.PushReadOnly
	switch {
	case fork.Remote == "origin", refused && console.Typeable.MatchString(fork.Remote):
		return fork.Remote, fork.Owner + ":" + branch
	case refused:
		return "YOUR-FORK", "YOU:" + branch
	}
	return "origin", branch
}
