package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// forgery is a checkpoint of the session s whose parts a test changes.
type forgery struct {
	manifest checkpoint.Manifest
	message  string // in place of the manifest's
	files    map[string][]byte
	blobs    map[string]string // in place of what these files hold
	work     map[string]string // workspace → tree
	parents  []string
}

// base is a commit on the server, and the tree of a workspace that differs from it in two files.
func (m *machine) base() (base, tree string) {
	m.t.Helper()
	if m.known.base != "" {
		return m.known.base, m.known.tree
	}
	ids := m.history(map[string]string{"old": "1", "same": "2", "link": "x"}, map[string]string{"same": "2", "new": "3", "link": "x"})
	tree, err := m.store.Tree(m.t.Context(), ids[1])
	if err != nil {
		m.t.Fatal(err)
	}
	m.known.base, m.known.tree = ids[0], tree
	return ids[0], tree
}

// whole is a forgery that is a checkpoint.
func (m *machine) whole() *forgery {
	base, tree := m.base()
	f := &forgery{files: map[string][]byte{"state.json": []byte("{}"), "04_planning/plan.yaml": []byte("plan")}, work: map[string]string{"2.1": tree}}
	f.manifest = checkpoint.Manifest{
		Session: "s", Issue: 7, Host: "h_1", Base: base, At: time.Unix(5, 0).UTC(), Files: map[string]string{},
		Work: map[string]checkpoint.Work{"2.1": {Base: base, Changed: map[string]string{"old": "", "new": checkpoint.Digest([]byte("3"))}}},
	}
	for name, data := range f.files {
		f.manifest.Files[name] = checkpoint.Digest(data)
	}
	f.parents = m.onTop(base)
	return f
}

