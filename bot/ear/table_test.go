package ear_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// standings bring an issue to what it can be like.
var standings = map[string]func(*scene){
	"none":    func(*scene) {},
	"ticket":  func(s *scene) { s.subject.Ticket = true },
	"lost":    func(s *scene) { s.subject.Lost = true },
	"running": func(s *scene) { s.start() },
	"paused":  func(s *scene) { s.start(); s.command("pause") },
	"gate": func(s *scene) {
		s.start(func(st *orchestrator.State) { st.Settings.ApprovePlan = true })
		s.writePlan("Refuse")
		s.call("planner", "submit_plan", nil)
	},
	"question": func(s *scene) {
		s.start()
		s.call("planner", "ask_human", map[string]any{"question": "Which?", "options": []string{"a", "b"}})
	},
	"parked": func(s *scene) {
		s.start()
		key := orchestrator.AgentKey("planner")
		s.input(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{Key: key, Launch: s.st.Agents[key].Launch, Condition: orchestrator.AgentLive, Dialog: "?"}})
	},
	"parked at a gate": func(s *scene) {
		s.start(func(st *orchestrator.State) { st.Settings.ApprovePlan = true })
		s.writePlan("Refuse")
		s.call("planner", "submit_plan", nil)
		s.pass(5 * hour)
		s.input(orchestrator.Input{Kind: orchestrator.InTimer, Timer: "gate"})
	},
	"parked with a question": func(s *scene) {
		s.start(func(st *orchestrator.State) { st.Settings.QuestionTimeout = "park" })
		s.call("planner", "ask_human", map[string]any{"question": "Which?", "options": []string{"a", "b"}})
		s.pass(5 * hour)
		s.input(orchestrator.Input{Kind: orchestrator.InTimer, Timer: "question/q1"})
	},
	"failed": func(s *scene) {
		s.start()
		s.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{Signal: "terminated"}})
	},
	"done":               func(s *scene) { s.start(); s.end(0) },
	"done, pull request": func(s *scene) { s.start(); s.end(7); s.subject.Pull, s.subject.Open = 7, true },
	"done, merged":       func(s *scene) { s.start(); s.end(7); s.subject.Pull = 7 },
}

