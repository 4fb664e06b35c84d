package ear_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

func withoutGraphQL(o *fakehub.Options) { o.NoGraphQL = true }

// want compares the receipts of a comment, and the reason of its refusal.
func (s *scene) want(id int64, receipts, reason string) {
	s.Helper()
	if got := s.receipts(id); got != receipts {
		s.Errorf("receipts %q, want %q", got, receipts)
	}
	if got := s.reason(fmt.Sprint("comment/", id)); got != reason {
		s.Errorf("reason %q, want %q", got, reason)
	}
}

func TestGitHub54BareAndOfAReviewAndAnswers(t *testing.T) {
	t.Run("bare", func(t *testing.T) {
		s := newScene(t)
		s.start()
		s.want(s.say("/agentmux", "wil"), "eyes +1", "")
		s.want(s.say("/agentmux help", "wil"), "eyes +1", "")
		if got := s.lines(); !slices.Equal(got, []string{"status done", "help done"}) {
			t.Errorf("lines %q", got)
		}
	})
	t.Run("answers", func(t *testing.T) {
		s := newScene(t)
		s.start()
		ask := func(text string) {
			s.call("planner", "ask_human", map[string]any{"question": text, "options": []string{"a", "b"}})
		}
		ask("Which?")
		s.want(s.say("/agentmux answer 3", "wil"), "eyes -1", "question q1 has no option 3: answer with a number from 1 to 2, or in words")
		ask("And which?")
		s.want(s.say("/agentmux answer 2", "wil"), "eyes -1", "several questions are open: name one of q1, q2")
		s.want(s.say("/agentmux answer Q2: neither,\n\nbut c", "wil"), "eyes +1", "")
		s.want(s.say("/agentmux answer 1", "wil"), "eyes +1", "")
		s.want(s.say("/agentmux answer q2 b", "wil"), "eyes -1", "question q2 was answered already")
		s.want(s.say("/agentmux answer q9 b", "wil"), "eyes -1", "there is no question q9; open: none")
		s.want(s.say("/agentmux answer q1", "wil"), "-1", "answer needs a text")
		var got []string
		for _, q := range s.st.Questions {
			got = append(got, string(q.Answer)+" by "+string(q.AnsweredBy))
		}
		if want := []string{"a by wil", "neither,\n\nbut c by wil"}; !slices.Equal(got, want) {
			t.Errorf("answers %q, want %q", got, want)
		}
	})
	t.Run("to a dialog", func(t *testing.T) {
		s := newScene(t)
		s.start()
		guess := s.comment("/agentmux answer d"+fmt.Sprint(s.st.Seq+1)+" 1", "wil")
		s.pass(time.Minute)
		s.input(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
			Key: "planner", Launch: s.st.Agents["planner"].Launch, Condition: orchestrator.AgentLive, Dialog: "Run ls?", Choices: []string{"yes", "no"},
		}})
		s.hear()
		id := s.st.Questions[0].ID
		s.want(guess, "eyes -1", "the answer was written before question "+id+" was asked: read it, then answer "+id+" <number>")
		s.want(s.say("/agentmux answer 1", "wil"), "eyes -1", "question "+id+" is about a dialog, whose answer may permit the agent to act: read it, then answer "+id+" <number>")
		s.want(s.say("/agentmux answer "+id+" 1", "wil"), "eyes +1", "")
	})
	t.Run("review", func(t *testing.T) {
		s := newScene(t)
		s.start()
		s.review("/agentmux say planner look", "wil")
		s.ear.Step(t.Context())
		s.read()
		got := s.commands()
		if len(got) != 1 || got[0].Name != "say" || got[0].Args.Role+" "+got[0].Args.Text != "planner look" || !strings.HasPrefix(got[0].SourceID, "review/") {
			t.Errorf("commands %+v", got)
		}
		if got := s.repo.ReviewReactions(s.subject.Pull); !slices.Equal(got, []string{botLogin + " eyes"}) {
			t.Errorf("reactions %q", got)
		}
		s.review("/agentmux pause", "rea")
		s.ear.Step(t.Context())
		if got := s.repo.ReviewReactions(s.subject.Pull); len(got) != 1 || len(s.commands()) != 1 {
			t.Errorf("reactions %q, commands %+v", got, s.commands())
		}
	})
}

// review opens a pull request unless there is one, has somebody review it, and tells the ear.
func (s *scene) review(body, author string) {
	s.Helper()
	if s.subject.Pull == 0 {
		s.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "b"}})
		pr, err := (&ghsync.PullRequest{Client: s.client}).Ensure(s.Context(), ghsync.PullRequestSpec{Repo: octoWidgets, Branch: "fix", Base: "main", Title: "t"})
		if err != nil {
			s.Fatal(err)
		}
		s.subject.Pull, s.subject.Open = pr.Number, true
	}
	s.repo.Review(s.subject.Pull, author, "COMMENTED", body)
	reviews, err := ghsync.Intake{Client: s.client}.Reviews(s.Context(), octoWidgets, s.subject.Pull)
	if err != nil {
		s.Fatal(err)
	}
	s.ear.HearReviews(s.subject.Pull, reviews...)
}

func TestSayNamesAnAgentOrNone(t *testing.T) {
	s := newScene(t)
	s.start()
	for body, want := range map[string][2]string{
		"/agentmux say look":                {"", "look"},
		"/agentmux say Planner: look\nhere": {"planner", "look\nhere"},
		"/agentmux say tests fail":          {"", "tests fail"},
		"/agentmux say coder\nlook":         {"coder", "look"},
	} {
		s.say(body, "wil")
		s.pass(time.Minute)
		got := s.commands()
		if a := got[len(got)-1].Args; [2]string{a.Role, a.Text} != want {
			t.Errorf("%q: %+v, want %q", body, a, want)
		}
	}
	s.want(s.say("/agentmux say planner", "wil"), "-1", "say needs a text")
	if got := s.commands(); len(got) != 4 {
		t.Errorf("commands %+v", got)
	}
}

