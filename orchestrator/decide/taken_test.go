package decide_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

func TestProtocolS8ASessionOfAnEarlierVersionGoesOn(t *testing.T) {
	// older writes the state as an earlier version did and reads it again.
	older := func(m *sim, names map[string]string) {
		for name, old := range names {
			m.s.Workspaces[old] = m.s.Workspaces[name]
			delete(m.s.Workspaces, name)
		}
		data, err := m.s.Encode()
		if err != nil {
			m.t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(data, &fields); err != nil {
			m.t.Fatal(err)
		}
		delete(fields, "leaving")
		delete(fields, "checksum")
		if data, err = json.Marshal(fields); err != nil {
			m.t.Fatal(err)
		}
		if m.s, err = orchestrator.Decode(data); err != nil {
			m.t.Fatal(err)
		}
		m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	}
	merged := func(m *sim) (names []string) {
		for _, e := range m.effects(orchestrator.EffIntegrate) {
			names = append(names, e.Args.Workspace+" "+e.Args.Tree)
		}
		return names
	}
	for name, c := range map[string]struct {
		mode   string
		names  map[string]string
		merged []string
	}{
		"serial":   {"serial", map[string]string{"2.1": "session"}, []string{"session work of session", "2.2 work of 2.2"}},
		"parallel": {"parallel", map[string]string{"2.1": "1", "2.2": "2"}, []string{"1 work of 1", "2 work of 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.planned(c.mode, 2)
			older(m, c.names)
			m.coded(1)
			m.coded(2)
			m.phase("reviewing")
			if got := merged(m); !slices.Equal(got, c.merged) {
				t.Errorf("merged %q", got)
			}
			for name, w := range m.s.Workspaces {
				if name != m.view("reviewer_logic") {
					t.Errorf("the workspace %s stays: %+v", name, w)
				}
			}
		})
	}
	t.Run("a submission whose merge an end dropped is taken as it is", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.work = untaken
		m.planned("serial", 1)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
		m.coded(1)
		m.command("stop", nil)
		w := m.s.Workspaces["2.1"]
		w.Snapshot = "tree of an earlier task"
		m.s.Workspaces["2.1"] = w
		older(m, map[string]string{"2.1": "session"})
		m.hold = nil
		m.resume("")
		m.phase("reviewing")
		if got := merged(m); !slices.Equal(got, []string{"session "}) {
			t.Errorf("merged %q", got)
		}
	})
	t.Run("its workspace is lost before the merge", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 1)
		older(m, map[string]string{"2.1": "session"})
		m.hold = func(e orchestrator.Effect) bool {
			return e.Type == orchestrator.EffIntegrate || e.Type == orchestrator.EffKeepLate
		}
		m.coded(1)
		m.hold = nil
		settings := m.s.Settings
		m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{
			Mode: orchestrator.StartResume, Settings: &settings, Lost: []string{"session"},
		}})
		m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: m.live()}})
		if m.count(orchestrator.EvWorkspaceLost) != 1 || len(m.s.Leaving) != 0 || m.s.Agents["coder/1"].Launch != "2.coder.1.2" {
			t.Fatalf("leaving %v, %+v", m.s.Leaving, m.s.Agents["coder/1"])
		}
		m.coded(1)
		m.phase("reviewing")
	})
	t.Run("a view, and the fix", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.toReview("serial", 1)
		view := m.view("reviewer_logic")
		older(m, map[string]string{view: "view/reviewer_logic"})
		m.fails("reviewer_logic")
		gone := m.effects(orchestrator.EffRemoveWorkspace)
		if _, kept := m.s.Workspaces["view/reviewer_logic"]; kept || gone[len(gone)-1].Args.Workspace != "view/reviewer_logic" {
			t.Errorf("the view stays: %+v", gone)
		}
		older(m, map[string]string{m.own(orchestrator.FixTask): "session"})
		m.fixed()
		m.phase("reviewing")
		if got := merged(m); got[1] != "session work of session" {
			t.Errorf("merged %q", got)
		}
	})
}

