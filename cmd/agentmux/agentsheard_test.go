package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// heardPlaybook has two agents that each ask a person; one of them hangs once it has the answer.
const heardPlaybook = `version: 1
agents:
  - role: build
    task: words
    steps:
      - submit: {tool: ask_human, with: {question: "Which of the two?", options: [a, b]}}
      - hear: "The answer: b"
      - write: {file: words.txt, text: "b\n"}
      - submit: {tool: submit_done}
  - role: build
    task: greeting
    steps:
      - submit: {tool: ask_human, with: {question: "Which of the three?", options: [c, d, e]}}
      - hear: "The answer: d"
      - hear: "stay polite"
      - hang: true
`

// heardRun is a rig whose agents work for two issues, each for one. It returns the second; the first is 1.
func heardRun(t *testing.T) (r *rig, second int) {
	t.Helper()
	r = newRig(t, rigOptions{playbook: heardPlaybook, config: "sandbox: {unsafe_flags: true}\nbot: {allowed_users: [" + rigOwner + "]}\n"})
	second = r.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "Greet the world", Body: "Say hello.", Author: rigOwner})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), fmt.Sprintf(`session: shop
on_complete: [push, pr]
agents:
  - name: words
    branch: feature/words
    issue: 1
  - name: greeting
    branch: feature/greeting
    issue: %d
`, second))
	return r, second
}

// reacted is what the program reacted to a comment with.
func (r *rig) reacted(issue int, comment int64) string {
	return strings.ReplaceAll(strings.Join(r.reactions(rigRepo, issue, comment), " "), rigBot+" ", "")
}

// asksOn returns the id of the question that the program shows on an issue; "" if it shows none.
func (r *rig) asksOn(issue int) string {
	for _, c := range r.github.Repo(rigRepo).Comments(issue) {
		if _, line, ok := strings.Cut(c.Body, "Reply: `/agentmux answer "); ok && c.Author == rigBot {
			id, _, _ := strings.Cut(line, " ")
			return id
		}
	}
	return ""
}

