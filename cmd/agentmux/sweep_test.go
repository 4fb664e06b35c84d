package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
)

// putClaims has hosts that are elsewhere claim issues: what they pushed lies in the repository on the server.
func (r *rig) putClaims(host func(issue int) claim.HostID, state claim.State, issues ...int) {
	r.t.Helper()
	var stream strings.Builder
	for _, issue := range issues {
		line, err := json.Marshal(struct {
			V int `json:"v"`
			claim.Claim
		}{1, claim.Claim{
			RepoID: r.github.Repo(rigRepo).ID(), Issue: issue, Session: orchestrator.PublicID(fmt.Sprintf("20261125-100000-issue-%d-x", issue), fmt.Sprintf("%016x", issue)),
			Trigger: "label/agentmux/2026-11-25T10:00:00Z/9", Host: host(issue), State: state, Gen: 1, At: time.Now().UTC(),
		}})
		if err != nil {
			r.t.Fatal(err)
		}
		fmt.Fprintf(&stream, "commit refs/agentmux/claims/%d\ncommitter agentmux <> 0 +0000\ndata %d\n%s\n\n", issue, len(line), line)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = r.github.Repo(rigRepo).Dir(), r.env, strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// jobOf is the job of a run of its own for each issue.
func jobOf(issue int) claim.HostID { return claim.JobHostID(int64(100+issue), 1) }

// BenchmarkSweep measures the sweep of a job over a thousand claimed issues: 930 are of jobs that run, twenty of jobs
// that are over, and fifty of bots.
//
//	sweep-s   the whole job, from its start to its end
//	git-calls one that lists the refs of the server, one that fetches the claims
//	dead      claims that a job has left
//	reads     readings of runs: one for each hundred that are in progress, and one for each claim that a job has left
//	requests  that count, without those that start a workflow
func BenchmarkSweep(b *testing.B) {
	const all, dead, bots = 1_000, 20, 50
	r := newRunner(b, rigOptions{})
	repo := r.github.Repo(rigRepo)
	program := r.build(b)
	var ofJobs, ofBots []int
	for issue := 1; issue <= all; issue++ {
		if issue > 1 {
			repo.AddIssue(fakehub.IssueSpec{Title: "More", Body: "More.\n", Author: rigOwner})
		}
		if issue > all-bots {
			ofBots = append(ofBots, issue)
			continue
		}
		ofJobs = append(ofJobs, issue)
		run := fakehub.Run{ID: int64(100 + issue), Attempt: 1, Status: "in_progress"}
		if issue <= dead {
			run.Status, run.Conclusion = "completed", "failure"
		}
		repo.SetRun(run)
	}
	r.putClaims(jobOf, claim.Running, ofJobs...)
	r.putClaims(func(int) claim.HostID { return claim.NewHostID() }, claim.Running, ofBots...)
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "read", "issues": "read", "actions": "write"}, 0))
	r.event("schedule", "{}")
	r.setEnv("GITHUB_RUN_ID", "99")
	took := time.Duration(0)
	for b.Loop() {
		r.github.ResetLog()
		before := len(repo.Dispatches())
		cmd := exec.Command(program, "issue", "", "--headless")
		cmd.Dir, cmd.Env = r.clone, r.env
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		took = max(took, time.Since(began))
		if n := len(repo.Dispatches()) - before; n != dead {
			b.Fatalf("%d workflows were started, want %d", n, dead)
		}
	}
	refs, reads, requests := 0, 0, 0
	for _, c := range r.github.Calls() {
		switch {
		case strings.Contains(c.Path, ".git/info/refs"):
			refs++
		case strings.Contains(c.Path, "/actions/runs"):
			reads++
		}
		if c.Counted && c.Method == http.MethodGet {
			requests++
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds(), "sweep-s")
	b.ReportMetric(float64(refs), "git-calls")
	b.ReportMetric(float64(dead), "dead")
	b.ReportMetric(float64(reads), "reads")
	b.ReportMetric(float64(requests), "requests")
}