// TestGitHub55OnlyAFirstLineAsItWasWritten: what is quoted, fenced or below is no command; a comment
// that was edited before it was read, or is a day old, is refused; a later edit changes nothing.
func TestGitHub55OnlyAFirstLineAsItWasWritten(t *testing.T) {
	s := newScene(t)
	s.start()
	for _, body := range []string{"> /agentmux stop", "```\n/agentmux stop\n```", "Please\n/agentmux stop", " /agentmux stop"} {
		s.want(s.say(body, "wil"), "", "")
	}
	edited := s.comment("Hello", "wil")
	s.hear()
	s.pass(time.Minute)
	s.repo.EditComment(edited, "/agentmux stop", "ada")
	s.hear()
	s.want(edited, "-1", "the comment was edited before it was read: write it once more")
	old := s.comment("/agentmux stop", "wil")
	s.pass(24*time.Hour + time.Second)
	s.hear()
	s.want(old, "-1", "it is more than a day old: write it once more")
	fresh := s.say("/agentmux pause", "wil")
	s.pass(time.Minute)
	s.repo.EditComment(fresh, "/agentmux stop", "wil")
	s.hear()
	s.want(fresh, "eyes +1", "")
	if s.st.Ended() || !s.st.Paused {
		t.Errorf("outcome %q, paused %v", s.st.Outcome, s.st.Paused)
	}
	if got := s.lines(); !slices.Equal(got, []string{"stop refused", "stop refused", "pause"}) {
		t.Errorf("lines %q", got)
	}
}

// GitHub may say of a new comment that it changed a second after it was written, although no person
// changed it.
func TestACommentThatTheServerTouchedCounts(t *testing.T) {
	s := newScene(t)
	s.start()
	id := s.comment("/agentmux pause", "wil")
	s.pass(time.Second)
	s.repo.EditComment(id, "/agentmux pause ", "wil")
	s.hear()
	s.want(id, "eyes +1", "")
	edited := s.comment("/agentmux resume", "wil")
	s.pass(3 * time.Second)
	s.repo.EditComment(edited, "/agentmux stop", "wil")
	s.hear()
	s.want(edited, "-1", "the comment was edited before it was read: write it once more")
}

func TestACommandAtItsAgeStillCounts(t *testing.T) {
	s := newScene(t)
	s.start()
	id := s.comment("/agentmux pause", "wil")
	s.pass(24 * time.Hour)
	s.hear()
	s.want(id, "eyes +1", "")
}

// Of what is a week old nobody waits for an answer; what is older than the session is not for it.
func TestWhatWasSaidLongAgoIsNotForThisSession(t *testing.T) {
	s := newScene(t)
	id := s.comment("/agentmux stop", "wil")
	s.pass(8 * 24 * time.Hour)
	early := s.comment("/agentmux stop", "wil")
	s.pass(time.Minute)
	s.start()
	s.subject.Since = s.Now()
	s.hear()
	s.want(id, "", "")
	s.want(early, "-1", "it is older than what it would be for: write it once more")
}

// TestGitHub56OneCommentIsOneCommand sees the same comment again and again, over restarts and after
// the journal was lost.
func TestGitHub56OneCommentIsOneCommand(t *testing.T) {
	s := newScene(t)
	s.start()
	id := s.say("/agentmux say look", "wil")
	for range 3 {
		s.hear()
		s.restart()
	}
	if err := os.Remove(s.home + "/" + journal.File); err != nil {
		t.Fatal(err)
	}
	s.restart()
	s.hear()
	s.hear()
	if got := s.commands(); len(got) != 1 || len(s.st.Messages) != 1 {
		t.Errorf("commands %+v, messages %+v", got, s.st.Messages)
	}
	s.want(id, "eyes", "")
}

// What was refused stays refused, though it would count by now.
func TestARefusalIsNotThoughtOverAgain(t *testing.T) {
	s := newScene(t)
	s.start(func(st *orchestrator.State) { st.Settings.ApprovePlan = true })
	id := s.say("/agentmux approve", "wil")
	s.want(id, "-1", "no gate is open: nothing waits for approval")
	if err := os.Remove(s.home + "/" + journal.File); err != nil {
		t.Fatal(err)
	}
	s.writePlan("Refuse")
	s.call("planner", "submit_plan", nil)
	s.restart()
	s.hear()
	s.want(id, "-1", "no gate is open: nothing waits for approval")
	if s.st.Gate == nil {
		t.Error("the plan is approved")
	}
}

