package project_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// What the sessions of a managed project made in the store that an earlier version had of the new name of the repository is
// taken into the store that they have now, unless they are further there. What is of the sessions of others stays.
func TestAManagedProjectTakesTheStoreOfItsNewNameIn(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/nope")
	c, problems := config.Load(config.Sources{Home: "/"})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	o := project.Opener{
		Self: "/self", StateHome: t.TempDir(), Server: "https://git.example", Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Located: &project.Located{},
	}
	now, err := o.Managed(t.Context(), ghsync.Repo{Owner: "acme", Name: "widgets"}, c)
	if err != nil {
		t.Fatal(err)
	}
	root := now.Clone.Root
	if err := os.WriteFile(filepath.Join(root, project.NamesFile), []byte(`{"version":1,"id":7,"names":["acme/widgets","Umbrella/Gadgets"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, def, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	state := orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc", Repo: "acme/widgets"}
	sess, err := session.Create(session.CreateSpec{Project: root, Now: time.Now(), Source: "tokens", Request: "Refuse them.", Definition: def, State: state})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sess.Close() }()
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	then, err := gitrepo.Open(t.Context(), filepath.Join(o.StateHome, "git.example", "umbrella", "gadgets.git"))
	if err != nil {
		t.Fatal(err)
	}
	commits := func(in *gitrepo.Store, message string, parents ...string) string {
		t.Helper()
		tree, err := in.BuildTree(t.Context(), map[string][]byte{"a.txt": []byte("two\n")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sha, err := in.Commit(t.Context(), gitrepo.CommitSpec{Tree: tree, Parents: parents, Message: message, Author: gitrepo.Signature{Name: "m", Mail: "m@example.com"}, Date: time.Unix(1e9, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	set := func(in *gitrepo.Store, ref, sha string) {
		t.Helper()
		if err := in.UpdateRef(t.Context(), ref, sha, ""); err != nil {
			t.Fatal(err)
		}
	}
	own, agent, other := s.SessionID+"-"+s.Identity, s.SessionID+"--api-"+s.Identity, s.SessionID+"-"+session.NewIdentity()
	first := commits(then, "first")
	second := commits(then, "second", first)
	commits(now.Store, "first")
	later := commits(now.Store, "later", first)
	for _, ref := range []string{gitrepo.IntegrationRef(own), gitrepo.PushedRef(agent), gitrepo.PreservedRef(own, "coder"), gitrepo.IntegrationRef(other), "refs/agentmux/base/" + first} {
		set(then, ref, second)
	}
	set(then, gitrepo.StartRef(own), second)
	set(now.Store, gitrepo.StartRef(own), first)
	set(then, gitrepo.CheckpointRef(own), second)
	set(now.Store, gitrepo.CheckpointRef(own), later)
	for range 2 { // the second time there is nothing to do
		p, err := o.ManagedIn(t.Context(), root, ghsync.Repo{Owner: "umbrella", Name: "gadgets"}, c)
		if err != nil {
			t.Fatal(err)
		}
		for ref, want := range map[string]string{
			gitrepo.IntegrationRef(own): second, gitrepo.PushedRef(agent): second, gitrepo.PreservedRef(own, "coder"): second, gitrepo.StartRef(own): second,
			gitrepo.CheckpointRef(own): later, gitrepo.IntegrationRef(other): "",
		} {
			if got, err := p.Store.Ref(t.Context(), ref); err != nil || got != want {
				t.Errorf("%s is at %q, want %q, %v", ref, got, want, err)
			}
		}
		if sha, err := p.Store.Resolve(t.Context(), second); err != nil || sha != second {
			t.Errorf("its commit: %q, %v", sha, err)
		}
	}
}