// Case 54: the comments on the issue of an agent are for that agent alone. It is answered, told and stopped
// there; what is meant for another agent or for the whole run is refused there, with the reason, and so is who
// may not give commands.
func TestGitHub54AgentsHearTheCommentsOfTheirOwnIssues(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	r, second := heardRun(t)
	r.github.AddUser(fakehub.UserSpec{Login: "wil", Roles: map[string]fakehub.Role{rigRepo: fakehub.Write}})
	r.github.AddUser(fakehub.UserSpec{Login: "tom", Roles: map[string]fakehub.Role{rigRepo: fakehub.Triage}})
	hub := r.github.Repo(rigRepo)
	host := r.background("agents", "start", "--yes", "--headless")
	r.eventually("both ask on their issues", func() bool { return r.asksOn(1) != "" && r.asksOn(second) != "" }, host.out.String)
	ofWords, ofGreeting := r.asksOn(1), r.asksOn(second)

	type said struct {
		issue    int
		by, text string
		receipts string
		reason   string // that the issue shows, and the other does not
		id       int64
	}
	say := func(all ...said) {
		t.Helper()
		for i := range all {
			all[i].id = hub.Comment(all[i].issue, all[i].text, all[i].by)
		}
		for _, s := range all {
			r.eventually(fmt.Sprintf("%s on issue %d has %q", s.text, s.issue, s.receipts), func() bool { return r.reacted(s.issue, s.id) == s.receipts },
				func() string { return r.reacted(s.issue, s.id) + "\n" + host.out.String() })
		}
		for _, s := range all {
			shows := func(issue int) bool {
				return slices.ContainsFunc(hub.Comments(issue), func(c fakehub.CommentView) bool { return c.Author == rigBot && strings.Contains(c.Body, s.reason) })
			}
			if s.reason == "" {
				continue
			}
			r.eventually(fmt.Sprintf("issue %d says %q", s.issue, s.reason), func() bool { return shows(s.issue) }, func() string { return fmt.Sprintf("%+v", hub.Comments(s.issue)) })
			if shows(1 + second - s.issue) {
				t.Errorf("issue %d says %q, which is of the other agent", 1+second-s.issue, s.reason)
			}
		}
	}
	stranger := hub.Comment(1, "/agentmux answer 1", "tom")
	say(
		said{issue: second, by: rigOwner, text: "/agentmux answer " + ofWords + " b", receipts: "eyes -1", reason: "there is no question " + ofWords + " of greeting; open: " + ofGreeting},
		said{issue: 1, by: rigOwner, text: "/agentmux pause", receipts: "-1", reason: "pause is for the whole run"},
		said{issue: 1, by: rigOwner, text: "/agentmux say greeting hurry", receipts: "-1", reason: "this issue is of the agent words"},
		said{issue: 1, by: "wil", text: "/agentmux answer 1", receipts: "-1", reason: "wil is not in bot.allowed_users"},
		said{issue: second, by: rigOwner, text: "/agentmux answer 2", receipts: "eyes +1", reason: "| answer | ✅ applied |"},
	)
	if q := r.question(ofWords); !q.Open() {
		t.Errorf("the question of the other agent was answered: %+v", q)
	}
	say(
		said{issue: second, by: rigOwner, text: "/agentmux say greeting: stay polite", receipts: "eyes +1", reason: "greeting | ✅ delivered"},
		said{issue: 1, by: rigOwner, text: "/agentmux answer 2", receipts: "eyes +1"},
	)
	r.eventually("words is done", func() bool { return r.markerOf("words") == "0" }, host.out.String)
	if r.markerOf("greeting") != "" {
		t.Error("greeting has ended, too")
	}
	say(said{issue: second, by: rigOwner, text: "/agentmux stop", receipts: "eyes +1"})
	host.over()
	if code := host.cmd.ProcessState.ExitCode(); code != exit.Failed {
		t.Errorf("exit %d\n%s", code, host.out.String())
	}
	if words, greeting := r.markerOf("words"), r.markerOf("greeting"); words != "0" || greeting != "130" {
		t.Errorf("markers %q and %q", words, greeting)
	}
	for id, want := range map[string]string{ofWords: "b", ofGreeting: "d"} {
		if q := r.question(id); string(q.Answer) != want || string(q.AnsweredBy) != rigOwner {
			t.Errorf("%s was answered %q by %q", id, q.Answer, q.AnsweredBy)
		}
	}
	if got := r.reacted(1, stranger); got != "" {
		t.Errorf("who may not write got %q", got)
	}
	if left := r.ourRefs(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
}

// markerOf is the marker of an agent of the only session.
func (r *rig) markerOf(name string) string {
	marker := r.session().State.Team[name].Marker
	if marker == "" {
		return ""
	}
	return fmt.Sprint(agents.ParseMarker([]byte(marker)).Exit)
}

// question is one of the only session.
func (r *rig) question(id string) orchestrator.Question {
	r.t.Helper()
	for _, q := range r.session().State.Questions {
		if q.ID == id {
			return q
		}
	}
	r.t.Fatalf("there is no question %s", id)
	return orchestrator.Question{}
}

// A comment on the issue of an agent counts once although the host is killed before it heard it, and once more
// when the session has it.
func TestGitHub56AnAgentIsAnsweredOnceWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, second := heardRun(t)
	hub := r.github.Repo(rigRepo)
	start := []string{"agents", "start", "--yes", "--headless"}
	host := r.background(start...)
	r.eventually("both ask on their issues", func() bool { return r.asksOn(1) != "" && r.asksOn(second) != "" }, host.out.String)
	host.exit(syscall.SIGKILL)
	answer := hub.Comment(1, "/agentmux answer 2", rigOwner)
	source := fmt.Sprint("comment/", answer)
	lines := filepath.Join(r.session().Dir, session.Commands)
	host = r.background(start...)
	r.eventually("the session has the answer", func() bool {
		data, err := os.ReadFile(lines)
		return err == nil && strings.Contains(string(data), source)
	}, host.out.String)
	host.exit(syscall.SIGKILL)
	host = r.background(start...)
	r.eventually("words is done", func() bool { return r.markerOf("words") == "0" }, host.out.String)
	r.eventually("the comment has its receipts", func() bool { return r.reacted(1, answer) == "eyes +1" }, func() string { return r.reacted(1, answer) })
	host.exit(syscall.SIGTERM)
	if q := r.question(r.asksOn(second)); !q.Open() {
		t.Errorf("the question of the other agent was answered: %+v", q)
	}
	applied, answered := 0, 0
	for _, e := range r.recordsOf(r.session()) {
		switch d := e.Data.(type) {
		case orchestrator.CommandAppliedRecord:
			if d.SourceID == source && d.Agent == "words" {
				applied++
			}
		case orchestrator.QuestionAnsweredRecord:
			answered++
		}
	}
	if applied != 1 || answered != 1 || strings.Count(r.read(lines), source) != 1 {
		t.Errorf("applied %d times, answered %d times, lines\n%s", applied, answered, r.read(lines))
	}
}

// What is said on the issue of an agent while another host has claimed it is for that host: the run that was killed here
// ends without hearing it, and owes no receipt.
func TestGitHub54AnAgentWhoseIssueIsOfAnotherHostHearsNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, second := heardRun(t)
	hub := r.github.Repo(rigRepo)
	start := []string{"agents", "start", "--yes", "--headless"}
	host := r.background(start...)
	r.eventually("both ask on their issues", func() bool { return r.asksOn(1) != "" && r.asksOn(second) != "" }, host.out.String)
	host.exit(syscall.SIGKILL)
	r.asJob("a_80_1")
	answer := hub.Comment(1, "/agentmux answer 2", rigOwner)
	host = r.background(start...)
	host.over()
	e := r.session()
	if code := host.cmd.ProcessState.ExitCode(); code != exit.Locked || e.State.OutcomeReason != orchestrator.ReasonClaimLost {
		t.Errorf("exit %d, %s for %s\n%s", code, e.State.Outcome, e.State.OutcomeReason, host.out.String())
	}
	if lines := r.read(filepath.Join(e.Dir, session.Commands)); strings.Contains(lines, fmt.Sprint("comment/", answer)) {
		t.Errorf("it was heard here:\n%s", lines)
	}
	if q := r.question(r.asksOn(1)); q.Answer != "" && string(q.AnsweredBy) == rigOwner {
		t.Errorf("the question was answered: %+v", q)
	}
	if got := r.reacted(1, answer); got != "" {
		t.Errorf("receipts %q", got)
	}
}
