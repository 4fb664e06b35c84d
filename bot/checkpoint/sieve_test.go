package checkpoint_test

import (
	"crypto/rand"
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
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/internal/redact"
)

// secrets knows one value, which it returns.
func secrets(t *testing.T) (known *redact.Redactor, value string) {
	t.Helper()
	known, value = redact.New(), rand.Text()
	if err := known.Add("test", value); err != nil {
		t.Fatal(err)
	}
	return known, value
}

// history makes commits of these files, each on top of the one before.
func (m *machine) history(trees ...map[string]string) (ids []string) {
	m.t.Helper()
	for i, files := range trees {
		data := map[string][]byte{}
		for name, text := range files {
			data[name] = []byte(text)
		}
		tree, err := m.store.BuildTree(m.t.Context(), data, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		spec := gitrepo.CommitSpec{Tree: tree, Message: fmt.Sprint("commit ", i), Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: time.Unix(1, 0)}
		if i > 0 {
			spec.Parents = ids[i-1:]
		}
		id, err := m.store.Commit(m.t.Context(), spec)
		if err != nil {
			m.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// large is a file that fills a checkpoint, made by git: through a program with the race detector it would take seconds.
func (m *machine) large() string {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "large")
	err := os.WriteFile(file, nil, 0o600)
	if err == nil {
		err = os.Truncate(file, checkpoint.MaxSize)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := exec.CommandContext(m.t.Context(), "git", "-C", m.store.Dir(), "hash-object", "-w", "--no-filters", file).Output()
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Case 68: integrated work that holds a secret travels with no checkpoint, also where a later commit
// takes it away again, and where the work itself says that it may pass.
func TestGitHub68IntegratedSecretsStayHere(t *testing.T) {
	t.Parallel()
	known, value := secrets(t)
	m := newMachine(t, nil, "h_1")
	token := "npm" + "_" + rand.Text() + strings.Repeat("a", 10)
	sum := known.Scan(token)[0].SHA256
	for name, c := range map[string]struct {
		trees []map[string]string
		found string
	}{
		"nothing":         {[]map[string]string{{"a": "1"}, {"a": "2"}, {"a": "3"}}, ""},
		"in the last":     {[]map[string]string{{"a": "1"}, {"a": "2"}, {"a": value}}, "secret."},
		"taken away":      {[]map[string]string{{"a": "1"}, {"a": value}, {"a": "3"}}, "secret."},
		"in a name":       {[]map[string]string{{"a": "1"}, {value: ""}, {"a": "3"}}, "(a file name)"},
		"allowed by work": {[]map[string]string{{"a": "1"}, {"a": "1", ".agentmux/secret-allow": sum + "\n"}, {"a": token, ".agentmux/secret-allow": sum + "\n"}}, "secret."},
		"a workflow":      {[]map[string]string{{"a": "1"}, {".github/workflows/a.yml": "on: push\n"}, {"a": "2"}}, "path.blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			ids := m.history(c.trees...)
			var a checkpoint.Away
			for range 2 { // the second time from what it remembers
				found, err := a.Inspect(t.Context(), m.store, outgate.Spec{Base: ids[0], Secrets: known}, ids[2])
				text := strings.Join(found, "\n")
				if err != nil || (c.found == "") != (text == "") || !strings.Contains(text, c.found) || strings.Contains(text, value) {
					t.Errorf("%q, %v", found, err)
				}
			}
		})
	}
	// Each parent is judged, in whatever place.
	base := m.history(map[string]string{"a": "1"})[0]
	good, bad := m.history(map[string]string{"a": "1"}, map[string]string{"a": "2"})[1], m.history(map[string]string{"a": "1"}, map[string]string{"b": value}, map[string]string{"b": "2"})[2]
	for _, tips := range [][]string{{good, bad}, {bad, good}, {good}, {bad}, {}} {
		var fresh checkpoint.Away
		found, err := fresh.Inspect(t.Context(), m.store, outgate.Spec{Base: base, Secrets: known}, tips...)
		if err != nil || (len(found) > 0) != slices.Contains(tips, bad) {
			t.Errorf("%d parents: %q, %v", len(tips), found, err)
		}
	}
	// What follows a commit that has passed is judged by itself.
	ids := m.history(map[string]string{"a": "1"}, map[string]string{"a": "2"}, map[string]string{"a": value}, map[string]string{"a": "2"})
	var a checkpoint.Away
	for i, want := range []bool{false, true, true} {
		found, err := a.Inspect(t.Context(), m.store, outgate.Spec{Base: ids[0], Secrets: known}, ids[i+1])
		if err != nil || (len(found) > 0) != want {
			t.Errorf("commit %d: %q, %v", i+1, found, err)
		}
	}
}

// Case 68: a file of a workspace or of the session with a secret, in it or as its name, is left out and
// named, as are links and what finds no room; all else is let through.
func TestGitHub68ASieveLeavesOutAndNames(t *testing.T) {
	t.Parallel()
	known, value := secrets(t)
	m := newMachine(t, nil, "h_1")
	ids := m.history(map[string]string{"old": "1", "link": "x"}, map[string]string{
		"new": "2", "login": "a\n" + value, value + "/file": "3",
	})
	changes, err := m.store.Changes(t.Context(), ids[0], ids[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range changes {
		if c.Path == "link" {
			changes[i].Status, changes[i].NewMode, changes[i].NewID = 'M', gitrepo.ModeSymlink, c.OldID
		}
	}
	changes = append(changes, gitrepo.Change{Path: "large", Status: 'A', NewMode: "100644", NewID: m.large()})
	v := checkpoint.NewSieve(m.store, known)
	shaped := "gh" + "p_" + strings.Repeat("a1B2", 9) // nobody named it, and the n of an escape is no part of it
	files := v.Session(map[string][]byte{
		"state.json": []byte("{}"), "commands.jsonl": []byte(`{"text":"x\n` + value + `"}`), "messages.jsonl": []byte(`{"text":"x\n` + shaped + `"}`),
	}, map[string]string{"gone.md": "cannot be read"})
	if got := slices.Collect(maps.Keys(files)); !slices.Equal(got, []string{"session/state.json"}) {
		t.Errorf("of the session: %v", got)
	}
	tree, err := v.Work(t.Context(), checkpoint.Standing{Name: "2.1", Base: ids[0], Tree: ids[1], Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	through, err := m.store.Changes(t.Context(), ids[0], tree)
	if err != nil || len(through) != 2 || through[0].Status != 'A' || through[0].Path != "new" || through[1].Status != 'D' || through[1].Path != "old" {
		t.Errorf("of the workspace: %+v, %v", through, err)
	}
	if got := v.Held["2.1"]; got.Base != ids[0] || !maps.Equal(got.Changed, map[string]string{"old": "", "new": checkpoint.Digest([]byte("2"))}) {
		t.Errorf("let through: %+v", got)
	}
	left := strings.Join(v.Left.Names(), "\n")
	for _, want := range []string{"session/commands.jsonl: secret.", "session/messages.jsonl: secret.", "session/gone.md: cannot", "work/2.1/login: secret.", "work/2.1/(a file name): secret.", "work/2.1/large: is too large", "work/2.1/link: is a link"} {
		if !strings.Contains(left, want) {
			t.Errorf("%q is not named in\n%s", want, left)
		}
	}
	if strings.Contains(left, value) || len(v.Left) != 7 {
		t.Errorf("left out:\n%s", left)
	}
}