// TestGitHub56AKillBetweenAnyTwoSteps ends the process before each thing it asks of its owner, and
// loses the answer to each request, for each way that a command may go.
func TestGitHub56AKillBetweenAnyTwoSteps(t *testing.T) {
	for name, c := range map[string]struct {
		at, body, receipts string
		lines              []string
		asked              string
	}{
		"line":    {"running", "/agentmux pause", "eyes +1", []string{"pause"}, ""},
		"refused": {"running", "/agentmux stopp", "-1", []string{"stopp refused"}, ""},
		"ticket":  {"ticket", "/agentmux stop", "eyes +1", nil, "drop by wil"},
		"pull":    {"done, pull request", "/agentmux stop", "eyes +1", []string{"stop done"}, "end follow-ups by wil"},
		"retry":   {"none", "/agentmux retry", "eyes +1", nil, "retry comment/ by wil"},
		"status":  {"running", "/agentmux status", "eyes +1", []string{"status done"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := newScene(t)
			for n := 1; ; n++ {
				s := on.another(t)
				s.decision = gate.Decision{Row: gate.RowStart, What: gate.Start}
				standings[c.at](s)
				s.pass(hour)
				s.server.Inject(fakehub.Fault{Route: "POST .../issues/comments/{id}/reactions", From: n, Times: 1, Drop: fakehub.AfterApplying})
				id := s.comment(c.body, "wil")
				killed := s.killAt(n)
				s.restart()
				s.hear()
				s.hear()
				if got := s.receipts(id); got != c.receipts {
					t.Errorf("killed at %d: receipts %q, want %q", n, got, c.receipts)
				}
				if s.sess != nil {
					if got := s.lines(); !slices.Equal(got, c.lines) {
						t.Errorf("killed at %d: lines %q, want %q", n, got, c.lines)
					}
				}
				if c.asked != "" && !slices.Contains(s.asked, c.asked) {
					t.Errorf("killed at %d: asked %q", n, s.asked)
				}
				if left := s.journal.Pending(); len(left) > 0 {
					t.Errorf("killed at %d: owed %+v", n, left)
				}
				s.server.Heal()
				if !killed {
					if n < 3 {
						t.Errorf("%d steps", n)
					}
					return
				}
			}
		})
	}
}

// killAt hears until the n-th thing that is asked of the owner, and reports whether it came to that.
func (s *scene) killAt(n int) (killed bool) {
	steps, ended := 0, make(chan struct{})
	s.at = func(string) {
		if steps++; steps == n {
			runtime.Goexit() // the ear does not recover from it, as it does from a panic
		}
	}
	killed = true
	go func() {
		defer close(ended)
		s.hear()
		killed = false
	}()
	<-ended
	s.at = nil
	return killed
}

// TestGitHub57AnApprovalIsForWhatWasShown has a plan changed between its approval and the reading of
// it. Which of two comments came first is told by their numbers, whatever the clocks say.
func TestGitHub57AnApprovalIsForWhatWasShown(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"by numbers": 0, "by times": 0, "by times, on a machine a day ahead": 26 * time.Hour, "by times, on a machine a day behind": -26 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			s, mirrored := newScene(t), name == "by numbers"
			s.ahead = ahead
			s.start(func(st *orchestrator.State) { st.Settings.ApprovePlan, st.Mirror = true, mirrored })
			open := func(title string) {
				t.Helper()
				s.writePlan(title)
				s.call("planner", "submit_plan", nil)
				s.show()
			}
			open("First")
			s.pass(time.Minute)
			if mirrored {
				s.pass(-hour) // the server's clock is set back: its numbers are not
			}
			first := s.comment("/agentmux approve", "wil")
			s.pass(time.Minute)
			s.command("changes")
			if s.st.Gate != nil {
				t.Fatal("the gate is open")
			}
			for len(s.st.Pending) > 0 {
				s.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: s.st.Pending[0].ID}})
			}
			s.pass(time.Minute)
			open("Second")
			s.hear()
			s.want(first, "-1", "what waits for approval is another one by now, "+orchestrator.ShortDigest(s.st.GateDigest())+": look at it again")
			if s.st.Gate == nil {
				t.Fatal("the second plan is approved")
			}
			s.pass(time.Minute)
			s.want(s.say("/agentmux approve", "wil"), "eyes +1", "")
			if s.st.Gate != nil {
				t.Error("the second plan is not approved")
			}
		})
	}
}

// show writes the comment of the open gate, as the mirror does.
func (s *scene) show() {
	s.Helper()
	if !s.st.Mirror {
		return
	}
	id := s.comment(fmt.Sprintf("### The plan waits\n\n<!-- agentmux session=x kind=question seq=%d -->", s.st.Seq), botLogin)
	records, err := s.sess.Follow(0).Read()
	if err != nil {
		s.Fatal(err)
	}
	if s.shown == nil {
		s.shown = map[string]int64{}
	}
	for _, e := range records {
		if _, ok := e.Data.(orchestrator.GateOpenedRecord); ok && s.shown[fmt.Sprint(e.Seq)] == 0 {
			s.shown[fmt.Sprint(e.Seq)] = id
		}
	}
	var list []string
	for seq, id := range s.shown {
		list = append(list, fmt.Sprintf("%q:%d", seq, id))
	}
	text := fmt.Sprintf(`{"version":1,"comments":{%s}}`, strings.Join(list, ","))
	if err := os.WriteFile(s.sess.Path(session.MirrorFile), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func TestAnApprovalBeforeTheGateIsForNothing(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"by numbers": 0, "by times": 0, "by times, on a machine a day ahead": 26 * time.Hour, "by times, on a machine a day behind": -26 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			s, mirrored := newScene(t), name == "by numbers"
			s.ahead = ahead
			s.start(func(st *orchestrator.State) { st.Settings.ApprovePlan, st.Mirror = true, mirrored })
			id := s.comment("/agentmux approve", "wil")
			s.pass(2 * time.Second)
			s.writePlan("Refuse")
			s.call("planner", "submit_plan", nil)
			s.show()
			s.hear()
			s.want(id, "-1", "it was written before the gate was shown: look at what waits now, "+orchestrator.ShortDigest(s.st.GateDigest()))
			if s.st.Gate == nil {
				t.Error("the plan is approved")
			}
			if s.want(s.say("/agentmux approve", "wil"), "eyes +1", ""); s.st.Gate != nil {
				t.Error("the plan that was shown is not approved")
			}
		})
	}
}

