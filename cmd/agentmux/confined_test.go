package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// keyPlaybook is quickPlaybook with a coder that insists on a file with what looks like a secret.
func keyPlaybook() string {
	const hands = "\n      - submit: {tool: submit_done, with: {subplan_index: 1}}"
	refused := strings.TrimSuffix(hands, "}") + ", refused: true}"
	book := strings.Replace(quickPlaybook, coderWrites, strings.Replace(coderWrites, "two", "AKIA"+"QYLPMN5HFIQR7XYA", 1), 1)
	return strings.Replace(book, hands, refused+refused+hands, 1)
}

// issueText is all that was written on the issue, as it is now.
func (r *runner) issueText() string {
	r.t.Helper()
	var all strings.Builder
	for _, c := range r.github.Repo(rigRepo).Comments(1) {
		if c.Author != rigOwner {
			all.WriteString(c.Body + "\n")
		}
	}
	return all.String()
}

// What the output gate holds back is in no checkpoint that leaves the runner, so a job of an answer would find nothing of it. The end
// asks for what such a job can do, and that leads to the result.
func TestSecurity7WhatEndsWithItsRunnerCanBeTriedOnceMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{playbook: keyPlaybook()})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.expect(0, "issue", "1", "--headless")
	if s := r.onRunner().State; s.OutcomeReason != orchestrator.ReasonOutputGate || s.Stays == "" {
		t.Fatalf("%s %s, stays %q", s.Outcome, s.OutcomeReason, s.Stays)
	}
	const next = "/agentmux retry begins once more, from the last checkpoint on the server if there is one"
	if said := fmt.Sprint(runlog.Annotations(ran.out+ran.err, "notice")); !strings.Contains(said, next) {
		t.Errorf("the notice says %q", said)
	}
	told := r.issueText()
	if strings.Contains(told, "/agentmux resume") || strings.Contains(told, "/agentmux approve") || strings.Count(told, "Another try: comment `/agentmux retry`") != 2 {
		t.Errorf("the issue says:\n%s", told)
	}
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.write(filepath.Join(r.dir, "playbook.yaml"), quickPlaybook)
	r.anotherRunner(78)
	repo.Comment(1, "/agentmux retry", rigOwner)
	r.event("issue_comment", commentEvent("/agentmux retry"))
	ran = r.expect(0, "issue", "1", "--headless")
	if got := r.result(); got.Outcome != orchestrator.OutcomeDone || got.Workflow != "quick" || len(repo.Pulls()) != 1 || r.claimRef() != "" {
		t.Errorf("result %+v, %d pull requests, claim %q\n%s%s", got, len(repo.Pulls()), r.claimRef(), ran.out, ran.err)
	}
}

// At a gate such a job keeps its runner, and the approval that its comment asks for reaches it there.
func TestSecurity7AnApprovalReachesTheRunnerThatHasTheWork(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{playbook: keyPlaybook(), config: "approval: {completion: true}\n"})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEventNow("agentmux:quick"))
	b := r.background("issue", "1", "--headless")
	r.eventually("the gate is shown", func() bool { return strings.Contains(r.issueText(), "Reply: `/agentmux approve`") }, b.out.String)
	if told := r.issueText(); !strings.Contains(told, "The job keeps its runner for it") {
		t.Errorf("the issue says:\n%s", told)
	}
	r.eventually("the job stays", func() bool {
		s := r.onRunner().State
		_, parks := s.Deadlines["park"]
		return s.Stays != "" && !parks && s.Settings.ParkAfter > 0
	}, b.out.String)
	repo.Comment(1, "/agentmux approve", rigOwner)
	b.over()
	if got := r.result(); got.Outcome != orchestrator.OutcomeDone || len(repo.Pulls()) != 1 {
		t.Errorf("result %+v\n%s", got, b.out.String())
	}
}

// A job that hands over what the output gate holds back says what is lost and what the next one begins from, which it does.
func TestSecurity7AHandOverSaysWhatEndsWithItsRunner(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		saved bool // an earlier state of it is on the server
		next  string
	}{
		"an earlier checkpoint is on the server": {true, "): the next sweep starts a job that continues from the last checkpoint on the server; /agentmux retry does it now"},
		"none is":                                {false, "): the next sweep starts a job that begins once more; /agentmux retry does it now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := filepath.Join(t.TempDir(), "go")
			waits := fmt.Sprintf("      - run: {argv: [sh, -c, 'until [ -e \"$0\" ]; do sleep 0.05; done', %q]}\n", held)
			r := newRunner(t, rigOptions{
				playbook: strings.Replace(keyPlaybook(), "      - write: {file: a.txt", waits+"      - write: {file: a.txt", 1), config: "approval: {completion: true}\n",
			})
			repo := r.github.Repo(rigRepo)
			repo.Label(1, "agentmux:quick", rigOwner)
			r.event("issues", labelEventNow("agentmux:quick"))
			r.setEnv(agedEnv, "1")
			if !c.saved {
				r.setEnv("AGENTMUX_INPUT_CHECKPOINT", "false")
			}
			b := r.background("issue", "1", "--headless")
			r.eventually("it is saved, if it can be", func() bool { return !c.saved || len(r.savedOnes()) > 0 }, b.out.String)
			r.write(held, "")
			r.eventually("the gate is shown", func() bool { return strings.Contains(r.issueText(), "Reply: `/agentmux approve`") }, b.out.String)
			b.exit(syscall.SIGUSR1)
			r.setEnv(agedEnv, "")
			former := r.result()
			if former.Outcome != job.OutcomeHandover || !strings.HasPrefix(former.Next, "what was made") || !strings.HasSuffix(former.Next, c.next) ||
				!strings.Contains(former.Next, " is lost with the runner, which it must not leave (") || !strings.Contains(former.Checkpoint, "on this runner only") {
				t.Errorf("result %+v", former)
			}
			if said := runlog.Annotations(b.out.String(), "notice"); len(said) != 1 || !strings.HasSuffix(said["agentmux"], c.next) {
				t.Errorf("annotations %q", said)
			}
			repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
			r.write(filepath.Join(r.dir, "playbook.yaml"), quickPlaybook)
			r.anotherRunner(79)
			r.event("workflow_dispatch", `{`+ofRepo+`,"inputs":{"issue":"1"}}`)
			b = r.background("issue", "1", "--headless")
			r.eventually("the gate is open once more", func() bool {
				entries := managedSessions(t, filepath.Join(r.temp, "state"))
				return len(entries) == 1 && entries[0].State != nil && entries[0].State.Gate != nil
			}, b.out.String)
			if s := r.onRunner().State; s.Stays != "" && c.saved || s.ResumeCount > 0 != c.saved {
				t.Errorf("stays %q, resumed %d times", s.Stays, s.ResumeCount)
			}
			b.exit(syscall.SIGINT)
		})
	}
}
