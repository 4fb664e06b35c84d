package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// key is what the refs and directories of a session are named by.
func (r *rig) key(dir string) string {
	r.t.Helper()
	id := r.state(dir).Identity
	if id == "" {
		r.t.Fatalf("%s has no identity", dir)
	}
	return filepath.Base(dir) + "-" + id
}

// olderKey is what a version before identities named directories by.
func olderKey(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Base(dir) + "-" + hex.EncodeToString(sum[:4])
}

// otherClone is a second clone of the repository, on the same machine.
func (r *githubRig) otherClone(name string) *githubRig {
	own, other := *r.rig, *r
	other.rig = &own
	other.project = filepath.Join(r.root, name, "p")
	other.git("clone", "-q", r.github.CloneURL(widgets), ".")
	return &other
}

// scriptHere is script for the sessions of this clone alone.
func (r *githubRig) scriptHere(s scenario) {
	r.t.Helper()
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(r.project), "scenario.json"), data, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func nightly(spec *host.PrepareSpec) { spec.Workflow, spec.Name = "quick", "nightly" }

func writes(text string) scenario {
	sc := simple()
	sc.Files = map[string][]string{"1": {"a.txt=" + text}}
	return sc
}

// content is a file of a branch on the server.
func (r *githubRig) content(branch string) string {
	text, _ := r.repo.File(branch, "a.txt")
	return strings.TrimSpace(text)
}

// TestSessionsOfOneNameDeliverTheirOwnWork has them in two clones of a repository, which
// share its store, and a third one in the place of one that was deleted by hand.
func TestSessionsOfOneNameDeliverTheirOwnWork(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.scriptHere(writes("one"))
	one := r.prepare(nightly)
	first := r.run(host.RunSpec{Dir: one})
	mustEnd(t, first, orchestrator.OutcomeDone, "")

	other := r.otherClone("q")
	other.scriptHere(writes("two"))
	two := other.prepare(nightly)
	second := other.run(host.RunSpec{Dir: two})
	mustEnd(t, second, orchestrator.OutcomeDone, "")

	for s, want := range map[*orchestrator.State]string{first: "one", second: "two"} {
		if got := r.content(s.FeatureBranch); got != want {
			t.Errorf("branch %s has %q, want %q", s.FeatureBranch, got, want)
		}
		if tree := r.gitIn(r.repo.Dir(), "rev-parse", s.FeatureBranch+"^{tree}"); s.ReviewResults["reviewer_logic"].Tree != tree {
			t.Errorf("%s: the verdict is of tree %s, the branch has %s", s.FeatureBranch, s.ReviewResults["reviewer_logic"].Tree, tree)
		}
	}

	// By hand: the workspaces, the homes and the refs stay.
	if err := os.RemoveAll(one); err != nil {
		t.Fatal(err)
	}
	r.gitIn(r.repo.Dir(), "branch", "-D", first.FeatureBranch)
	r.scriptHere(writes("three"))
	third := r.run(host.RunSpec{Dir: r.prepare(nightly)})
	mustEnd(t, third, orchestrator.OutcomeDone, "")
	if got := r.content(third.FeatureBranch); got != "three" {
		t.Errorf("the session made in the place of a deleted one delivered %q", got)
	}

	refs := other.refsOf(two)
	if refs == "" {
		t.Fatal("the session of the other clone has no refs")
	}
	if _, err := r.host.Remove(t.Context(), one, r.config); err != nil {
		t.Fatal(err)
	}
	if left := other.refsOf(two); left != refs {
		t.Errorf("refs of the other clone's session before:\n%s\nafter clean of its namesake:\n%s", refs, left)
	}
}