// A gate that shows a held path takes maintain permission, which is judged before the line is
// written. Where it is not known what the gate shows, nothing is approved.
func TestSecurity13AHeldPathTakesMaintain(t *testing.T) {
	for author, want := range map[string]string{"wil": "-1", "ops": "-1", "max": "eyes +1", "ada": "eyes +1"} {
		t.Run(author, func(t *testing.T) {
			s := newScene(t)
			standings["gate"](s)
			s.held = []string{"go.mod"}
			id := s.say("/agentmux approve", author)
			if want == "-1" {
				s.want(id, want, "the gate shows go.mod, which takes maintain permission to approve: a person who has it can")
				if got := s.commands(); s.st.Gate == nil || len(got) > 0 {
					t.Errorf("gate %+v, commands %+v", s.st.Gate, got)
				}
				return
			}
			s.want(id, want, "")
			if s.st.Gate != nil {
				t.Error("it is not approved")
			}
		})
	}
	s := newScene(t)
	standings["gate"](s)
	s.heldErr = errAway
	id := s.say("/agentmux approve", "wil")
	s.want(id, "", "")
	s.heldErr = nil
	s.pass(time.Minute)
	s.hear()
	s.want(id, "eyes +1", "")
}

// TestGitHub58WhatIsNotDeliveredIsRefused says something to an agent whose pane is dead.
func TestGitHub58WhatIsNotDeliveredIsRefused(t *testing.T) {
	t.Run("the session parks", func(t *testing.T) {
		s := newScene(t)
		s.start(func(st *orchestrator.State) { st.Settings.AgentRetries = 0 })
		id := s.say("/agentmux say look", "wil")
		s.want(id, "eyes", "")
		key, code := orchestrator.AgentKey("planner"), 1
		s.input(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{Key: key, Launch: s.st.Agents[key].Launch, Condition: orchestrator.AgentDead, ExitCode: &code}})
		if !s.st.Parked() {
			t.Fatalf("outcome %q", s.st.Outcome)
		}
		s.hear()
		s.want(id, "eyes -1", "not delivered: the session ended before: say it with changes")
	})
	t.Run("the session is stopped", func(t *testing.T) {
		s := newScene(t)
		s.start()
		id := s.say("/agentmux say look", "wil")
		s.want(s.say("/agentmux stop", "wil"), "eyes +1", "")
		s.hear()
		s.want(id, "eyes -1", "not delivered: the session ended before: say it with changes")
	})
}

// What an agent was told has its last receipt when it has it.
func TestWhatIsDeliveredIsDone(t *testing.T) {
	s := newScene(t)
	s.start()
	id := s.say("/agentmux say look", "wil")
	deliver := s.st.Pending[slices.IndexFunc(s.st.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver })]
	s.want(id, "eyes", "")
	s.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: deliver.ID, Result: orchestrator.Result{Delivery: "sent"}}})
	s.hear()
	s.want(id, "eyes +1", "")
}

// TestGitHub65ALogIsDataOnly: what a program writes gives no command, be it our own account with our
// marker, a bot that shows a log, or a person who quotes one.
func TestGitHub65ALogIsDataOnly(t *testing.T) {
	s := newScene(t)
	s.start()
	for body, author := range map[string]string{
		"/agentmux stop\n\n<!-- agentmux session=x kind=verdict seq=3 -->": botLogin,
		"/agentmux stop": "helper[bot]",
		"The log says:\n```\n/agentmux stop\n```\n/agentmux stop": "wil",
	} {
		s.want(s.say(body, author), "", "")
	}
	if got := s.lines(); len(got) > 0 {
		t.Errorf("lines %q", got)
	}
	// The marker of somebody else makes nothing ours.
	s.want(s.say("/agentmux pause\n\n<!-- agentmux session=x kind=verdict seq=3 -->", "wil"), "eyes +1", "")
}

func TestSecurity26AnUnknownVerbNamesTheNearest(t *testing.T) {
	s := newScene(t)
	s.start()
	s.want(s.say("/agentmux stopp", "wil"), "-1", "there is no command stopp: did you mean stop?")
	s.want(s.say("/agentmux fly", "wil"), "-1", "there is no command fly: there are status, say, answer, approve, changes, pause, resume, retry, stop, help")
	s.want(s.say("/agentmux approve but not go.mod", "wil"), "-1", "approve takes no text: use changes to ask for something else, or say to tell an agent")
	s.want(s.say("/agentmux stop, now", "wil"), "-1", "there is no command stop,: did you mean stop?")
	s.want(s.say("/agentmux stopp", "rea"), "", "")
}

func TestSecurity26TheConfigurationMayAskForMore(t *testing.T) {
	for name, c := range map[string]struct {
		min    string
		users  []string
		want   map[string]string
		reason map[string]string
	}{
		"permission": {"maintain", nil, map[string]string{"max": "eyes +1", "wil": "-1", "rea": ""}, map[string]string{"wil": "wil has write permission, and maintain is needed"}},
		"users":      {"write", []string{"WIL"}, map[string]string{"max": "-1", "wil": "eyes +1", "rea": ""}, map[string]string{"max": "max is not in bot.allowed_users"}},
	} {
		t.Run(name, func(t *testing.T) {
			for author, receipts := range c.want {
				s := newScene(t)
				s.bot.MinPermission, s.bot.AllowedUsers = c.min, c.users
				s.restart()
				s.start()
				s.want(s.say("/agentmux pause", author), receipts, c.reason[author])
			}
		})
	}
}

// TestGitHub22APermissionThatCannotBeReadIsNone: nothing happens until the server answers.
func TestGitHub22APermissionThatCannotBeReadIsNone(t *testing.T) {
	s := newScene(t)
	s.start()
	s.server.Inject(fakehub.Fault{Route: "GET .../collaborators/{login}/permission", Status: 500, Message: "x"})
	id := s.say("/agentmux pause", "wil")
	later := s.say("/agentmux resume", "wil")
	s.pass(time.Hour)
	s.hear()
	if len(s.lines()) > 0 || s.receipts(id) != "" {
		t.Errorf("lines %q", s.lines())
	}
	s.server.Heal()
	s.pass(time.Hour)
	s.hear()
	s.want(id, "eyes +1", "")
	s.want(later, "eyes +1", "")
	if got := s.lines(); !slices.Equal(got, []string{"pause", "resume"}) {
		t.Errorf("lines %q", got)
	}
}

