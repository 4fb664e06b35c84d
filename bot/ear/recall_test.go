package ear_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestGitHub76AnAnswerIsForASessionOfAnotherMachine is part of row 76 of github section 15: what a person says to a
// session that this machine does not have is asked for once it is sure that the person may say it.
func TestGitHub76AnAnswerIsForASessionOfAnotherMachine(t *testing.T) {
	s := newScene(t)
	s.recalls = func() {
		if s.sess == nil {
			s.start()
			s.call("planner", "ask_human", map[string]any{"id": "q1", "question": "Which?"})
		}
	}
	for what, c := range map[string]struct{ body, by string }{
		"no write permission": {"/agentmux answer q1 this", "rea"}, "no command": {"Use this", "wil"}, "for no session": {"/agentmux status", "wil"},
		"no text": {"/agentmux answer", "wil"}, "no such verb": {"/agentmux answerr it", "wil"},
	} {
		if s.say(c.body, c.by); len(s.recalled) > 0 {
			t.Fatalf("%s: asked for %v", what, s.recalled)
		}
	}
	old := s.comment("/agentmux answer q1 this", "wil")
	s.pass(25 * time.Hour)
	if s.hear(); len(s.recalled) > 0 {
		t.Fatalf("for the old comment %d: asked for %v", old, s.recalled)
	}
	id := s.say("/agentmux answer q1 this", "wil")
	if want := fmt.Sprint("comment/", id); !slices.Equal(s.recalled, []string{want}) {
		t.Errorf("asked for %v, want %s", s.recalled, want)
	}
	if q := s.st.Questions[0]; q.Open() || s.receipts(id) != "eyes +1" {
		t.Errorf("question %+v, receipts %q", q, s.receipts(id))
	}
	// Now it runs here.
	if s.say("/agentmux say planner hello", "wil"); len(s.recalled) != 1 {
		t.Errorf("asked for %v", s.recalled)
	}
}

// Another try is asked for as one: of a session that another machine had and that is done nothing is left to try.
func TestAnotherTryIsForASessionOfAnotherMachine(t *testing.T) {
	s := newScene(t)
	for verb, retry := range map[string]bool{"retry": true, "resume": false} {
		if s.say("/agentmux "+verb, "wil"); len(s.recalled) != 1 || s.retries != retry {
			t.Errorf("%s: asked for %v, as a retry %t", verb, s.recalled, s.retries)
		}
		s.recalled = nil
	}
}

// A review that gives a command is named as one to the other machines: comments are counted apart.
func TestACommandInAReviewIsNamedAsOne(t *testing.T) {
	s := newScene(t)
	s.review("/agentmux answer q1 this", "wil")
	s.ear.Step(t.Context())
	if len(s.recalled) != 1 || !strings.HasPrefix(s.recalled[0], "review/") {
		t.Errorf("asked for %v", s.recalled)
	}
}

// A command that a session got on another machine, whose receipt is owed, counts once.
func TestACommandThatCameAlongCountsOnce(t *testing.T) {
	s := newScene(t)
	id := s.comment("/agentmux answer q1 this", "wil")
	s.recalls = func() {
		s.start()
		s.call("planner", "ask_human", map[string]any{"id": "q1", "question": "Which?"})
		s.known(fmt.Sprint("comment/", id))
		s.read()
		s.command("stop") // it would be refused now
	}
	s.hear()
	if got := s.commands(); len(got) != 1 || len(s.recalled) != 1 {
		t.Errorf("commands %+v", got)
	}
	if c, _ := s.journal.Command(fmt.Sprint("comment/", id)); c.State == journal.Refused || c.State == journal.Judged {
		t.Errorf("%+v", c)
	}
}