// refsOf lists the refs of a session with what they point to.
func (r *githubRig) refsOf(dir string) string {
	r.t.Helper()
	var found []string
	for line := range strings.Lines(r.gitIn(r.store(), "for-each-ref", "--format=%(refname) %(objectname)", "refs/agentmux")) {
		if strings.Contains(line, r.key(dir)) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return strings.Join(found, "\n")
}

// store is the only bare repository of the rig.
func (r *githubRig) store() string {
	r.t.Helper()
	found, _ := filepath.Glob(filepath.Join(r.root, "s", "*", "*", "*.git"))
	if len(found) != 1 {
		r.t.Fatalf("stores: %q", found)
	}
	return found[0]
}

// makeOlder gives a session the form that it had before there were identities: its refs bear
// its name alone, where a later one of that name takes the place of an earlier one's.
func (r *githubRig) makeOlder(dir string) {
	r.t.Helper()
	key, name := r.key(dir), filepath.Base(dir)
	for line := range strings.Lines(r.refsOf(dir)) {
		ref, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		older := strings.Replace(ref, key, name, 1)
		if strings.HasPrefix(ref, "refs/agentmux/start/") {
			older = "refs/agentmux/start/" + olderKey(dir)
		}
		r.gitIn(r.store(), "update-ref", older, id)
		r.gitIn(r.store(), "update-ref", "-d", ref)
	}
	for _, place := range []string{"workspaces", "homes"} {
		at := filepath.Join(r.root, "s", place)
		if err := os.Rename(filepath.Join(at, key), filepath.Join(at, olderKey(dir))); err != nil && !os.IsNotExist(err) {
			r.t.Fatal(err)
		}
	}
	file := filepath.Join(dir, session.StateFile)
	data, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), key, olderKey(dir))
	text = regexp.MustCompile(`  "(identity|noted)": "[0-9a-f]+",\n`).ReplaceAllString(text, "")
	if err := os.Remove(filepath.Join(r.root, "s", "made", r.state(dir).Identity+".json")); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(unsealed(text)), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if r.state(dir).Identity != "" {
		r.t.Fatal("the older session has an identity")
	}
}

// TestOlderSessionsOfOneNameGetTheirOwnRefs has two that wait for a person, in either order,
// with what a kill may leave of the migration of the first.
func TestOlderSessionsOfOneNameGetTheirOwnRefs(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for _, killed := range []string{"", "before the refs", "between the refs", "before the state"} {
		for _, turned := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", killed, turned), func(t *testing.T) {
				t.Parallel()
				testOlderSessions(t, killed, turned)
			})
		}
	}
}

func testOlderSessions(t *testing.T, killed string, turned bool) {
	r := newGitHubRig(t, "")
	other := r.otherClone("q")
	rigs, dirs := []*githubRig{r, other}, []string{"", ""}
	for i, at := range rigs {
		sc := writes([]string{"one", "two"}[i])
		sc.Verdict = map[string][]string{"reviewer_logic": {"fail"}}
		at.scriptHere(sc)
		dirs[i] = at.prepare(nightly)
		mustEnd(t, at.run(host.RunSpec{Dir: dirs[i]}), orchestrator.OutcomeNeedsHuman, orchestrator.ReasonReviewExhausted)
		at.makeOlder(dirs[i])
	}
	first := 0
	if turned {
		first = 1
	}
	r.halfMigrated(dirs[first], killed)
	for _, i := range []int{first, 1 - first} {
		want := []string{"more of one", "more of two"}[i]
		rigs[i].scriptHere(writes(want))
		rigs[i].pulled(dirs[i])
		s := rigs[i].run(host.RunSpec{Dir: dirs[i], Resume: true, Changes: "Write more."})
		mustEnd(t, s, orchestrator.OutcomeDone, "")
		if got := r.content(s.FeatureBranch); got != want {
			t.Errorf("%s has %q, want %q", s.FeatureBranch, got, want)
		}
		if n := r.gitIn(r.repo.Dir(), "rev-list", "--count", "main.."+s.FeatureBranch); n != "2" {
			t.Errorf("%s has %s commits, want one of each round", s.FeatureBranch, n)
		}
	}
	// They had one name on the server, too, which is not to be for sessions of this version.
	r.gitIn(r.repo.Dir(), "branch", "-D", r.state(dirs[0]).FeatureBranch)
	for _, dir := range dirs {
		if !strings.Contains(r.refsOf(dir), "refs/agentmux/integration/"+r.key(dir)+" ") {
			t.Errorf("%s has no integration ref of its own:\n%s", dir, r.refsOf(dir))
		}
	}
}