// onTop is a commit with the integrated work, made once.
func (m *machine) onTop(base string) []string {
	m.t.Helper()
	if m.known.onTop != "" {
		return []string{m.known.onTop}
	}
	tree, err := m.store.Tree(m.t.Context(), base)
	if err != nil {
		m.t.Fatal(err)
	}
	id, err := m.store.Commit(m.t.Context(), gitrepo.CommitSpec{
		Tree: tree, Parents: []string{base}, Message: "integrated", Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: time.Unix(1, 0),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.known.onTop = id
	return []string{id}
}

// forge pushes f over what is there.
func (m *machine) forge(f *forgery, at string) {
	m.t.Helper()
	m.pushAll(remote.RefUpdate{Ref: at, New: m.forged(f)})
}

func (m *machine) pushAll(updates ...remote.RefUpdate) {
	m.t.Helper()
	if _, err := m.server().Push(m.t.Context(), m.store, remote.PushSpec{Updates: updates}); err != nil {
		m.t.Fatal(err)
	}
}

// forged is the commit of f.
func (m *machine) forged(f *forgery) string {
	m.t.Helper()
	message := f.message
	if message == "" {
		var err error
		if message, err = f.manifest.Message(); err != nil {
			m.t.Fatal(err)
		}
	}
	files, trees := map[string][]byte{}, map[string]string{}
	for name, data := range f.files {
		files["session/"+name] = data
	}
	for name, tree := range f.work {
		trees["work/"+name] = tree
	}
	tree, err := m.store.BuildTree(m.t.Context(), files, trees)
	if err != nil {
		m.t.Fatal(err)
	}
	var changes []gitrepo.Change
	for name, id := range f.blobs {
		changes = append(changes, gitrepo.Change{Path: "session/" + name, Status: 'M', NewMode: "100644", NewID: id})
	}
	if len(changes) > 0 {
		if tree, err = m.store.Apply(m.t.Context(), tree, changes); err != nil {
			m.t.Fatal(err)
		}
	}
	id, err := m.store.Commit(m.t.Context(), gitrepo.CommitSpec{
		Tree: tree, Parents: f.parents, Message: message, Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: time.Unix(1, 0),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return id
}

func fetch(m *machine, session string, issue int) (*checkpoint.Fetched, error) {
	tip, _ := m.base()
	return checkpoint.Fetch(m.t.Context(), m.store, m.server(), checkpoint.Wanted{
		Session: session, Issue: issue, Keeps: func(file string) bool { return file == "state.json" || strings.HasPrefix(file, "04_planning/") },
		Within: tip, Of: func(_ context.Context, repo string) (bool, error) { return repo == "", nil },
	})
}

// A git that is killed says nothing of a checkpoint: it is read again later, and not refused.
func TestACheckpointIsNotRefusedForAGitThatFailed(t *testing.T) {
	m := newMachine(t, newHub(t), "h_1")
	m.forge(m.whole(), ref)
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	before, dir := os.Getenv("PATH"), t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *--is-ancestor*) kill -KILL $$ ;; esac\nexec '" + program + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+before)
	if got, err := fetch(m, "s", 7); err == nil || errors.As(err, new(*checkpoint.RefusedError)) {
		t.Errorf("%+v, %v", got, err)
	}
	t.Setenv("PATH", before)
	if _, err := fetch(m, "s", 7); err != nil {
		t.Error(err)
	}
}

// What is fetched is what was pushed.
func TestACheckpointComesBackWhole(t *testing.T) {
	t.Parallel()
	hub := newHub(t)
	m, other := newMachine(t, hub, "h_1"), newMachine(t, hub, "h_2")
	if _, err := fetch(other, "s", 7); !errors.Is(err, checkpoint.ErrNone) {
		t.Fatal(err)
	}
	f := m.whole()
	m.forge(f, ref)
	got, err := fetch(other, "s", 7)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(got.Session, f.files, func(a, b []byte) bool { return string(a) == string(b) }) || !maps.Equal(got.Trees, f.work) ||
		!slices.Equal(got.Parents, f.parents) || got.Host != "h_1" || !got.At.Equal(f.manifest.At) {
		t.Errorf("got %+v", got)
	}
	if id, err := other.store.Ref(t.Context(), gitrepo.FetchedRef("s")); err != nil || id != got.Commit {
		t.Errorf("kept at %s, %v", id, err)
	}
	if _, err := fetch(other, "s", 8); !errors.As(err, new(*checkpoint.RefusedError)) {
		t.Errorf("of another issue: %v", err)
	}
}

// Attack 37: a checkpoint that is forged, cut or foreign is refused by name.
func TestSecurity37AForgedCheckpointIsRefused(t *testing.T) {
	t.Parallel()
	hub := newHub(t)
	m, other := newMachine(t, hub, "h_1"), newMachine(t, hub, "h_2")
	_, stranger := m.base()
	rows := []struct {
		name string
		do   func(*forgery)
		want string
	}{
		{"no manifest", func(f *forgery) { f.message = "checkpoint of s" }, "it has no manifest"},
		{"cut", func(f *forgery) { f.message = "checkpoint of s\n\n{\"v\": 1, \"session\": \"s" }, "its manifest cannot be read"},
		{"newer", func(f *forgery) { f.message = "checkpoint of s\n\n{\"v\": 2}" }, "newer agentmux"},
		{"another session", func(f *forgery) { f.manifest.Session = "other" }, `it is of the session "other"`},
		{"another issue", func(f *forgery) { f.manifest.Issue = 8 }, "it is of the issue 8, not 7"},
		{"another content", func(f *forgery) { f.files["state.json"] = []byte("{ }") }, `"session/state.json" is not the file`},
		{"a file more", func(f *forgery) { f.files["04_planning/x.md"] = nil }, `"session/04_planning/x.md" has no digest`},
		{"a file less", func(f *forgery) { delete(f.files, "04_planning/plan.yaml") }, `"session/04_planning/plan.yaml" is missing`},
		{"a name that is not allowed", func(f *forgery) {
			f.files["lock"], f.manifest.Files["lock"] = []byte("x"), checkpoint.Digest([]byte("x"))
		}, `"session/lock" does not belong into it`},
		{"a workspace that is not listed", func(f *forgery) { f.work["2.2"] = f.work["2.1"] }, `"work/2.2/link" does not belong into it`},
		{"a workspace called up", func(f *forgery) { f.manifest.Work["../../x"] = checkpoint.Work{} }, "is not the name of a workspace"},
		{"work changed", func(f *forgery) { f.work["2.1"] = m.treeOf(map[string]string{"same": "2", "new": "4", "link": "x"}) }, `"work/2.1/new" is not the file`},
		{"work more", func(f *forgery) {
			f.work["2.1"] = m.treeOf(map[string]string{"same": "2", "new": "3", "link": "x", "more": ""})
		}, `"work/2.1/more" has no digest`},
		{"work less", func(f *forgery) { f.work["2.1"] = m.treeOf(map[string]string{"same": "2", "link": "x"}) }, `"work/2.1/new" is missing`},
		{"work removed unsaid", func(f *forgery) { f.work["2.1"] = m.treeOf(map[string]string{"new": "3", "link": "x"}) }, `"work/2.1/same" has no digest`},
		{"a link", func(f *forgery) {
			f.work["2.1"] = m.linked(f.work["2.1"])
			f.manifest.Work["2.1"].Changed["l"] = checkpoint.Digest([]byte("x"))
		}, `"work/2.1/l" has the mode 120000`},
		{"a bad name", func(f *forgery) {
			f.work["2.1"] = m.treeOf(map[string]string{"same": "2", "new": "3", "link": "x", "-rf": "x"})
			f.manifest.Work["2.1"].Changed["-rf"] = checkpoint.Digest([]byte("x"))
		}, `"work/2.1/-rf" name begins with -`},
		{"too large", func(f *forgery) { f.blobs = map[string]string{"state.json": m.large()} }, "it holds more than 50 MiB"},
		{"two parents", func(f *forgery) { f.parents = append(f.parents, f.manifest.Base) }, "it has 2 parents"},
		{"another history", func(f *forgery) { f.parents = m.history(map[string]string{"a": "b"}) }, "its parent does not descend"},
		{"an option for a base", func(f *forgery) { f.manifest.Base = "--all" }, "its parent does not descend"},
		{"another project", func(f *forgery) { f.manifest.Repo = "octo/gears" }, `it is of the repository "octo/gears"`},
		{"a base that is on no base branch", func(f *forgery) {
			f.manifest.Base = f.parents[0]
			f.manifest.Work, f.work = nil, nil
		}, "is not in the history of the base branch"},
		{"work on another history", func(f *forgery) {
			w := f.manifest.Work["2.1"]
			w.Base = stranger
			f.manifest.Work["2.1"] = w
		}, "which is not a commit of the session"},
	}
	session := func(row int) string { return fmt.Sprint("s", row) }
	var updates []remote.RefUpdate
	for i, c := range rows {
		f := m.whole()
		c.do(f)
		if f.manifest.Session == "s" {
			f.manifest.Session = session(i)
		}
		updates = append(updates, remote.RefUpdate{Ref: gitrepo.CheckpointRef(session(i)), New: m.forged(f)})
	}
	m.pushAll(updates...)
	for i, c := range rows {
		got, err := fetch(other, session(i), 7)
		var refused *checkpoint.RefusedError
		if !errors.As(err, &refused) || got != nil || !strings.Contains(strings.Join(refused.Problems, "\n"), c.want) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if id, err := other.store.Ref(context.Background(), refused.Ref); err != nil || id == "" {
			t.Errorf("%s is not kept aside: %v", c.name, err)
		}
	}
}

func (m *machine) treeOf(files map[string]string) string {
	m.t.Helper()
	tree, err := m.store.Tree(m.t.Context(), m.history(files)[0])
	if err != nil {
		m.t.Fatal(err)
	}
	return tree
}

// linked is a tree with a symbolic link to x more.
func (m *machine) linked(tree string) string {
	m.t.Helper()
	entries, err := m.store.Entries(m.t.Context(), tree)
	if err != nil {
		m.t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e gitrepo.Entry) bool { return e.Path == "link" })
	out, err := m.store.Apply(m.t.Context(), tree, []gitrepo.Change{{Path: "l", Status: 'A', NewMode: gitrepo.ModeSymlink, NewID: entries[i].ID}})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}