// A session that ended here is asked for, too: it may have gone on elsewhere. While another host has it, the command waits.
func TestACommandForASessionThatWentOnElsewhere(t *testing.T) {
	s := newScene(t)
	s.start()
	s.command("stop")
	if !s.st.Ended() {
		t.Fatal("it runs")
	}
	s.recalls = func() { s.subject.Holder = "h_0123456789abcdef" }
	id := s.say("/agentmux resume", "wil")
	if len(s.recalled) != 1 || len(s.lines()) > 0 || s.receipts(id) != "" {
		t.Errorf("asked for %v, lines %v, receipts %q", s.recalled, s.lines(), s.receipts(id))
	}
	s.subject.Holder, s.recalls = "", nil
	s.pass(6 * time.Second)
	s.hear()
	if len(s.recalled) != 2 || s.st.Outcome != "" || s.receipts(id) != "eyes +1" {
		t.Errorf("asked for %v, outcome %q, receipts %q", s.recalled, s.st.Outcome, s.receipts(id))
	}
}

// So is one for a command in a review: the newest checkpoint says whether another machine has carried it out.
func TestACommandInAReviewForASessionThatWentOnElsewhere(t *testing.T) {
	s := newScene(t)
	s.start()
	s.command("stop")
	s.recalls = func() { s.subject.Holder = "h_0123456789abcdef" }
	s.review("/agentmux resume", "wil")
	s.ear.Step(t.Context())
	if len(s.recalled) != 1 || !strings.HasPrefix(s.recalled[0], "review/") || len(s.lines()) > 0 {
		t.Errorf("asked for %v, lines %v", s.recalled, s.lines())
	}
}

// known has the session have a command already.
func (s *scene) known(source string) {
	s.Helper()
	if _, err := command.Append(s.sess.Dir, orchestrator.Payload{Name: "answer", Actor: "wil", Source: "issue", SourceID: source, Args: orchestrator.CommandArgs{ID: "q1", Text: "this"}}); err != nil {
		s.Fatal(err)
	}
}

// A job leaves a command to the host that works on the issue once that host says that it has it, and not because a stranger
// likes to look at it. A bot, which stays, does not ask.
func TestGitHub76AJobLeavesACommandThatItsHostHas(t *testing.T) {
	s := newScene(t)
	s.brief, s.subject.Holder = true, "h_0123456789abcdef"
	s.restart()
	id := s.say("/agentmux say hello", "wil")
	s.react(id, ghsync.ReactionSeen, "rea")
	s.pass(6 * time.Second)
	if s.hear(); s.ear.Idle() {
		t.Fatal("it does not wait for the host's receipt")
	}
	s.react(id, ghsync.ReactionSeen, "max")
	s.pass(6 * time.Second)
	s.hear()
	if _, judged := s.journal.Command(fmt.Sprint("comment/", id)); judged || !s.ear.Idle() || s.receipts(id) != "" {
		t.Errorf("idle %v, judged %v, receipts %q", s.ear.Idle(), judged, s.receipts(id))
	}
}

// A session that waits for a person and that another host took in between is run for a command of it at once, and
// then ever more seldom: each run costs a claim. What changes on the issue counts at once.
func TestASessionThatAnotherHostTookIsRunSeldom(t *testing.T) {
	s := newScene(t)
	s.start()
	s.call("planner", "ask_human", map[string]any{"id": "q1", "question": "Which?"})
	if err := s.sess.Release(); err != nil { // nothing runs it
		t.Fatal(err)
	}
	s.comment("/agentmux answer q1 this", "wil")
	s.poll()
	runs := func(d time.Duration) (n int) {
		before := len(s.asked)
		for end := s.Now().Add(d); s.Now().Before(end); s.pass(5 * time.Second) {
			s.ear.Step(t.Context())
		}
		return len(s.asked) - before
	}
	if n := runs(5 * time.Second); n != 1 {
		t.Fatalf("%d runs at once", n)
	}
	if n := runs(time.Hour); n < 7 || n > 11 {
		t.Errorf("%d runs in an hour in which nothing changed", n)
	}
	s.subject.Holder = "a_77_1"
	if n := runs(time.Hour); n != 0 {
		t.Errorf("%d runs while another host works on the issue", n)
	}
	s.subject.Holder = ""
	if n := runs(35 * time.Second); n != 1 {
		t.Errorf("%d runs after the other host had ended", n)
	}
}

