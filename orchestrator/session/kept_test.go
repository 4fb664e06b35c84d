package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

func TestKeptIsWhatASessionIsMadeOf(t *testing.T) {
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Source: "x", Request: "Do it.", Definition: definition(t, "quick"),
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "c0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, rel := range []string{
		"04_planning/plan.yaml", "04_planning/plan.stale-2.yaml", "04_planning/.hidden.md", "04_planning/core", "06_implementation/done_1",
		"03_research/code-a/summary.md", "03_research/code-a/output.log", "msgs/m-orphan.md", "msgs/x.tmp", "notes.txt",
		"launches/1.planner.1/launch.json", "transcripts/1.planner.1.log", "orchestrator.log", "runtime_state.json", "signals/a.done",
	} {
		if err := s.Replace(rel, []byte("text of "+rel)); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, s.Path("04_planning/link.md")); err != nil {
		t.Fatal(err)
	}
	files, left, err := s.Kept(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, data := range files {
		if strings.HasPrefix(name, session.BlobsDir) && string(data) == string(files["requirements.md"]) {
			continue // the request, kept twice
		}
		names = append(names, name)
		if strings.Contains(string(data), "outside") {
			t.Errorf("%s is of another place", name)
		}
	}
	slices.Sort(names)
	want := []string{
		"03_research/code-a/summary.md", "04_planning/plan.stale-2.yaml", "04_planning/plan.yaml", "06_implementation/done_1", "commands.jsonl",
		"context.md", "definition.yaml", "events.jsonl", "msgs/m-orphan.md", "requirements.md", "signals/a.done", "state.json", "tool_events.jsonl",
	}
	if !slices.Equal(names, want) {
		t.Errorf("kept:\n%s\nwant:\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if len(left) != 1 || left["04_planning/link.md"] == "" {
		t.Errorf("left: %v", left)
	}
	t.Run("no more than the limit, the state first", func(t *testing.T) {
		limit := int64(len(files["state.json"]) + 10)
		files, left, err := s.Kept(limit)
		if err != nil || files["state.json"] == nil || files["definition.yaml"] != nil || left["definition.yaml"] == "" {
			t.Errorf("kept %d, left %v, %v", len(files), left, err)
		}
		sum := 0
		for _, data := range files {
			sum += len(data)
		}
		if int64(sum) > limit {
			t.Errorf("%d bytes", sum)
		}
	})
	t.Run("what the mirrors did is read before the state, so that it knows of no later record", func(t *testing.T) {
		for _, rel := range []string{session.MirrorFile, session.MirrorsDir + "/coder.json"} {
			if err := s.Replace(rel, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		files, left, err := s.Kept(int64(len(files["state.json"]) + 3))
		if err != nil || left["state.json"] == "" || string(files[session.MirrorFile])+string(files["mirrors/coder.json"]) != "{}{}" {
			t.Errorf("kept %v, left %v, %v", files, left, err)
		}
	})
	t.Run("messages that reached nobody", func(t *testing.T) {
		if err := s.Replace("msgs/a.md", []byte("a")); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second call finds nothing to do
			if err := s.Orphan("msgs/a.md"); err != nil {
				t.Fatal(err)
			}
		}
		if data, err := os.ReadFile(s.Path("msgs/a-orphan.md")); err != nil || string(data) != "a" {
			t.Errorf("%q, %v", data, err)
		}
		if err := s.Orphan("../a.md"); err == nil {
			t.Error("a name from outside was taken")
		}
	})
}
