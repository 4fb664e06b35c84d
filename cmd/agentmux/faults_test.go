package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// tenPercent is every kind of failure, together a tenth of all requests.
func tenPercent() []fakehub.Fault {
	soon := map[string]string{"Retry-After": "1"}
	const limit = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	return []fakehub.Fault{
		{Probability: .02, Drop: fakehub.AfterApplying},
		{Probability: .02, Drop: fakehub.BeforeApplying},
		{Probability: .01, Status: 502},
		{Probability: .01, Status: 500, Apply: true},
		{Probability: .01, Status: 429, Message: limit, Header: soon},
		{Probability: .01, Status: 403, Message: limit, Header: soon},
		{Probability: .01, Slow: 300 * time.Millisecond},
		{Probability: .01, Stale: 2 * time.Second},
	}
}

// TestFaultsEverywhere runs whole sessions, side by side, against a GitHub that fails in
// every way: each ends as without a fault. Every fourth is the reference run.
// AGENTMUX_FAULT_SESSIONS sets how many.
func TestFaultsEverywhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	sessions := 2
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_FAULT_SESSIONS")); err == nil {
		sessions = n
	}
	want := map[string]string{}
	for name, o := range faultRuns {
		whole := newRig(t, o)
		whole.insist(name)
		want[name] = whole.picture()
	}
	for i := range sessions {
		seed, name := uint64(i+1), "quick"
		if i%4 == 1 {
			name = "feature"
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			o := faultRuns[name]
			o.github.Seed = seed
			r := newRig(t, o)
			r.github.Inject(tenPercent()...)
			r.insist(name)
			hits := r.github.Hits()
			r.github.Heal()
			r.same(want[name])
			r.spent(hits)
		})
	}
	t.Run("away for a while", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{playbook: quickPlaybook})
		r.away(5 * time.Second)
		r.same(want["quick"])
	})
}

// onceEach are the ways in which one request may fail for a moment.
func onceEach() map[string]fakehub.Fault {
	const limit = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	soon := map[string]string{"Retry-After": "1"}
	const page = "<!DOCTYPE html><html><body>Please wait</body></html>"
	return map[string]fakehub.Fault{
		"reset":         {Drop: fakehub.BeforeApplying},
		"answer lost":   {Drop: fakehub.AfterApplying},
		"502":           {Status: 502},
		"500, applied":  {Status: 500, Apply: true},
		"403 for limit": {Status: 403, Message: limit, Header: soon},
		"429 for limit": {Status: 429, Message: limit, Header: soon},
		"answer cut":    {CutAfter: 10},
		"late":          {Slow: time.Second},
		"a page":        {Status: 200, Body: page},
		"502 a page":    {Status: 502, Body: page},
		"{}, applied":   {Status: 200, Body: "{}", Apply: true},
	}
}

// TestFaultAtEachRequest runs one session for each request of a run and each way it may
// fail: each ends as without a fault. AGENTMUX_FAULT_STRIDE takes each so manieth case.
func TestFaultAtEachRequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	stride := 240
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_FAULT_STRIDE")); err == nil {
		stride = max(1, n)
	}
	whole := newRig(t, faultRuns["quick"])
	whole.github.Inject(fakehub.Fault{Slow: time.Millisecond}) // counts
	whole.insist("quick")
	want, requests := whole.picture(), whole.github.Hits()
	kinds := onceEach()
	names := slices.Sorted(maps.Keys(kinds))
	for i := 0; i < requests*len(names); i += stride {
		at, name := i/len(names)+1, names[i%len(names)]
		t.Run(fmt.Sprintf("request %d: %s", at, name), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, faultRuns["quick"])
			fault := kinds[name]
			fault.From, fault.Times = at, 1
			r.github.Inject(fault)
			r.insist("quick")
			hits := r.github.Hits()
			r.github.Heal()
			if hits == 0 && fault.Body == "" && at < requests*2/3 { // a quicker run looks less often
				t.Errorf("no request %d of %d", at, requests)
			}
			r.same(want)
			r.spent(hits)
		})
	}
}

// faultRuns are by the name of their workflow.
var faultRuns = map[string]rigOptions{"quick": {playbook: quickPlaybook}, "feature": {playbook: referencePlaybook("0")}}

// spent fails if faults cost more than repeating and looking: up to four requests for
// one that failed, and no further comment or pull request that stays.
func (r *rig) spent(hits int) {
	r.t.Helper()
	requests, writes := r.github.Requests(rigBot), r.github.ContentWrites(rigBot)
	r.t.Logf("%s: %d requests, %d of %d failed, %g content writes", r.session().State.Workflow, requests, hits, len(r.github.Calls()), writes)
	if limit := fakehub.Reference.Requests + 4*hits; requests > limit {
		r.t.Errorf("%d requests, want at most %d:\n%s", requests, limit, r.github.Transcript())
	}
	if limit := fakehub.Reference.ContentWrites; writes > limit {
		r.t.Errorf("%g content writes, want at most %g:\n%s", writes, limit, r.github.Transcript())
	}
}

// insist starts the issue until its session is done, as a person does after a start that the
// network made fail. It never gives up a session that exists.
func (r *rig) insist(workflow string) {
	r.t.Helper()
	var res result
	for range 4 {
		res = r.agentmux("issue", "1", "--workflow", workflow, "--headless")
		e := r.sessions()
		if len(e) == 1 && e[0].State != nil && e[0].State.Phase == orchestrator.PhaseDone && !start.Owes(r.t.Context(), e[0]) {
			return
		}
		if len(e) > 1 || len(e) == 1 && res.code != 0 {
			break
		}
	}
	r.t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
}

// same fails unless people see at the end what they would have seen without a fault.
func (r *rig) same(want string) {
	r.t.Helper()
	if got := r.picture(); got != want {
		r.t.Errorf("with faults:\n%s\nwithout:\n%s", got, want)
	}
	r.shownTheSame(r.session())
	r.github.Check(r.t)
	branches := 0
	for ref := range r.github.Repo(rigRepo).Refs() {
		if ref != "refs/heads/main" && !strings.HasPrefix(ref, checkpoints) {
			branches++
		}
	}
	if branches != 1 {
		r.t.Errorf("refs: %v", r.github.Repo(rigRepo).Refs())
	}
}

// away runs the issue while nothing of GitHub answers for some time in its middle.
func (r *rig) away(some time.Duration) {
	r.t.Helper()
	cmd := r.command(append([]string{"issue", "1"}, quickRun...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.NewTimer(runLimit)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var back <-chan time.Time
	for {
		select {
		case err := <-ended:
			if err != nil || back == nil {
				r.t.Fatalf("the run ended: %v\n%s", err, out.String())
			}
			return
		case <-limit.C:
			_ = cmd.Process.Kill()
			<-ended
			r.t.Fatalf("the run did not end:\n%s", out.String())
		case <-back:
			r.github.Heal()
		case <-tick.C:
			if back == nil && r.records() >= 5 {
				r.github.Inject(fakehub.Unavailable("", 503, 0))
				back = time.After(some)
			}
		}
	}
}
