package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// elsewhere pushes the checkpoint of a session as another host made it at a time, and returns its commit.
func (r *githubRig) elsewhere(p *project.Project, s *orchestrator.State, files map[string][]byte, at time.Time) string {
	r.t.Helper()
	m := checkpoint.Manifest{
		Session: orchestrator.PublicID(s.SessionID, s.Identity), Repo: string(s.Repo), Issue: s.IssueNumber, Host: "h_0123456789abcdef",
		At: at, Record: s.Seq, Base: s.BaseSHA, Files: map[string]string{}, Work: map[string]checkpoint.Work{},
	}
	held := map[string][]byte{}
	for name, data := range files {
		m.Files[name], held[checkpoint.SessionDir+"/"+name] = checkpoint.Digest(data), data
	}
	message, err := m.Message()
	if err != nil {
		r.t.Fatal(err)
	}
	tree, err := p.Store.BuildTree(r.t.Context(), held, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	id, err := p.Store.Commit(r.t.Context(), gitrepo.CommitSpec{
		Tree: tree, Parents: []string{s.BaseSHA}, Message: message, Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: at,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ref := gitrepo.CheckpointRef(m.Session)
	refs, err := p.Remote.Refs(r.t.Context(), p.Store, ref)
	if err != nil {
		r.t.Fatal(err)
	}
	update := remote.RefUpdate{Ref: ref, New: id}
	if len(refs) > 0 {
		update.Old = refs[0].ID
	}
	if _, err := p.Remote.Push(r.t.Context(), p.Store, remote.PushSpec{Updates: []remote.RefUpdate{update}}); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// Row R8: a host is killed between the restore of a session and its start. It starts what it restored, unless another
// host went on with the session meanwhile: then it restores it once more.
func TestProtocolR8ARestoredDirectoryIsOvertakenBeforeItStarts(t *testing.T) {
	t.Parallel()
	r := newGitHubRig(t, "")
	dir, number := r.issue("Greet", "Say hello.")
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	files, left, err := sess.Kept(1 << 20)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	p, err := r.host.Projects().Open(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	spec := host.RestoreSpec{
		Project: p, Config: r.config, Session: orchestrator.PublicID(s.SessionID, s.Identity), Issue: number, Host: "h_fedcba9876543210",
		Repo: ghsync.Repo{Owner: "acme", Name: "widgets"},
	}
	continues := func(want string, aside int) {
		t.Helper()
		got, refused, err := host.Elsewhere{Host: r.host}.Continue(t.Context(), spec)
		if err != nil || refused != "" {
			t.Fatalf("refused %q, %v", refused, err)
		}
		note, err := claim.ReadNote(got)
		if err != nil || got != dir || note.Checkpoint != want {
			t.Errorf("at %s from %s, want %s, %v", got, note.Checkpoint, want, err)
		}
		if found, _ := filepath.Glob(dir + session.OvertakenMark + "*"); len(found) != aside {
			t.Errorf("put aside: %v", found)
		}
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	first := r.elsewhere(p, s, files, at)
	continues(first, 0)
	continues(first, 0)
	later := r.elsewhere(p, s, files, at.Add(time.Hour))
	continues(later, 1)
	continues(later, 1)
}

// Row R7: a checkpoint that claims the branch of another session of this machine is refused, and the directory that its
// session has here stays where it is.
func TestProtocolR7ACheckpointWithTheBranchOfAnotherSessionIsRefused(t *testing.T) {
	t.Parallel()
	r := newGitHubRig(t, "")
	other, _ := r.issue("Leave", "Say goodbye.")
	dir, number := r.issue("Greet", "Say hello.")
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := r.state(dir)
	files, left, err := sess.Kept(1 << 20)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	p, err := r.host.Projects().Open(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	s.FeatureBranch = r.state(other).FeatureBranch
	if files[session.StateFile], err = s.Encode(); err != nil {
		t.Fatal(err)
	}
	r.elsewhere(p, s, files, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	got, refused, err := host.Elsewhere{Host: r.host}.Continue(t.Context(), host.RestoreSpec{
		Project: p, Config: r.config, Session: orchestrator.PublicID(s.SessionID, s.Identity), Issue: number, Host: "h_fedcba9876543210",
		Repo: ghsync.Repo{Owner: "acme", Name: "widgets"},
	})
	if err != nil || got != "" || !strings.Contains(refused, s.FeatureBranch+" is of another session here") {
		t.Errorf("at %q, refused %q, %v", got, refused, err)
	}
	if found, _ := filepath.Glob(dir + session.OvertakenMark + "*"); len(found) > 0 || r.state(dir).FeatureBranch == s.FeatureBranch {
		t.Errorf("put aside: %v", found)
	}
}
