package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// stages bring a session of the feature workflow into each of its phases.
var stages = []struct {
	phase string
	reach func(*sim)
}{
	{"product_management", func(*sim) {}},
	{"architecting", func(m *sim) {
		m.tool("submit_pm_done", "product-manager", map[string]any{}, textArtifact("requirements.md"))
	}},
	{"planning", func(m *sim) { m.architecture("reviewer_quality") }},
	{"designing", func(m *sim) {
		m.tool("submit_plan", "planner", map[string]any{}, plan("parallel", 2, true))
	}},
	{"implementing", func(m *sim) {
		m.tool("submit_design", "designer", map[string]any{}, textArtifact("05_design/design.md"))
		m.coded(1)
	}},
	{"reviewing", func(m *sim) { m.coded(2) }},
	{"fixing", func(m *sim) { m.fails("reviewer_quality") }},
	{"completing", func(m *sim) {
		m.fixed()
		m.pass("reviewer_quality")
		m.summary("reviewer_quality")
	}},
}

// TestRunThatEndsBeforeItsWorkspaceIsMade ends runs whose agents wait for their workspace;
// whoever goes on gives each of them one.
func TestRunThatEndsBeforeItsWorkspaceIsMade(t *testing.T) {
	for _, mode := range []string{"serial", "parallel"} {
		t.Run(mode, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffEnsureWorkspace }
			m.planned(mode, 2)
			m.command("stop", nil)
			m.hold = nil
			m.settle()
			m.phase(orchestrator.PhaseFailed)
			m.resume("")
			for name, w := range m.s.Workspaces {
				if w.Path != "/w/"+name {
					t.Errorf("the workspace %s is at %q", name, w.Path)
				}
			}
			m.coded(1)
			m.coded(2)
			m.phase("reviewing")
		})
	}
	t.Run("and what is submitted by hand is taken from one", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffEnsureWorkspace }
		m.planned("serial", 1)
		m.coded(1)
		m.command("stop", nil)
		m.hold = nil
		m.settle()
		m.resume("")
		m.phase("reviewing")
		if e := m.effects(orchestrator.EffIntegrate); len(e) == 0 || e[len(e)-1].Args.Dir == "" {
			t.Errorf("integrated from nowhere: %+v", e)
		}
	})
}

func TestProtocolR1EveryPhaseAndInterruption(t *testing.T) {
	interruptions := map[string]func(*sim){
		"killed": func(*sim) {},
		"signal": func(m *sim) {
			m.do(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Signal: "terminated"}})
		},
		"stop": func(m *sim) { m.command("stop", nil) },
		"failed": func(m *sim) {
			step, err := decide.Fail(m.def, m.s, m.now, "panic")
			if err != nil {
				m.t.Fatal(err)
			}
			m.s, m.events = step.State, append(m.events, step.Events...)
			m.settle()
		},
		"paused": func(m *sim) { m.command("pause", nil) },
	}
	reached := newSim(t, "feature", func(s *orchestrator.State) { s.ProductManager, s.Interactive = true, true })
	for i, stage := range stages {
		stage.reach(reached)
		for name, interrupt := range interruptions {
			t.Run(stage.phase+" "+name, func(t *testing.T) {
				m := reached.copied(t)
				m.phase(stage.phase)
				before := m.s.Clone()
				interrupt(m)
				m.wait(time.Hour)
				m.resume("")
				m.phase(stage.phase)
				s := m.s
				if s.Visit != before.Visit || s.Ended() || s.Paused || s.Cause != "" || s.ResumeCount != 1 {
					t.Errorf("visit %d, outcome %q, paused %v, cause %q, resumes %d", s.Visit, s.Outcome, s.Paused, s.Cause, s.ResumeCount)
				}
				if !slices.Equal(s.CompletedSubplans, before.CompletedSubplans) || len(s.ReviewResults) != len(before.ReviewResults) ||
					!slices.Equal(s.Nominations, before.Nominations) || (s.Gate == nil) != (before.Gate == nil) {
					t.Errorf("something was lost: %+v", s)
				}
				for _, e := range m.done {
					if name != "killed" && e.Type == orchestrator.EffMoveAside && e.Args.Visit == s.Visit && m.count(orchestrator.EvResumed) == 0 {
						t.Errorf("moved aside by a resume: %v", e.Args.Paths)
					}
				}
				for _, later := range stages[i+1:] {
					later.reach(m)
				}
				m.command("approve", nil)
				m.phase(orchestrator.PhaseDone)
			})
		}
	}
}