// halfMigrated does what a host does that is killed while it migrates.
func (r *githubRig) halfMigrated(dir, killed string) {
	r.t.Helper()
	ref := "refs/agentmux/integration/"
	head := r.state(dir).Integrated.Commit
	switch killed {
	case "between the refs":
		r.gitIn(r.store(), "update-ref", ref+olderKey(dir), head)
	case "before the state":
		r.gitIn(r.store(), "update-ref", ref+olderKey(dir), head)
		if r.gitIn(r.store(), "rev-parse", ref+filepath.Base(dir)) == head {
			r.gitIn(r.store(), "update-ref", "-d", ref+filepath.Base(dir))
		}
	}
}

// unsealed is an edited state: who edits it takes out its checksum.
func unsealed(state string) string {
	text, _, found := strings.Cut(state, ",\n  \"checksum\"")
	if !found {
		return state
	}
	return text + "\n}\n"
}

// The name of a session's socket is in no pull request, unlike the session's identity. A server
// that an older version started is found under its old name.
func TestSecurity35NamesOfSocketsAreNotForeseen(t *testing.T) {
	t.Parallel()
	s := &orchestrator.State{SessionID: "nightly", Identity: session.NewIdentity()}
	older := place.Socket("/run/x", "/p", s)
	s.Noted = session.NewSecret()
	socket := place.Socket("/run/x", "/p", s)
	if strings.Contains(socket, s.Identity[:8]) || strings.Contains(socket, s.Noted[:8]) || len(socket) != len(older) || socket != place.Socket("/run/x", "/p", s) {
		t.Errorf("socket %s of identity %s", socket, s.Identity)
	}
	for _, path := range []string{socket, older} {
		if !place.OwnSocket(path, "/p", s) {
			t.Errorf("%s is not found", path)
		}
	}
	other := &orchestrator.State{SessionID: "nightly", Identity: session.NewIdentity(), Noted: session.NewSecret()}
	if place.OwnSocket(socket, "/p", other) || place.OwnSocket(older, "/p", other) || place.OwnSocket("x.sock", "/p", s) {
		t.Error("a socket of another session is taken")
	}
}

// The path that doctor tries is as long as the longest that a session listens at: what it
// finds short enough is short enough.
func TestTheProbedSocketIsAsLongAsAnyOther(t *testing.T) {
	t.Parallel()
	const runtime = "/run/user/1000/agentmux"
	probed := len(place.ProbeSocket(runtime))
	named, old := &orchestrator.State{SessionID: "20260115-103000-greet", Identity: session.NewIdentity()}, &orchestrator.State{}
	noted := &orchestrator.State{SessionID: named.SessionID, Identity: named.Identity, Noted: session.NewSecret()}
	for name, path := range map[string]string{
		"tmux":                     place.Socket(runtime, "/p/.agentmux/.sessions/20260115-103000-greet", named),
		"tmux by its note":         place.Socket(runtime, "/p/.agentmux/.sessions/20260115-103000-greet", noted),
		"tmux of an older version": place.Socket(runtime, "/p/.agentmux/.sessions/20260115-103000-greet", old),
	} {
		if len(path) != probed {
			t.Errorf("%s: %d bytes in %s, probed are %d", name, len(path), path, probed)
		}
	}
	if handoff := shield.NewSocketPath(runtime); len(handoff) > probed {
		t.Errorf("an agent's: %d bytes in %s, probed are %d", len(handoff), handoff, probed)
	}
	// The limit is met at the same byte by what is probed and by what listens.
	for room, fits := range map[int]bool{99: true, 100: false} {
		dir := "/" + strings.Repeat("d", room-len(place.ProbeSocket("/"))-1)
		for _, socket := range []string{place.ProbeSocket(dir), place.Socket(dir, "/p", named)} {
			if _, err := tmux.New(tmux.Options{Socket: socket}); len(socket) != room || (err == nil) != fits {
				t.Errorf("%d bytes: %v", len(socket), err)
			}
		}
	}
}