func TestSecurity25TooManyCommands(t *testing.T) {
	t.Run("on an issue", func(t *testing.T) {
		s := newScene(t)
		s.start()
		last := int64(0)
		for range 10 {
			s.comment("/agentmux", "wil")
			s.comment("/agentmux", "wil")
			last = s.say("/agentmux", "wil")
			s.pass(3 * time.Minute)
		}
		s.want(last, "eyes +1", "")
		const reason = "more than 30 commands in an hour on this issue: wait"
		s.want(s.say("/agentmux", "ada"), "-1", reason)
		s.want(s.say("/agentmux stop", "ada"), "", reason)
		if s.st.Ended() {
			t.Error("it is stopped")
		}
		s.pass(35 * time.Minute)
		s.want(s.say("/agentmux", "ada"), "eyes +1", "")
	})
	t.Run("of an account", func(t *testing.T) {
		s := newScene(t)
		s.start()
		for range 10 {
			s.say("/agentmux", "wil")
		}
		const reason = "more than 10 commands of one account in a minute: wait"
		s.want(s.say("/agentmux", "wil"), "-1", reason)
		s.want(s.say("/agentmux", "wil"), "", reason)
		s.want(s.say("/agentmux", "ada"), "eyes +1", "")
		s.pass(time.Minute)
		s.want(s.say("/agentmux", "wil"), "eyes +1", "")
	})
	t.Run("strangers take nothing away", func(t *testing.T) {
		s := newScene(t)
		s.start()
		for range 50 {
			s.comment("/agentmux stop", "rea")
		}
		s.hear()
		s.want(s.say("/agentmux", "wil"), "eyes +1", "")
	})
}

// TestSecurity25FewPermissionsAreAsked has more strangers than may be asked about in an hour; they
// do not hold up others who are known.
func TestSecurity25FewPermissionsAreAsked(t *testing.T) {
	s := newScene(t)
	s.start()
	s.want(s.say("/agentmux", "wil"), "eyes +1", "")
	for n := range 80 {
		login := fmt.Sprintf("stranger%d", n)
		s.server.AddUser(fakehub.UserSpec{Login: login})
		s.comment("/agentmux stop", login)
	}
	s.hear()
	asked := func() int { return strings.Count(s.server.Transcript(), "/permission") }
	if n := asked(); n != 50 {
		t.Errorf("%d permissions were asked for", n)
	}
	if !s.ear.Idle() {
		t.Error("those who may not be asked about within a minute keep it busy")
	}
	for range 6 {
		s.pass(5 * time.Minute)
		s.hear()
	}
	if n := asked(); n != 50 {
		t.Errorf("%d in half an hour", n)
	}
	s.want(s.say("/agentmux", "wil"), "eyes +1", "") // is asked about again, and takes no other's place
	s.pass(31 * time.Minute)
	s.hear()
	if n := asked(); n != 82 {
		t.Errorf("%d in an hour", n)
	}
}

// A run that ends when everything was served waits for commands that came and for those that another
// host may carry out.
func TestAnEarIsIdleWhenCommandsAreJudged(t *testing.T) {
	s := newScene(t)
	s.start()
	idle := func(when string, want bool) {
		t.Helper()
		if s.ear.Idle() != want {
			t.Errorf("%s: idle is %t", when, !want)
		}
	}
	idle("at first", true)
	s.comment("/agentmux pause", "wil")
	s.poll()
	idle("a command came", false)
	s.ear.Step(t.Context())
	idle("it is judged", true)
	s.subject.Holder = "h_1111111111111111"
	s.comment("/agentmux resume", "wil")
	s.poll()
	s.ear.Step(t.Context())
	idle("another host may carry it out", false)
	s.pass(61 * time.Second)
	s.ear.Step(t.Context())
	idle("it is that host's", true)
}