func TestProtocolR2ReviewFilesOfACrashAreIngested(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.toReview("serial", 1)
	m.command("stop", nil)
	settings := m.s.Settings
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume, Settings: &settings}})
	if len(m.live()) != 0 {
		t.Fatal("agents were started before unread work was read")
	}
	m.see(orchestrator.Observation{What: orchestrator.ObserveReview, Name: "reviewer_logic", Evidence: "x", Artifact: review("reviewer_logic", "fail")})
	m.phase("fixing")
}

func TestProtocolR3ChangeRequestSurvivesACrash(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.toEnd()
	m.command("changes", map[string]any{"text": "more"})
	m.command("stop", nil)
	m.resume("")
	m.phase("planning")
	last := m.done[len(m.done)-1]
	if m.s.ChangeRequest != "more" || last.Type != orchestrator.EffStartAgent || last.Args.PromptFile != "04_planning/changes_prompt.md" {
		t.Errorf("request %q, last effect %+v", m.s.ChangeRequest, last)
	}
}

func TestProtocolR5RestartOfTheHostStartsNobody(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	before, ran := m.s.Seq, len(m.ran())
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	if m.s.Seq != before || len(m.ran()) != ran {
		t.Error("a restart changed the session")
	}
}

func TestProtocolR6UnreadLineOfTheCurrentLaunch(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 1)
	settings := m.s.Settings
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume, Settings: &settings}})
	m.coded(1)
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
	m.phase("reviewing")
	if slices.Contains(m.ran(), "2.coder.1.2") {
		t.Error("a second launch of finished work")
	}
}

func TestProtocolR6UnreadLineOfAnInterruptedLaunch(t *testing.T) {
	for name, interrupt := range map[string]func(*sim){
		"canceled": func(m *sim) { m.command("stop", nil) },
		"parked":   func(m *sim) { m.report("coder/1", orchestrator.AgentReport{Dialog: "?"}) },
		"lost":     func(m *sim) { m.exit("coder/1", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.planned("serial", 1)
			launch, visit := m.s.Agents["coder/1"].Launch, m.s.Visit
			interrupt(m)
			if m.s.Ended() {
				m.do(m.commandInput("retry", nil))
			}
			m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
				Tool: "submit_done", ID: "late", Role: "coder", Task: "1", Launch: launch, Visit: &visit, Payload: []byte(`{"subplan_index": 1}`),
			}})
			m.fire("owed")
			m.phase("reviewing")
			if m.s.Agents["coder/1"].Attempt != 1 {
				t.Error("finished work was started again")
			}
			if m.s.Agents["reviewer_logic"].Attempt != 1 {
				t.Error("the reviewer was started twice")
			}
		})
	}
}

func TestResumeKeepsLiveAgentsAndStartsMissingOnes(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	live := m.s.Agents["coder/1"].Launch
	settings := m.s.Settings
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume, Settings: &settings}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: []orchestrator.Launch{live}}})
	if m.s.Agents["coder/1"].Launch != live || m.s.Agents["coder/2"].Attempt != 2 || m.s.Agents["coder/2"].Retries != 0 {
		t.Errorf("agents %+v", m.s.Agents)
	}
}

func TestProtocolC9SubmittedWorkIsIntegratedAfterAnyEnd(t *testing.T) {
	for _, workflow := range []string{"implement", "fix"} {
		t.Run(workflow, func(t *testing.T) {
			m := newSim(t, "feature", nil)
			m.architecture()
			m.planned("serial", 1)
			integrating := func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
			want := "reviewing"
			if workflow == "fix" {
				m.coded(1)
				m.fails("reviewer_logic")
				m.hold = integrating
				m.fixed()
			} else {
				m.hold = integrating
				m.coded(1)
			}
			m.command("stop", nil)
			for _, e := range m.s.Pending {
				if integrating(e) {
					t.Error("the end keeps an integration")
				}
			}
			m.hold = nil
			m.resume("")
			m.phase(want)
		})
	}
}

