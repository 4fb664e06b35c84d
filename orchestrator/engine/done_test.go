package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// earlierWorld makes a session of the earlier tool from its files.
func earlierWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".agentmux", ".sessions", "20240115-103000-old")
	for rel, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(0); err != nil {
		t.Fatal(err)
	}
	return worldOf(t, s)
}

// earlierStart is how a host takes up such a session.
func earlierStart() orchestrator.Start {
	return orchestrator.Start{Classic: &orchestrator.ClassicDir{
		Base: "head", Branch: "agentmux/old", Integrated: orchestrator.Integrated{Commit: "snap", Tree: "tree"},
	}}
}

// earlier is such a session and a host of it that starts no agent.
func earlier(t *testing.T, files map[string]string) (*world, *host) {
	t.Helper()
	w := earlierWorld(t, files)
	w.play = idle
	return w, w.start(engine.Options{Start: earlierStart()})
}

// P3, S6: in a session of the earlier tool done made by hand ends the product manager's
// task, found at the resume or made later.
func TestProtocolS6ADoneOfTheProductManager(t *testing.T) {
	const marker = "01_product_management/done"
	files := map[string]string{
		"state.json":      `{"phase": "product_management", "product_manager": true}`,
		"requirements.md": "# Requirements\n",
	}
	bubble(t, func(t *testing.T) {
		files := map[string]string{marker: "", "state.json": files["state.json"], "requirements.md": files["requirements.md"]}
		w, h := earlier(t, files)
		w.until("architecting", func(st *orchestrator.State) bool { return st.Phase == "architecting" })
		w.pass(time.Second)
		h.stop()
		if got := w.launches(); !slices.Equal(got, []orchestrator.Launch{"2.architect.1"}) {
			t.Errorf("launched %v", got)
		}
		if got := w.events(orchestrator.EvEvent); len(got) != 1 || got[0].Data.(orchestrator.EventRecord).Event != orchestrator.LastPMCompleted {
			t.Errorf("recorded %v", got)
		}
	})
	bubble(t, func(t *testing.T) {
		w, h := earlier(t, files)
		w.until("at work", func(st *orchestrator.State) bool { return st.Agents["product-manager"].Launch != "" })
		w.pass(time.Minute)
		if st := w.state(); st.Phase != "product_management" {
			t.Fatalf("phase %s without the marker", st.Phase)
		}
		w.write(marker, "")
		w.until("architecting", func(st *orchestrator.State) bool { return st.Phase == "architecting" })
		h.stop()
	})
}

// S6: done made by hand ends a topic of research once there is a summary; asked for again,
// the topic is researched again.
func TestProtocolS6ADoneOfResearch(t *testing.T) {
	const a, b = "03_research/code-a/", "03_research/web-b/"
	bubble(t, func(t *testing.T) {
		w, h := earlier(t, map[string]string{
			"state.json": `{"phase": "architecting", "research_tasks": {"a": "dispatched"}, "web_research_tasks": {"b": "dispatched"}}`,
			a + "done":   "", a + "summary.md": "found\n", b + "done": "", b + "request.md": "?\n",
		})
		w.until("past a", func(st *orchestrator.State) bool { return st.ResearchTasks["a"] == "done" })
		w.until("at work on b", func(st *orchestrator.State) bool { return st.Agents["web-researcher/b"].Launch != "" })
		w.pass(time.Minute)
		if st := w.state(); st.WebResearchTasks["b"] != "dispatched" {
			t.Errorf("topic b is %s without a summary", st.WebResearchTasks["b"])
		}
		w.write(b+"summary.md", "found too\n")
		w.until("past b", func(st *orchestrator.State) bool { return st.WebResearchTasks["b"] == "done" })
		for _, launch := range w.launches() {
			if strings.Contains(string(launch), "code-researcher") {
				t.Errorf("launched %s for a finished topic", launch)
			}
		}
		h.stop()
	})
	bubble(t, func(t *testing.T) {
		w, h := earlier(t, map[string]string{
			"state.json": `{"phase": "architecting", "research_tasks": {"a": "failed"}}`,
			a + "done":   "", a + "summary.md": "half\n",
		})
		w.until("architecting", func(st *orchestrator.State) bool { return st.Agents["architect"].Launch != "" })
		w.submit(w.state().Agents["architect"].Launch, "research_dispatch_code", `{"topic":"a","context":"c","questions":["?"]}`)
		w.until("at work on a", func(st *orchestrator.State) bool { return st.Agents["code-researcher/a"].Launch != "" })
		w.pass(time.Minute)
		if st := w.state(); st.ResearchTasks["a"] != "dispatched" {
			t.Errorf("topic a is %s by the old marker", st.ResearchTasks["a"])
		}
		h.stop()
	})
}

// C7: a session of ours knows no such markers.
func TestProtocolC7ADoneInASessionOfOurs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", func(st *orchestrator.State) { st.ProductManager = true })
		w.play = idle
		h := w.start(engine.Options{})
		w.until("at work", func(st *orchestrator.State) bool { return st.Agents["product-manager"].Launch != "" })
		w.write("01_product_management/done", "")
		w.pass(time.Minute)
		if st := w.state(); st.Phase != "product_management" {
			t.Errorf("phase %s", st.Phase)
		}
		h.stop()
	})
}
