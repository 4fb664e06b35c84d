package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// referencePlaybook is the run by which costs are compared: two coders side by side, two
// reviewers of whom one finds something, a fix, and a second round. Each agent is at work
// for a while, given as seconds of sleep(1): a run that is over at once has fewer states
// to show.
func referencePlaybook(seconds string) string {
	return strings.NewReplacer(
		"submit: {tool: submit_architecture}", "submit: {tool: submit_architecture, with: {reviewers: [reviewer_logic, reviewer_quality]}}",
		"    steps:\n", "    steps:\n      - run: {argv: [sleep, \""+seconds+"\"]}\n",
	).Replace(plainPlaybook + `  - role: reviewer_quality
    steps:
      - write: {file: "{session}/07_review/review_reviewer_quality.yaml", text: "verdict: pass\nsummary: Reads well.\n"}
      - submit: {tool: submit_review, with: {role: reviewer_quality}}
`)
}

// reference runs it, shown on its issue, on a GitHub of its own, at the pace that GitHub asks for: a budget is kept
// at that one.
func reference(tb testing.TB, seconds string) *rig {
	tb.Helper()
	r := newRig(tb, rigOptions{playbook: referencePlaybook(seconds), config: "github: {write_interval: 1s}\n"})
	r.expect(0, "issue", "1", "--headless")
	e := r.session()
	r.done(e)
	if n := len(e.State.ReviewResults); n != 2 || e.State.ReviewIteration != 1 {
		tb.Fatalf("%d reviewers and %d fix rounds, want 2 and 1", n, e.State.ReviewIteration)
	}
	return r
}

// unhurried is longer than the pause between two edits of the status, so that every state
// of the session is shown.
const unhurried = "9"

func TestGitHub71ReferenceSessionStaysInBudget(t *testing.T) {
	t.Parallel()
	testfull.Only(t) // takes a minute
	r := reference(t, unhurried)
	looks := r.looks(1)
	r.github.AssertBudget(t, rigBot, fakehub.Budget{Requests: fakehub.Reference.Requests + looks, ContentWrites: fakehub.Reference.ContentWrites})
	t.Logf("%d requests, %d of them to hear comments, %g content writes", r.github.Requests(rigBot), looks, r.github.ContentWrites(rigBot))
}

// BenchmarkReferenceSession counts what a session shown on its issue asks of GitHub, and
// measures the whole command.
func BenchmarkReferenceSession(b *testing.B) {
	requests, looks, writes := 0, 0, 0.0
	for b.Loop() {
		r := reference(b, unhurried)
		requests, looks = max(requests, r.github.Requests(rigBot)-r.looks(1)), max(looks, r.looks(1))
		writes = max(writes, r.github.ContentWrites(rigBot))
		r.cleanUp()
	}
	b.ReportMetric(float64(requests), "requests")
	b.ReportMetric(float64(looks), "looks")
	b.ReportMetric(writes, "content-writes")
}

// looks is how many requests counted that listening for comments made, beside what sessions ask. It
// is an error if there was no reason for one: each of runs begins and ends with some, and
// otherwise only what changed since the look before is sent.
func (r *rig) looks(runs int) (n int) {
	r.t.Helper()
	for _, c := range r.github.Calls() {
		if c.Counted && c.Actor == rigBot && c.Method == http.MethodGet && lookRule.MatchString(c.Path) {
			n++
		}
	}
	changes := len(r.github.Log())
	for _, c := range r.github.Repo(rigRepo).Comments(1) {
		if c.Author != rigBot {
			changes++
		}
	}
	if most := 4*runs + changes; n > most {
		r.t.Errorf("%d looks for comments, with %d runs and %d changes:\n%s", n, runs, changes, r.github.Transcript())
	}
	return n
}

// lookRule fits the lists by which a live repository is watched, which have a budget of their own.
var lookRule = regexp.MustCompile(`/issues(/comments)?\?|/pulls/\d+/reviews\?|/pulls\?.*state=open`)