func TestProtocolC10FinishedSessionIsOnlyFinished(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.toReview("serial", 1)
	m.pass("reviewer_logic")
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }
	m.summary("reviewer_logic")
	m.phase(orchestrator.PhaseDone)
	if len(m.s.Pending) == 0 {
		t.Fatal("nothing is pending")
	}
	m.resume("")
	if m.count(orchestrator.EvResumed) != 0 || m.s.Outcome != orchestrator.OutcomeDone {
		t.Errorf("%d resumes, outcome %q", m.count(orchestrator.EvResumed), m.s.Outcome)
	}
}

func TestRetryOfAFailedSessionResumesIt(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.timer("phase")
	m.phase(orchestrator.PhaseFailed)
	m.command("retry", nil)
	m.phase("planning")
	if m.s.Agents["planner"].Launch == "" || m.s.ResumeCount != 1 {
		t.Errorf("planner %+v", m.s.Agents["planner"])
	}
}

func schedule(mode string, plans ...string) *artifact.Schedule {
	return &artifact.Schedule{Groups: []artifact.ScheduledGroup{{GroupID: "core", Mode: mode, Plans: plans}}, Owned: map[string][]string{}}
}

func TestProtocolR4PhaseOfAClassicSession(t *testing.T) {
	arch := []string{"submit_architecture"}
	for _, tc := range []struct {
		name string
		pm   bool
		iter int
		dir  orchestrator.ClassicDir
		want string
	}{
		{"nothing yet, with a product manager", true, 0, orchestrator.ClassicDir{}, "product_management"},
		{"its marker", true, 0, orchestrator.ClassicDir{PMDone: true}, "architecting"},
		{"its line", true, 0, orchestrator.ClassicDir{Applied: []string{"submit_pm_done"}}, "architecting"},
		{"architecture beside", true, 0, orchestrator.ClassicDir{Architecture: true}, "architecting"},
		{"architecture unsubmitted", false, 0, orchestrator.ClassicDir{Architecture: true}, "architecting"},
		{"no plan", false, 0, orchestrator.ClassicDir{Applied: arch}, "planning"},
		{"bad plan", false, 0, orchestrator.ClassicDir{ExecutionAny: true}, "planning"},
		{"design missing", false, 0, orchestrator.ClassicDir{ExecutionAny: true, Execution: true,
			Schedule: &artifact.Schedule{NeedsDesign: true, Groups: schedule("serial", "1").Groups}}, "designing"},
		{"a marker missing", false, 0, orchestrator.ClassicDir{ExecutionAny: true, Execution: true,
			Schedule: schedule("serial", "1", "2"), Markers: []string{"1"}}, "implementing"},
		{"fix unfinished", false, 1, orchestrator.ClassicDir{ExecutionAny: true, Execution: true,
			Schedule: schedule("serial", "1"), FixRequest: true}, "fixing"},
		{"fix finished", false, 1, orchestrator.ClassicDir{ExecutionAny: true, Execution: true,
			Schedule: schedule("serial", "1"), FixRequest: true, Markers: []string{"1"}}, "reviewing"},
		{"review unfinished", false, 0, orchestrator.ClassicDir{ExecutionAny: true, Execution: true,
			Schedule: schedule("serial", "1"), Markers: []string{"1"}}, "reviewing"},
		{"review passed", false, 0, orchestrator.ClassicDir{ExecutionAny: true, Execution: true,
			Schedule: schedule("serial", "1"), Markers: []string{"1"}, Passed: true}, "completing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := classicSim(t, `{"phase": "failed", "last_event": "run_failed", "review_iteration": `+string(rune('0'+tc.iter))+`}`, tc.dir, func(s *orchestrator.State) {
				s.ProductManager, s.Interactive = tc.pm, true
			})
			m.phase(tc.want)
			if m.last(orchestrator.EvResumed).Data.(orchestrator.ResumedRecord).Inferred != true {
				t.Error("not recorded as inferred")
			}
			if m.s.IsClassic() || m.s.BaseSHA != "head" || m.s.Integrated.Tree != "worktree" || m.s.SessionID != "old" {
				t.Errorf("not upgraded: base %q, integrated %+v", m.s.BaseSHA, m.s.Integrated)
			}
		})
	}
}

