package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// handOverBudget is how many requests section 11 allows a session with one hand-over, those of both jobs together. What watches
// the lists of a live repository has a budget of its own.
const handOverBudget = 30

// requested is what a job asks of GitHub, and which rule of github.md asks for it. The first that fits a request counts.
var requested = []struct{ request, why string }{
	{`^POST \S+ Gate$`, "3: judged and used; read once more when the claim is held, by the first host alone (5: nobody served it before)"},
	{`^GET \S+/collaborators/\w+/permission$`, "3, row 12, and anew before the first push (5.5), which costs nothing while it is the same"},
	{`^GET \S+/pulls\?head=`, "9: an open one is adopted, a closed one asks"},
	{`^POST \S+/pulls$`, "9"},
	{`^POST \S+ MarkReady$`, "9: it was opened as a draft"},
	{`^POST \S+/requested_reviewers$`, "9: the requester"},
	{`^POST \S+/statuses/\w+$`, "9: the verdict on the head"},
	{`^POST \S+/issues/\d+/labels$`, "6: the new state label first"},
	{`^DELETE \S+/issues/\d+/labels/`, "6: then the old one and the request label off"},
	{`^POST \S+/issues/\d+/comments$`, "7: status, round, question, end"},
	{`^PATCH \S+/issues/comments/\d+$`, "7: the status says something else"},
	{`^GET \S+/issues/\d+/comments\?.*since=`, "7.3: another host may have made more comments than its checkpoint knows"},
	{`^POST \S+/issues/comments/\d+/reactions$`, "8: receipts"},
}

// TestJobHandOverStaysInBudget is the row of github section 11 about a job with one hand-over, of a short session, of one that
// is parked with a question, and of the one by which costs are compared. With -v it prints each request with its reason.
func TestJobHandOverStaysInBudget(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		most int
		run  func(t *testing.T) *runner
	}{
		"a short session": {most: 20, run: func(t *testing.T) *runner {
			at := filepath.Join(t.TempDir(), "at")
			r := newRunner(t, rigOptions{playbook: waitingAt(at), config: atGitHubsPace})
			r.handsOver("agentmux:quick", at)
			r.continued()
			return r
		}},
		"a question": {most: handOverBudget, run: func(t *testing.T) *runner {
			r := newRunner(t, rigOptions{playbook: parkedPlaybook, config: parksSoon + atGitHubsPace})
			repo := r.github.Repo(rigRepo)
			repo.Label(1, "agentmux:quick", rigOwner)
			r.event("issues", labelEventNow("agentmux:quick"))
			r.expect(0, "issue", "1", "--headless")
			repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
			r.anotherRunner(79)
			repo.Comment(1, "/agentmux answer 2", rigOwner)
			r.event("issue_comment", commentEvent("/agentmux answer 2"))
			r.expect(0, "issue", "1", "--headless")
			return r
		}},
		"the reference": {most: handOverBudget, run: func(t *testing.T) *runner {
			at := filepath.Join(t.TempDir(), "at")
			r := newRunner(t, rigOptions{playbook: heldReference(at), config: atGitHubsPace})
			r.handsOver("agentmux", at)
			r.continued()
			return r
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.run(t)
			if got := r.result(); got.Outcome != "done" {
				t.Errorf("result %+v", got)
			}
			requests, looks := r.asked()
			if requests > c.most {
				t.Errorf("%d requests, at most %d", requests, c.most)
			}
			t.Logf("%d requests, and %d to watch the lists of the repository", requests, looks)
			r.explain(t)
		})
	}
}

// atGitHubsPace has the pace that GitHub asks for: a budget is kept at that one.
const atGitHubsPace = "github: {write_interval: 1s}\n"

// heldReference is the run by which costs are compared, whose coder of the fix makes the file of waitingAt and then waits.
func heldReference(file string) string {
	const writes = "      - write: {file: b.txt, text: \"two\\n\"}\n"
	waits := fmt.Sprintf("      - run: {argv: [touch, %q]}\n      - run: {argv: [sh, -c, 'until [ -e \"$0\" ]; do sleep 0.05; done', %q]}\n", file, file+".never")
	return strings.Replace(referencePlaybook(unhurried), writes, waits+writes, 1)
}

// labelEventNow is labelEvent with the time of the label, as GitHub gives it.
func labelEventNow(name string) string {
	return strings.Replace(labelEvent(name), `"number":1`, fmt.Sprintf(`"number":1,"updated_at":%q`, time.Now().UTC().Format(time.RFC3339)), 1)
}

// explain logs each request that counts with its reason, and fails for one that has none.
func (r *runner) explain(t *testing.T) {
	t.Helper()
	var began time.Time
	for _, c := range r.github.Calls() {
		if !c.Counted || c.Actor != jobActor {
			continue
		}
		if began.IsZero() {
			began = c.Time
		}
		what, why := strings.TrimSpace(c.Method+" "+c.Path+" "+c.Operation), "watches"
		if !lookRule.MatchString(c.Path) {
			why = ""
			for _, known := range requested {
				if regexp.MustCompile(known.request).MatchString(what) {
					why = known.why
					break
				}
			}
		}
		t.Logf("%6.2f %s: %s", c.Time.Sub(began).Seconds(), what, why)
		if why == "" {
			t.Errorf("no rule asks for %s", what)
		}
	}
}
