package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// An issue with a title of 300 emoji, a body of 1 MiB, 4,000 comments (-short: 320) and 200 labels, by an account that is
// deleted, is judged as any other, becomes a snapshot within its caps, and gives a session a name.
func TestAnIssueThatIsLargeInEveryWayIsWorkedOn(t *testing.T) {
	comments := 4000
	if testing.Short() {
		comments = 320
	}
	both(t, func(t *testing.T, h *hub) {
		spec := fakehub.IssueSpec{Title: strings.Repeat("🙂", 300), Body: strings.Repeat("word ", 1<<20/5), Author: "gone"}
		for n := range 200 {
			spec.Labels = append(spec.Labels, fmt.Sprintf("area-%03d", n))
		}
		h.issue = h.repo.AddIssue(spec)
		h.server.DeleteUser("gone")
		for n := range comments {
			author := "stranger"
			if n%40 == 0 {
				author = "write"
			}
			h.repo.Comment(h.issue, fmt.Sprint("comment ", n), author)
		}
		h.pass(time.Minute)
		h.repo.Label(h.issue, "agentmux", "write")
		f := h.facts()
		if f.RecordErr != nil {
			t.Fatal(f.RecordErr)
		}
		d := h.decide()
		if verdict(d) != "start 18" {
			t.Fatalf("%s: %s", verdict(d), d)
		}
		s, err := h.client.TakeSnapshot(t.Context(), ghsync.SnapshotSpec{
			Repo: f.Repo, Issue: h.issue, CutOff: d.Asked.CutOff, Trigger: d.Asked.Trigger.String(), Requester: d.Asked.By, Record: &f.Record,
		})
		if err != nil {
			t.Fatal(err)
		}
		total := len(s.Title.String()) + len(s.Body.String())
		for _, c := range s.Comments {
			total += len(c.Body.String())
		}
		if newest := s.Comments[len(s.Comments)-1].Body.String(); newest != fmt.Sprint("comment ", comments-40) {
			t.Errorf("the newest comment of somebody who may steer is %q", newest)
		}
		if total > 128<<10 || len(s.Body.String()) > 64<<10 || s.Report.CutBytes < 900<<10 {
			t.Errorf("%d bytes, %d of the body, %d cut", total, len(s.Body.String()), s.Report.CutBytes)
		}
		if name := ticket.FreeName(t.TempDir(), h.issue, s.Title.String(), h.now); len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return r > 127 }) {
			t.Errorf("name %q", name)
		}
	})
}

// Labels of others that come and go after the request hide neither the request nor what was changed
// after it, and cost no request more while they are few.
func TestManyEventsHideNoRequest(t *testing.T) {
	both(t, func(t *testing.T, h *hub) {
		h.repo.Label(h.issue, "agentmux:quick", "write")
		churn := func(times int) {
			for range times {
				h.pass(time.Second)
				h.repo.Label(h.issue, "noise", "triage")
				h.repo.Unlabel(h.issue, "noise", "triage")
			}
		}
		churn(49)
		before := len(h.server.Calls())
		if d := h.decide(); verdict(d) != "start 18" || d.Asked.Workflow != "quick" {
			t.Fatalf("few events: %s: %s", verdict(d), d)
		}
		few := len(h.server.Calls()) - before
		churn(150)
		if d := h.decide(); verdict(d) != "start 18" || d.Asked.By.Account.Login != "write" {
			t.Fatalf("many events: %s: %s", verdict(d), d)
		}
		if many := len(h.server.Calls()) - before - few; many > few+4 {
			t.Errorf("%d requests, %d for few events", many, few)
		}
		title := "Add retry and a back door"
		h.repo.EditIssue(h.issue, "stranger", &title, nil)
		churn(150)
		if d := h.decide(); verdict(d) != "refuse 14" {
			t.Errorf("a title that was changed: %s: %s", verdict(d), d)
		}
	})
}
