package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
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