// A command that a session got here, which then went on elsewhere before it read it, is given to what comes back from there:
// once, and not again if it came along.
func TestACommandFollowsASessionThatWentOnElsewhere(t *testing.T) {
	for name, along := range map[string]bool{"it did not come along": false, "it came along": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			parked := func() {
				s.start()
				s.call("planner", "ask_human", map[string]any{"id": "q1", "question": "Which?"})
				s.command("stop")
			}
			parked()
			if err := s.sess.Release(); err != nil { // nothing runs it
				t.Fatal(err)
			}
			id := s.comment("/agentmux resume", "wil")
			source := fmt.Sprint("comment/", id)
			s.poll()
			step := func(d time.Duration) {
				for end := s.Now().Add(d); s.Now().Before(end); s.pass(5 * time.Second) {
					s.ear.Step(t.Context())
				}
			}
			step(5 * time.Second)
			former, asked := s.sess.Dir, len(s.recalled)
			if got := s.lines(); len(got) != 1 || asked != 1 {
				t.Fatalf("lines %q, asked for it %d times", got, asked)
			}
			s.recalls = func() { // another machine had it, and let it go
				s.recalls = nil
				parked()
				if along {
					s.known(source)
				}
				err := errors.Join(s.sess.Release(), os.Rename(former, former+session.OvertakenMark+"1"), os.Rename(s.sess.Dir, former))
				if err == nil {
					s.sess, err = session.Open(former)
				}
				if err != nil {
					t.Fatal(err)
				}
				s.subject.Dir = former
			}
			step(3 * time.Minute)
			c, _ := s.journal.Command(source)
			if got := s.lines(); s.recalls != nil || len(got) != 1 || len(s.asked) < 2 || c.State != journal.Accepted {
				t.Errorf("lines %q, %+v, asked to %q", got, c, s.asked)
			}
		})
	}
}

// A command that is gone with the directory that it was given to is refused, and not owed for ever.
func TestACommandThatItsSessionHasNoMoreIsRefused(t *testing.T) {
	s := newScene(t)
	s.start()
	s.call("planner", "ask_human", map[string]any{"id": "q1", "question": "Which?"})
	if err := s.sess.Release(); err != nil {
		t.Fatal(err)
	}
	id := s.comment("/agentmux answer q1 this", "wil")
	s.poll()
	s.ear.Step(t.Context())
	if err := os.Remove(s.sess.Path(session.Commands)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s.pass(5 * time.Second)
		s.ear.Step(t.Context())
	}
	source := fmt.Sprint("comment/", id)
	if c, _ := s.journal.Command(source); c.State != journal.Refused || !strings.Contains(c.Reason, "elsewhere") || s.receipts(id) != "eyes -1" {
		t.Errorf("%+v, receipts %q", c, s.receipts(id))
	}
}

// What is said on the pull request of another session than this machine has of the issue is not for that one: it is
// refused with the reason, unless the session of the pull request can be had.
func TestACommandOnThePullRequestOfAnotherSession(t *testing.T) {
	s := newScene(t)
	s.start()
	s.command("stop")
	s.subject.Of, s.subject.Other = "20261122-100436-issue-12-say-two-fedcba9876543210", true
	id := s.say("/agentmux changes say three", "wil")
	if len(s.recalled) != 1 || len(s.commands()) > 0 || s.receipts(id) != "-1" || !strings.Contains(s.reason(fmt.Sprint("comment/", id)), "another session") {
		t.Errorf("asked for %v, lines %q, receipts %q, %q", s.recalled, s.lines(), s.receipts(id), s.reason(fmt.Sprint("comment/", id)))
	}
	s.recalls = func() { s.subject.Other = false }
	id = s.say("/agentmux resume", "wil")
	if len(s.recalled) != 2 || s.st.Ended() || s.receipts(id) != "eyes +1" {
		t.Errorf("asked for %v, outcome %q, receipts %q", s.recalled, s.st.Outcome, s.receipts(id))
	}
}
