package lineage_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/lineage"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testexit"
)

// TestMain lets the test binary answer as the askpass program.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

// machine is one with a store of its own and a way to the server.
type machine struct {
	t     *testing.T
	store *gitrepo.Store
	far   remote.Repository
}

func newMachine(t *testing.T, hub *fakehub.Server) *machine {
	t.Helper()
	store, err := gitrepo.Open(t.Context(), t.TempDir()+"/store.git")
	if err != nil {
		t.Fatal(err)
	}
	token := hub.Token("bot")
	return &machine{t, store, remote.Repository{URL: hub.CloneURL("octo/widgets"), Secret: func(context.Context) (string, error) { return token, nil }}}
}

func (m *machine) commit(text, message string, parents ...string) string {
	m.t.Helper()
	tree, err := m.store.BuildTree(m.t.Context(), map[string][]byte{"a.txt": []byte(text)}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	id, err := m.store.Commit(m.t.Context(), gitrepo.CommitSpec{
		Tree: tree, Parents: parents, Message: message, Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: time.Unix(1, 0),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return id
}

const (
	trailer = "Agentmux-Session: shop--api-0123456789abcd" // and two digits of a case
	ours    = "feat: api\n\n" + trailer + "ef\n"
)

// Attack 37: somebody who may push forges the branch of an agent, whose trailer everybody can read. Only a branch whose
// every commit is the agent's, on what its work starts on, and passes the output gate is continued.
func TestSecurity37ABranchIsTheOwnOne(t *testing.T) {
	t.Parallel()
	hub := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}}},
	})
	first := newMachine(t, hub)
	root := first.commit("0", "root\n")
	base := first.commit("1", "base\n", root)
	for i, c := range []struct {
		name  string
		tip   func(ours string) string
		found []string
		want  string // a word of why; "" = it is continued
	}{
		{"own", func(ours string) string { return first.commit("2", ours, base) }, nil, ""},
		{"own of two machines", func(ours string) string { return first.commit("3", ours, first.commit("2", ours, base)) }, nil, ""},
		{"of another agent", func(ours string) string {
			return first.commit("2", strings.Replace(ours, "--api-", "--page-", 1), base)
		}, nil, "is another's"},
		{"of another run", func(ours string) string {
			return first.commit("2", strings.Replace(ours, "-012345", "-fedcba", 1), base)
		}, nil, "is another's"},
		{"with a longer name", func(ours string) string { return first.commit("2", strings.TrimSpace(ours)+"0\n", base) }, nil, "is another's"},
		{"with the trailer elsewhere", func(ours string) string { return first.commit("2", ours+"\nSigned-off-by: x\n", base) }, nil, "is another's"},
		{"of nobody", func(string) string { return first.commit("2", "fix\n", base) }, nil, "is another's"},
		{"on work of somebody", func(ours string) string { return first.commit("3", ours, first.commit("2", "fix\n", base)) }, nil, "is another's"},
		{"below work of somebody", func(ours string) string { return first.commit("3", "fix\n", first.commit("2", ours, base)) }, nil, "is another's"},
		{"merged with somebody's", func(ours string) string {
			return first.commit("4", ours, first.commit("2", ours, base), first.commit("3", "fix\n", base))
		}, nil, "is another's"},
		{"on another base", func(ours string) string { return first.commit("2", ours, root) }, nil, "does not start on"},
		{"at the base", func(string) string { return base }, nil, "has 0 commits"},
		{"with a finding", func(ours string) string { return first.commit("2", ours, base) }, []string{"secret: a token in a.txt"}, "secret: a token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trailer := trailer + fmt.Sprintf("%02d", i)
			branch, pushed := fmt.Sprintf("f/%d", i), c.tip("feat: api\n\n"+trailer+"\n")
			if _, err := first.far.Push(t.Context(), first.store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: "refs/heads/" + branch, New: pushed}}}); err != nil {
				t.Fatal(err)
			}
			second, judged := newMachine(t, hub), ""
			second.commit("1", "base\n", second.commit("0", "root\n"))
			tip, why, err := lineage.Branch{
				Store: second.store, Server: second.far, Name: branch, Base: base, Trailer: trailer,
				Judge: func(_ context.Context, tip string) ([]string, error) { judged = tip; return c.found, nil },
			}.Earlier(t.Context())
			switch {
			case err != nil:
				t.Error(err)
			case c.want == "" && (tip != pushed || why != "" || judged != pushed):
				t.Errorf("at %q, judged %q: %s", tip, judged, why)
			case c.want != "" && (tip != "" || !strings.Contains(why, c.want)):
				t.Errorf("taken at %q: %q", tip, why)
			}
		})
	}
	second := newMachine(t, hub)
	if tip, why, err := (lineage.Branch{Store: second.store, Server: second.far, Name: "f/none", Base: base, Trailer: trailer}).Earlier(t.Context()); tip != "" || why != "" || err != nil {
		t.Errorf("without a branch: %q, %q, %v", tip, why, err)
	}
}

// A push follows a branch that holds its commit, or a part of what is before it; not one that somebody made at the base.
func TestAPushFollowsWhatItHas(t *testing.T) {
	t.Parallel()
	m := newMachine(t, fakehub.Start(t, fakehub.Options{Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}}, Users: []fakehub.UserSpec{{Login: "bot"}}}))
	base := m.commit("1", "base\n")
	earlier := m.commit("2", ours, base)
	commit := m.commit("3", ours, earlier)
	for name, c := range map[string]struct {
		tip  string
		want bool
	}{
		"with more on it":   {m.commit("4", "fix\n", commit), true},
		"itself":            {commit, true},
		"an earlier commit": {earlier, true},
		"at the base":       {base, false},
		"another's":         {m.commit("5", "fix\n", base), false},
	} {
		if got, err := lineage.Continues(t.Context(), m.store, commit, base, c.tip); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