// TestGitHub54EachVerbWhereverItIsSaid says of each verb what becomes of it in each standing: the
// receipts (👍, 👎 or 👀 alone), what the owner was asked to do, and the reason.
func TestGitHub54EachVerbWhereverItIsSaid(t *testing.T) {
	const (
		ok      = "👀👍" // without a line for the session
		got     = "👀"
		seen    = "👀👍"
		ended   = "👎 the session has ended"
		no      = "👎 no session works on this issue: retry begins one"
		waits   = "👎 it waits for its turn: stop takes it out of the queue"
		left    = "👎 the host of its session is gone: retry begins once more, stop ends it"
		noGate  = "👎 no gate is open: nothing waits for approval"
		noGate2 = "👎 no gate is open"
		asked   = "👀👍 retry comment/ by wil"
		noAsk   = "👎 no question is open"
		noGate3 = "👀👎 no gate and no pull request is open; use say to tell an agent"
		noGate4 = "👎 the session ended in the middle of its work: have it continue first"
	)
	is := func(verb string) string { return "👎 the session is done, there is nothing to " + verb }
	want := map[string]map[string]string{
		"none": {
			"status": ok, "help": ok, "stop": no, "pause": no, "resume": no, "retry": asked, "approve": no, "changes": no, "say": no, "answer": no,
		},
		"ticket": {
			"status": ok, "help": ok, "stop": "👀👍 drop by wil", "pause": waits, "resume": waits, "retry": waits, "approve": waits, "changes": waits, "say": waits, "answer": waits,
		},
		"lost": {
			"status": ok, "help": ok, "stop": "👀👍 drop by wil", "pause": left, "resume": left, "retry": asked, "approve": left, "changes": left, "say": left, "answer": left,
		},
		"running": {
			"status": ok, "help": ok, "stop": seen, "pause": seen, "resume": "👀👎 the session is not paused", "retry": "👀👎 no agent has failed or stalled",
			"approve": noGate, "changes": noGate3, "say": got, "answer": "👀👎 no question is open",
		},
		"paused": {
			"status": ok, "help": ok, "stop": seen, "pause": "👀👎 the session is paused already", "resume": seen, "retry": "👀👎 the session is paused: resume it first",
			"approve": noGate, "changes": noGate3, "say": got, "answer": "👀👎 no question is open",
		},
		"gate": {
			"status": ok, "help": ok, "stop": seen, "pause": seen, "resume": "👀👎 the session is not paused", "retry": "👀👎 no agent has failed or stalled",
			"approve": seen, "changes": seen, "say": "👀👎 no agent is at work", "answer": "👀👎 no question is open",
		},
		"question": {
			"status": ok, "help": ok, "stop": seen, "pause": seen, "resume": "👀👎 the session is not paused", "retry": "👀👎 no agent has failed or stalled",
			"approve": noGate, "changes": noGate3, "say": got, "answer": seen,
		},
		"parked": {
			"status": ok, "help": ok, "stop": seen, "pause": ended, "resume": seen, "retry": seen, "approve": noGate2, "changes": seen, "say": ended, "answer": noAsk,
		},
		"parked at a gate": {
			"status": ok, "help": ok, "stop": seen, "pause": ended, "resume": seen, "retry": seen, "approve": seen, "changes": seen, "say": ended, "answer": noAsk,
		},
		"parked with a question": {
			"status": ok, "help": ok, "stop": seen, "pause": ended, "resume": seen, "retry": seen, "approve": noGate2, "changes": seen, "say": ended, "answer": seen,
		},
		"failed": {
			"status": ok, "help": ok, "stop": ended, "pause": ended, "resume": seen, "retry": seen, "approve": noGate2, "changes": noGate4, "say": ended, "answer": noAsk,
		},
		"done": {
			"status": ok, "help": ok, "stop": is("stop"), "pause": is("pause"), "resume": is("resume"), "retry": asked, "approve": is("approve"),
			"changes": "👎 the session is done without a pull request", "say": is("say"), "answer": is("answer"),
		},
		"done, pull request": {
			"status": ok, "help": ok, "stop": "👀👍 end follow-ups by wil", "pause": is("pause"), "resume": is("resume"), "retry": asked, "approve": is("approve"),
			"changes": seen, "say": is("say"), "answer": is("answer"),
		},
		"done, merged": {
			"status": ok, "help": ok, "stop": is("stop"), "pause": is("pause"), "resume": is("resume"), "retry": asked, "approve": is("approve"),
			"changes": "👎 its pull request is not open: write another issue for more work", "say": is("say"), "answer": is("answer"),
		},
	}
	text := map[string]string{"changes": " Otherwise.", "say": " Look.", "answer": " 2"}
	for at, prepare := range standings {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			on := newScene(t)
			for _, verb := range story.Verbs() {
				t.Run(verb.Name, func(t *testing.T) {
					s := on.another(t)
					s.decision = gate.Decision{Row: gate.RowStart, What: gate.Start}
					prepare(s)
					s.pass(hour)
					id := s.say("/agentmux "+verb.Name+text[verb.Name], "wil")
					sign := strings.NewReplacer("eyes", "👀", "+1", "👍", "-1", "👎", " ", "").Replace(s.receipts(id))
					parts := []string{sign}
					if reason := s.reason(fmt.Sprint("comment/", id)); reason != "" {
						parts = append(parts, reason)
					}
					for _, did := range s.asked {
						if did != "wake" {
							parts = append(parts, did)
						}
					}
					if is := strings.Join(parts, " "); is != want[at][verb.Name] {
						t.Errorf("%q, want %q", is, want[at][verb.Name])
					}
				})
			}
		})
	}
	if len(want) != len(standings) {
		t.Errorf("the table has %v", slices.Sorted(maps.Keys(want)))
	}
}

// TestSecurity26WhoMayGiveCommands has each kind of account say the same. All but those with write
// permission get silence: no line, no note, no reaction.
func TestSecurity26WhoMayGiveCommands(t *testing.T) {
	for author, want := range map[string]string{
		"ada": "eyes +1", "max": "eyes +1", "wil": "eyes +1", "ops": "eyes +1", "pri": "eyes +1", botLogin: "eyes +1",
		"tri": "", "rea": "", "non": "", "helper[bot]": "", "man": "", "gone": "",
	} {
		t.Run(author, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.start()
			id := s.comment("/agentmux pause", author)
			if author == "gone" {
				s.server.DeleteUser(author)
			}
			s.hear()
			if got := s.receipts(id); got != want {
				t.Errorf("receipts %q, want %q", got, want)
			}
			if s.st.Paused != (want != "") || want == "" && len(s.lines()) > 0 {
				t.Errorf("paused %v, lines %q", s.st.Paused, s.lines())
			}
			if want != "" {
				return
			}
			// Silence is remembered: whoever gets write permission later gave no command before.
			s.repo.SetRole(author, fakehub.Write)
			s.restart()
			s.hear()
			if s.st.Paused || s.receipts(id) != "" {
				t.Error("the command counts later")
			}
		})
	}
}

// TestSecurity26AnotherAccountOfTheSameLogin: a login that was given up and registered again by
// somebody else may do what its owner may, and what its former owner wrote is not the owner's.
func TestSecurity26AnotherAccountOfTheSameLogin(t *testing.T) {
	s := newScene(t)
	s.start()
	id := s.comment("/agentmux pause", "wil")
	comments, err := ghsync.Comments{Client: s.client}.Since(t.Context(), octoWidgets, s.issue, s.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range comments {
		c.Author.ID += 1000
		s.ear.Hear(ghsync.IssueComment{Comment: c, On: s.issue})
	}
	s.ear.Step(t.Context())
	s.read()
	s.want(id, "", "")
	if lines := s.lines(); len(lines) > 0 || s.st.Paused {
		t.Errorf("lines %q, paused %v", lines, s.st.Paused)
	}
}