// classicSim takes a session of the earlier tool.
func classicSim(t *testing.T, state string, dir orchestrator.ClassicDir, change func(*orchestrator.State), with ...func(*orchestrator.Start)) *sim {
	t.Helper()
	def, _, _ := workflows.Load("feature", nil)
	s, err := orchestrator.Decode([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(s)
	}
	m := &sim{t: t, def: def, s: s, now: time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)}
	dir.SessionID, dir.Base, dir.Branch = "old", "head", "agentmux/old"
	dir.Integrated = orchestrator.Integrated{Commit: "snap", Tree: "worktree"}
	settings := orchestrator.DefaultSettings()
	start := &orchestrator.Start{Mode: orchestrator.StartResume, Classic: &dir, Settings: &settings}
	for _, change := range with {
		change(start)
	}
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: start})
	return m
}

// bare gives a line as the earlier tool wrote it: three keys.
func (m *sim) bare(tool, payload string, artifacts ...*orchestrator.Artifact) {
	m.t.Helper()
	l := &orchestrator.Line{File: "tool_events.jsonl", Tool: tool, ID: "sha:" + tool + payload, Payload: []byte(payload)}
	if len(artifacts) == 1 {
		l.Artifact = artifacts[0]
	} else {
		l.Artifacts = artifacts
	}
	m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: l})
}

const classicImplementing = `{"phase": "implementing", "last_event": "plan_written", "completed_subplans": [1],
	"implementation_group_total": 1, "implementation_group_index": 1, "implementation_group_mode": "serial",
	"implementation_active_plan_ids": ["plan_2"]}`

// classicFiles is a directory with an architecture and a plan of two subplans.
func classicFiles() orchestrator.ClassicDir {
	return orchestrator.ClassicDir{ExecutionAny: true, Execution: true, Schedule: schedule("serial", "1", "2"), Applied: []string{"submit_architecture"}}
}

func TestProtocolS6ClassicSubplans(t *testing.T) {
	files := classicFiles()
	t.Run("finished subplans are kept, the others go on", func(t *testing.T) {
		m := classicSim(t, classicImplementing, files, nil)
		m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
		m.phase("implementing")
		if !slices.Equal(m.s.CompletedSubplans, []string{"1"}) || m.s.Agents["coder/2"].Launch == "" || m.s.Workspaces[m.own("2")].Base != "snap" {
			t.Errorf("completed %v, agents %+v, workspaces %+v", m.s.CompletedSubplans, m.s.Agents, m.s.Workspaces)
		}
		m.coded(2)
		m.phase("reviewing")
	})
	t.Run("an unread submission of three keys", func(t *testing.T) {
		m := classicSim(t, classicImplementing, files, nil)
		m.bare("submit_done", `{"subplan_index": 2}`)
		m.phase("reviewing")
		for _, e := range m.done {
			if e.Type == orchestrator.EffIntegrate {
				t.Error("work that is in the base was integrated from nowhere")
			}
		}
	})
	t.Run("nothing active", func(t *testing.T) {
		m := classicSim(t, `{"phase": "implementing", "last_event": "plan_written"}`, files, nil)
		m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
		if m.s.Agents["coder/1"].Launch == "" || m.s.GroupIndex != 1 {
			t.Errorf("agents %+v", m.s.Agents)
		}
	})
	t.Run("all markers there", func(t *testing.T) {
		done := files
		done.Markers = []string{"1", "2"}
		m := classicSim(t, `{"phase": "implementing", "last_event": "plan_written"}`, done, nil)
		m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
		m.phase("reviewing")
	})
	t.Run("no plan beside the state", func(t *testing.T) {
		m := classicSim(t, classicImplementing, orchestrator.ClassicDir{}, nil)
		m.phase("planning")
		if m.last(orchestrator.EvResumed).Data.(orchestrator.ResumedRecord).Inferred != true {
			t.Error("not recorded as inferred")
		}
	})
}