func TestProtocolC9ASubmittedTreeIsMergedAfterAnyEnd(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, phase := range []string{"implementing", "fixing"} {
			for _, end := range []string{"killed", "stopped"} {
				t.Run(fmt.Sprint(phase, " ", end, " lost ", lost), func(t *testing.T) {
					m := newSim(t, "feature", nil)
					m.architecture()
					m.planned("serial", 1)
					name, hand := m.own("1"), func() { m.coded(1) }
					if phase == "fixing" {
						m.coded(1)
						m.fails("reviewer_logic")
						name, hand = m.own(orchestrator.FixTask), m.fixed
					}
					m.phase(phase)
					m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
					hand()
					if end == "stopped" {
						m.command("stop", nil)
					}
					if got := string(m.s.Workspaces[name].Snapshot); got != "work of "+name {
						t.Fatalf("kept %q", got)
					}
					m.hold = nil
					settings := m.s.Settings
					start := &orchestrator.Start{Mode: orchestrator.StartResume, Settings: &settings}
					if lost {
						start.Lost = []string{name}
					}
					m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: start})
					m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: m.live()}})
					m.phase("reviewing")
					merged := m.effects(orchestrator.EffIntegrate)
					if got := merged[len(merged)-1].Args; got.Tree != "work of "+name || got.Workspace != name {
						t.Errorf("merged %+v", got)
					}
					if m.count(orchestrator.EvWorkspaceLost) != 0 || len(m.s.Leaving) != 0 {
						t.Errorf("%d workspaces are said to be lost, leaving %v", m.count(orchestrator.EvWorkspaceLost), m.s.Leaving)
					}
				})
			}
		}
	}
}

func TestTakesNamesTheWorkOfALineThatCounts(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	visit, old := m.s.Visit, m.s.Visit-1
	good := orchestrator.Line{
		Tool: "submit_done", ID: "x", Role: "coder", Task: "2", Launch: "2.coder.2.1", Visit: &visit, Session: "s1", Payload: []byte(`{"subplan_index": 2}`),
	}
	got, ok := duty.Takes(m.def, m.s, &good)
	if !ok || got.Role != "coder" || got.Task != "2" || got.Launch != "2.coder.2.1" || got.Workspace != "2.2" || got.Dir != "/w/2.2" ||
		got.Base != "base" || !slices.Equal(got.Owned, []string{"f2/"}) || got.End {
		t.Errorf("takes %+v, %v", got, ok)
	}
	for name, change := range map[string]func(*orchestrator.Line){
		"another tool":        func(l *orchestrator.Line) { l.Tool = "report_status" },
		"of another session":  func(l *orchestrator.Line) { l.Session = "other" },
		"forged":              func(l *orchestrator.Line) { l.Forged = true },
		"of an old visit":     func(l *orchestrator.Line) { l.Visit = &old },
		"of a former launch":  func(l *orchestrator.Line) { l.Launch = "2.coder.2.0" },
		"of another subplan":  func(l *orchestrator.Line) { l.Payload = []byte(`{"subplan_index": 1}`) },
		"of no subplan":       func(l *orchestrator.Line) { l.Payload = []byte(`{}`) },
		"that cannot be read": func(l *orchestrator.Line) { l.Payload = []byte(`{"subplan_index": []}`) },
	} {
		t.Run(name, func(t *testing.T) {
			l := good
			change(&l)
			if got, ok := duty.Takes(m.def, m.s, &l); ok {
				t.Errorf("takes %+v", got)
			}
		})
	}
	t.Run("while lines wait", func(t *testing.T) {
		paused, parked := m.s.Clone(), m.s.Clone()
		paused.Paused, parked.Outcome = true, orchestrator.OutcomeNeedsHuman
		for name, s := range map[string]*orchestrator.State{"paused": paused, "parked": parked} {
			o := marker("1", "v1")
			if got, ok := duty.Takes(m.def, s, &good); ok {
				t.Errorf("%s: takes %+v", name, got)
			}
			if got, ok := duty.TakesMarked(m.def, s, &o); ok {
				t.Errorf("%s: takes %+v", name, got)
			}
		}
	})
	t.Run("submitted before", func(t *testing.T) {
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
		m.coded(2)
		if got, ok := duty.Takes(m.def, m.s, &good); ok {
			t.Errorf("takes %+v", got)
		}
	})
	t.Run("its workspace is not made", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffEnsureWorkspace }
		m.planned("parallel", 2)
		if got, ok := duty.Takes(m.def, m.s, &good); ok {
			t.Errorf("takes %+v", got)
		}
		o := marker("1", "v1")
		if got, ok := duty.TakesMarked(m.def, m.s, &o); ok {
			t.Errorf("takes %+v", got)
		}
	})
	t.Run("by a marker", func(t *testing.T) {
		o := marker("1", "v1")
		if got, ok := duty.TakesMarked(m.def, m.s, &o); !ok || got.Workspace != "2.1" {
			t.Errorf("takes %+v, %v", got, ok)
		}
		for name, o := range map[string]orchestrator.Observation{"removed": marker("1", ""), "of finished work": marker("2", "v1"), "of none": marker("7", "v1")} {
			if got, ok := duty.TakesMarked(m.def, m.s, &o); ok {
				t.Errorf("%s: takes %+v", name, got)
			}
		}
	})
}