// TestSecurity25StrangersHoldNobodyUpWhoIsKnown has more strangers than may be asked about in an hour,
// and more of their commands than the ear keeps, before people who gave a command or started a session
// before the last restart, or are named in the configuration. One who may not write any more is a
// stranger again.
func TestSecurity25StrangersHoldNobodyUpWhoIsKnown(t *testing.T) {
	crowd := func(t *testing.T, commands int, allowed ...string) *scene {
		t.Helper()
		s := newScene(t)
		s.bot.AllowedUsers = allowed
		s.start()
		s.restart()
		if len(allowed) == 0 {
			s.want(s.say("/agentmux", "wil"), "eyes +1", "")
			if _, err := s.journal.Append(journal.Started{
				Issue: s.issue, Trigger: gate.CommentTrigger(1), Actor: s.server.UserID("max"), Session: "a",
			}); err != nil {
				t.Fatal(err)
			}
		}
		s.pass(24 * time.Hour)
		s.restart()
		for n := range 51 {
			login := fmt.Sprintf("stranger%d", n)
			s.server.AddUser(fakehub.UserSpec{Login: login})
			s.comment("/agentmux stop", login)
		}
		s.hear()
		for range commands / 100 {
			for range 100 {
				s.comment("/agentmux stop", "stranger50")
			}
			s.hear()
		}
		return s
	}
	const more = 1000 // than the ear keeps, with those of the others
	few := more
	if testing.Short() {
		few = 100
	}
	t.Run("by what was done here", func(t *testing.T) {
		s := crowd(t, more)
		for range 2 {
			s.want(s.say("/agentmux", "wil"), "eyes +1", "")
			s.want(s.say("/agentmux", "max"), "eyes +1", "")
			s.pass(10 * time.Minute)
		}
		s.want(s.say("/agentmux", "ada"), "", "") // is as unknown as a stranger
	})
	t.Run("by the configuration", func(t *testing.T) {
		s := crowd(t, more, "Ada")
		s.want(s.say("/agentmux", "ada"), "eyes +1", "")
	})
	t.Run("until the permission is taken away", func(t *testing.T) {
		s := crowd(t, few)
		s.repo.SetRole("wil", fakehub.Read)
		asked := func() int { return strings.Count(s.server.Transcript(), "/permission") }
		before := asked()
		for range 5 {
			s.want(s.say("/agentmux stop", "wil"), "", "")
			s.pass(6 * time.Minute)
		}
		if n := asked() - before; n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestGitHub89AFaultInOneCommandStopsNoOther has the ear meet a fault of the program in a command: the
// next one is carried out, and that one is tried again.
func TestGitHub89AFaultInOneCommandStopsNoOther(t *testing.T) {
	s := newScene(t)
	s.start()
	s.owner.at = func(step string) {
		if step == "find" {
			s.owner.at = nil
			panic("a fault")
		}
	}
	first, second := s.comment("/agentmux", "wil"), s.comment("/agentmux help", "max")
	s.hear()
	s.want(second, "eyes +1", "")
	s.pass(time.Minute)
	s.hear()
	s.want(first, "eyes +1", "")
}

// An answer of the server is used for five minutes.
func TestAPermissionIsRememberedForAWhile(t *testing.T) {
	s := newScene(t)
	s.start()
	s.want(s.say("/agentmux", "wil"), "eyes +1", "")
	s.repo.SetRole("wil", fakehub.Read)
	s.pass(5*time.Minute - time.Second)
	s.want(s.say("/agentmux", "wil"), "eyes +1", "")
	s.pass(2 * time.Second)
	s.want(s.say("/agentmux", "wil"), "", "")
}

// TestGitHub79ReceiptsPassTheGuard: the command counts, and its receipts wait for the claim.
func TestGitHub79ReceiptsPassTheGuard(t *testing.T) {
	s := newScene(t)
	s.start()
	s.guard = errAway
	id := s.say("/agentmux pause", "wil")
	refused := s.say("/agentmux fly", "wil")
	s.pass(time.Hour)
	s.hear()
	s.want(id, "", "")
	if s.receipts(refused) != "" || !s.st.Paused {
		t.Errorf("receipts %q, paused %v", s.receipts(refused), s.st.Paused)
	}
	s.guard = nil
	s.pass(time.Minute)
	s.hear()
	s.want(id, "eyes +1", "")
	if s.receipts(refused) != "-1" {
		t.Errorf("receipts %q", s.receipts(refused))
	}
}

// What another host works on is left to it; when its claim ends before it gave a last receipt, the
// command goes on here.
func TestGitHub82ACommandToAHostThatEnds(t *testing.T) {
	for name, c := range map[string]struct {
		receipt, by string
		after       time.Duration
		want        []string
	}{
		"no receipt":                {"", "", 20 * time.Second, []string{"pause"}},
		"only seen":                 {"eyes", botLogin, 20 * time.Second, []string{"pause"}},
		"done":                      {"+1", botLogin, 20 * time.Second, nil},
		"done by another account":   {"eyes +1", "ops", 20 * time.Second, nil},
		"liked by a colleague":      {"+1", "ops", 0, []string{"pause"}},
		"liked by a bot":            {"+1", "helper[bot]", 0, []string{"pause"}},
		"refused by a bot":          {"-1", "helper[bot]", 20 * time.Second, nil},
		"refused by another host":   {"-1", "ops", 20 * time.Second, nil},
		"disliked by a colleague":   {"-1", "ops", 0, []string{"pause"}},
		"seen, and refused":         {"eyes -1", "ops", 0, nil},
		"of a stranger":             {"+1", "rea", 20 * time.Second, []string{"pause"}},
		"of the one who wrote it":   {"+1", "wil", 20 * time.Second, []string{"pause"}},
		"the claim lasts a minute":  {"", "", 61 * time.Second, nil},
		"it is seen after the fact": {"+1", botLogin, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.start()
			s.subject.Holder = "h_1111111111111111"
			if c.after == 0 {
				s.subject.Holder = ""
			}
			id := s.comment("/agentmux pause", "wil")
			for content := range strings.FieldsSeq(c.receipt) {
				s.react(id, content, c.by)
			}
			if c.after > 0 {
				s.hear()
				if len(s.lines()) > 0 {
					t.Fatalf("lines %q", s.lines())
				}
			}
			s.pass(c.after)
			s.ear.Step(t.Context())
			s.subject.Holder = ""
			s.pass(10 * time.Second)
			if c.after == 0 {
				s.poll()
			}
			s.ear.Step(t.Context())
			if got := s.lines(); !slices.Equal(got, c.want) {
				t.Errorf("lines %q, want %q", got, c.want)
			}
		})
	}
}

// react has an account react to a comment.
func (s *scene) react(id int64, content, by string) {
	s.Helper()
	c := s.as(by)
	if err := (ghsync.Receipts{Client: c}).React(s.Context(), octoWidgets, id, content); err != nil {
		s.Fatal(err)
	}
}

// TestGitHub82ACommentInTheMomentOfTheRelease is heard when the comments are read once more.
func TestGitHub82ACommentInTheMomentOfTheRelease(t *testing.T) {
	s := newScene(t)
	standings["parked"](s)
	since := s.Now()
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || news {
		t.Errorf("news %v, %v", news, err)
	}
	s.review("fine", "wil")
	onPull := s.repo.Comment(s.subject.Pull, "/agentmux changes Otherwise.", "wil")
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || !news {
		t.Errorf("news %v, %v", news, err)
	}
	if got := s.commands(); len(got) != 1 || got[0].SourceID != fmt.Sprint("comment/", onPull) || !slices.Contains(s.asked, "wake") && !session.Running(s.sess.Dir) {
		t.Errorf("commands %+v, asked %q", got, s.asked)
	}
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || news {
		t.Errorf("again: news %v, %v", news, err)
	}
	s.hear()
	s.hear()
	if got := s.commands(); len(got) != 1 {
		t.Errorf("commands %+v", got)
	}
	s.comment("/agentmux stop", "rea")
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || news {
		t.Errorf("a stranger: news %v, %v", news, err)
	}
	s.repo.Review(s.subject.Pull, "wil", "COMMENTED", "/agentmux stop")
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || !news {
		t.Errorf("a review: news %v, %v", news, err)
	}
	s.read()

	// What was heard before, but after the host had ended, is news, too.
	s.comment("/agentmux help", "wil")
	s.poll()
	s.ear.Step(t.Context())
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || !news {
		t.Errorf("what was heard before: news %v, %v", news, err)
	}
	s.read()
	if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || news {
		t.Errorf("all is read: news %v, %v", news, err)
	}
}

// TestGitHub82ACommentBehindAPageOfOthers is heard all the same, and one that no other one hides costs one request.
func TestGitHub82ACommentBehindAPageOfOthers(t *testing.T) {
	for name, c := range map[string]struct{ others, lists int }{"alone": {lists: 1}, "hidden": {others: 120, lists: 3}} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			standings["parked"](s)
			since := s.Now()
			s.review("fine", "wil")
			s.repo.Comment(s.subject.Pull, "/agentmux changes Otherwise.", "wil")
			other := s.repo.AddIssue(fakehub.IssueSpec{Title: "another", Author: "wil"})
			for range c.others {
				s.repo.Comment(other, "hello", "wil")
			}
			s.server.ResetLog()
			if news, err := s.ear.News(t.Context(), s.issue, since); err != nil || !news {
				t.Errorf("news %v, %v", news, err)
			}
			lists := 0
			for _, r := range s.server.Calls() {
				if r.Method == http.MethodGet && strings.Contains(r.Path, "/comments?") {
					lists++
				}
			}
			if lists != c.lists {
				t.Errorf("%d lists of comments were read, want %d", lists, c.lists)
			}
		})
	}
}