func TestProtocolS6ClassicReviews(t *testing.T) {
	files := classicFiles()
	t.Run("one reviewer", func(t *testing.T) {
		m := classicSim(t, `{"phase": "reviewing", "last_event": "implementation_completed"}`, files, nil)
		m.bare("submit_review", `{}`, review("reviewer_logic", "pass"))
		if !m.s.AwaitingSummary {
			t.Errorf("reviews %v", m.s.ActiveReviews)
		}
		m.bare("submit_summary", `{}`, textArtifact("08_completion/summary.md"))
		m.phase(orchestrator.PhaseDone)
	})
	t.Run("two reviewers", func(t *testing.T) {
		m := classicSim(t, `{"phase": "reviewing", "last_event": "implementation_completed",
			"reviewer_nominations": ["reviewer_logic", "reviewer_quality"]}`, files, nil)
		m.bare("submit_review", `{}`, review("reviewer_logic", "pass"), review("reviewer_quality", "pass"))
		if m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason != "ambiguous" {
			t.Errorf("events %+v", m.events)
		}
		m.bare("submit_review", `{"role": "reviewer_quality"}`, review("reviewer_quality", "pass"))
		if m.s.ActiveReviews["reviewer_quality"] != orchestrator.ReviewCompleted {
			t.Errorf("reviews %v", m.s.ActiveReviews)
		}
	})
	t.Run("fixing", func(t *testing.T) {
		m := classicSim(t, `{"phase": "fixing", "last_event": "review_failed", "review_iteration": 1}`, files, nil)
		m.bare("submit_done", `{"subplan_index": 1}`)
		m.phase("reviewing")
	})
	t.Run("done", func(t *testing.T) {
		m := classicSim(t, `{"phase": "done", "last_event": "review_passed"}`, files, nil)
		if !m.s.Ended() || m.count(orchestrator.EvResumed) != 0 {
			t.Errorf("outcome %q", m.s.Outcome)
		}
	})
}

func TestProtocolS6ClassicLinesOfAuthorsAndResearch(t *testing.T) {
	t.Run("research", func(t *testing.T) {
		m := classicSim(t, `{"phase": "architecting", "last_event": "feature_created", "research_tasks": {"a": "dispatched", "b": "dispatched"},
			"web_research_tasks": {"c": "dispatched"}}`, orchestrator.ClassicDir{}, nil)
		bad := &orchestrator.Artifact{Path: "x", Problems: []string{"empty"}}
		m.bare("submit_research_done", `{"n": 1}`, bad, bad, bad)
		if !strings.HasPrefix(m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason, "ambiguous") {
			t.Error("taken without a summary")
		}
		m.bare("submit_research_done", `{"n": 2}`, textArtifact("a"), bad, textArtifact("c"))
		if m.s.ResearchTasks["a"] != "done" || m.s.ResearchTasks["b"] != "dispatched" || m.s.WebResearchTasks["c"] != "done" {
			t.Errorf("research %v %v", m.s.ResearchTasks, m.s.WebResearchTasks)
		}
		m.bare("submit_research_done", `{"n": 3}`, textArtifact("b"))
		if m.s.ResearchTasks["b"] != "done" {
			t.Errorf("research %v", m.s.ResearchTasks)
		}
	})
	t.Run("author", func(t *testing.T) {
		m := classicSim(t, `{"phase": "architecting", "last_event": "feature_created"}`, orchestrator.ClassicDir{}, nil)
		m.bare("submit_architecture", `{}`, textArtifact("02_architecting/architecture.md"))
		m.phase("planning")
		m.bare("submit_plan", `{}`, plan("serial", 1, false))
		m.phase("implementing")
	})
}