// What the guard holds back is given at once when the owner settles under a claim.
func TestSettleTriesWhatWasHeldBack(t *testing.T) {
	s := newScene(t)
	s.start()
	s.guard = errAway
	id := s.comment("/agentmux status", "wil")
	s.hear()
	s.want(id, "", "")
	s.guard = nil
	s.ear.Step(t.Context())
	s.want(id, "", "") // not yet
	if !s.ear.Settle(t.Context(), s.issue) {
		t.Error("something is owed")
	}
	s.want(id, "eyes +1", "")
}

// A session without a host that gets a command, or a note to show, is run.
func TestASessionWithoutAHostIsWoken(t *testing.T) {
	for body, want := range map[string]int{"/agentmux stop": 1, "/agentmux pause": 1, "/agentmux status": 1, "/agentmux retry": 1} {
		s := newScene(t)
		standings["parked"](s)
		if err := s.sess.Close(); err != nil {
			t.Fatal(err)
		}
		s.comment(body, "wil")
		s.poll()
		for range 3 {
			s.ear.Step(t.Context())
		}
		n := 0
		for _, did := range s.asked {
			if did == "wake" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: woken %d times, want %d", body, n, want)
		}
	}
}

// TestGitHub84AReceiptOfAReviewWithoutGraphQL: the fold alone tells.
func TestGitHub84AReceiptOfAReviewWithoutGraphQL(t *testing.T) {
	s := newScene(t, withoutGraphQL)
	s.start()
	s.review("/agentmux fly", "wil")
	s.ear.Step(t.Context())
	if got := s.lines(); !slices.Equal(got, []string{"fly refused"}) {
		t.Errorf("lines %q", got)
	}
	if left := s.journal.Pending(); len(left) > 0 || len(s.repo.ReviewReactions(s.subject.Pull)) > 0 {
		t.Errorf("owed %+v", left)
	}
}

// A retry is answered as the gate decides.
func TestARetryIsJudgedByTheGate(t *testing.T) {
	for name, c := range map[string]struct {
		d        gate.Decision
		receipts string
		reason   string
	}{
		"start":   {gate.Decision{Row: gate.RowStart, What: gate.Start}, "eyes +1", ""},
		"queue":   {gate.Decision{Row: gate.RowBusy, What: gate.Queue}, "eyes +1", ""},
		"refuse":  {gate.Decision{Row: gate.RowEdited, What: gate.Refuse, Reason: "no", Remedy: "ask"}, "-1", "no; ask"},
		"closed":  {gate.Decision{Row: gate.RowAbsent, What: gate.Ignore, Reason: "it is closed"}, "-1", "it is closed"},
		"claimed": {gate.Decision{Row: gate.RowClaimed, What: gate.Ignore, Reason: "h_1"}, "", ""},
		"later":   {gate.Decision{Row: gate.RowUnread, What: gate.Later, After: time.Minute}, "", ""},
		"decided": {gate.Decision{Row: gate.RowDecided, What: gate.Ignore, Reason: "decided"}, "eyes +1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			standings["done"](s)
			s.decision = c.d
			id := s.say("/agentmux retry", "wil")
			s.want(id, c.receipts, c.reason)
			if c.receipts == "" {
				s.decision = gate.Decision{Row: gate.RowStart, What: gate.Start}
				s.pass(2 * time.Minute)
				s.hear()
				s.want(id, "eyes +1", "")
			}
			if want := c.reason != ""; want != slices.Contains(s.lines(), "retry refused") {
				t.Errorf("lines %q", s.lines())
			}
		})
	}
	s := newScene(t)
	standings["done, pull request"](s)
	s.subject.Pull = 0
	s.review("/agentmux retry", "wil")
	s.ear.Step(t.Context())
	if len(s.asked) > 0 || !slices.Contains(s.lines(), "retry refused") {
		t.Errorf("asked %q, lines %q", s.asked, s.lines())
	}
}

// What is said on a pull request of others is not for us.
func TestOtherPullRequestsAreLeftAlone(t *testing.T) {
	s := newScene(t)
	s.start()
	s.review("x", "wil")
	other := s.subject.Pull
	s.subject.Pull = 0
	s.repo.Comment(other, "/agentmux stop", "wil")
	s.hear()
	if got := s.lines(); len(got) > 0 || len(s.repo.Comments(other)[0].Reactions) > 0 {
		t.Errorf("lines %q", got)
	}
}

// A comment that was deleted, or is on a locked issue, takes no receipt; the command is done all
// the same.
func TestAReceiptThatCannotBeGiven(t *testing.T) {
	s := newScene(t)
	s.start()
	id := s.comment("/agentmux pause", "wil")
	s.poll()
	s.repo.DeleteComment(id, "wil")
	s.ear.Step(t.Context())
	s.read()
	s.ear.Step(t.Context())
	if !s.st.Paused || len(s.journal.Pending()) > 0 {
		t.Errorf("paused %v, owed %+v", s.st.Paused, s.journal.Pending())
	}
}

// The session that had a command is gone before it was read.
func TestASessionThatIsGone(t *testing.T) {
	s := newScene(t)
	s.start()
	s.guard = errAway
	id := s.say("/agentmux say look", "wil")
	if err := os.RemoveAll(s.sess.Dir); err != nil {
		t.Fatal(err)
	}
	s.sess, s.guard = nil, nil
	s.pass(time.Minute)
	s.hear()
	s.want(id, "eyes -1", "the session is gone: retry begins another one")
}

var _ ear.Owner = (*owner)(nil)

// A host that has a command and is gone before it heard it shows that by its claim, ten minutes later at the earliest.
// The command is heard then, once: of what the host left, in the session that was taken from it, or at the end of that.
// What it gave a last receipt for, or what is there once it gave the issue back, is not.
func TestGitHub82ACommandToAHostThatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		body, receipt string
		then          func(s *scene)
		look          bool // the session of this host ends
		want          []string
	}{
		"it is left":   {then: func(s *scene) { s.subject.Left = true; standings["parked"](s) }, want: []string{"resume"}},
		"it was taken": {body: "/agentmux pause", then: func(s *scene) { s.start() }, want: []string{"pause"}},
		"its session is to be continued": {body: "/agentmux pause", then: func(s *scene) {
			s.subject.Ticket, s.subject.Saved = true, true
			s.pass(2 * time.Minute)
			s.ear.Step(s.Context())
			s.subject.Ticket, s.subject.Saved = false, false
			s.start()
		}, want: []string{"pause"}},
		"it was taken, and ended":  {then: standings["parked"], look: true, want: []string{"resume"}},
		"it was seen, and no more": {receipt: "eyes", then: func(s *scene) { s.subject.Left = true; standings["parked"](s) }, want: []string{"resume"}},
		"it was done":              {receipt: "eyes +1", then: func(s *scene) { s.subject.Left = true; standings["parked"](s) }},
		"the issue was given back": {then: standings["parked"]},
		"another host took it":     {then: func(s *scene) { standings["parked"](s); s.subject.Holder = "h_2222222222222222" }},
		"nothing of it is here":    {then: func(*scene) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.subject.Holder = "h_1111111111111111"
			id := s.comment(cmp.Or(c.body, "/agentmux resume"), "wil")
			s.poll()
			for range 10 {
				s.ear.Step(t.Context())
				s.pass(time.Minute)
				if c.receipt != "" && s.receipts(id) == "" {
					for content := range strings.FieldsSeq(c.receipt) {
						s.react(id, content, botLogin)
					}
				}
			}
			s.subject.Holder = ""
			c.then(s)
			if c.look {
				if _, err := s.ear.News(t.Context(), s.issue, s.Now()); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				s.pass(2 * time.Minute)
				s.ear.Step(t.Context())
			}
			var got []string
			if s.sess != nil {
				got = s.lines()
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("lines %q, want %q", got, c.want)
			}
		})
	}
}

// A command that waits behind an older one of its author for the host that has the issue is not heard once more after that
// host did what it says and gave the issue back.
func TestGitHub82ACommandBehindOneThatAnotherHostKeepsWaiting(t *testing.T) {
	s := newScene(t)
	s.subject.Holder = "h_1111111111111111"
	first := s.comment("/agentmux say hello", "wil")
	s.poll()
	for range 3 {
		s.ear.Step(t.Context())
		s.pass(time.Minute)
	}
	s.react(first, "eyes", botLogin)
	second := s.comment("/agentmux stop", "wil")
	s.poll()
	s.ear.Step(t.Context())
	s.react(second, "eyes", botLogin)
	s.react(second, "+1", botLogin)
	s.subject.Holder = ""
	for range 3 {
		s.pass(2 * time.Minute)
		s.ear.Step(t.Context())
	}
	if got := s.receipts(second); got != "eyes +1" {
		t.Errorf("receipts %q, %q", got, s.reason(fmt.Sprint("comment/", second)))
	}
}
