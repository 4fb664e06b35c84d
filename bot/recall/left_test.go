package recall_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/orchestrator"
)

// leaves has a host that is gone hold the issue, and returns what is left of it.
func (m *room) leaves(t *testing.T, trigger string) *orphan.Request {
	t.Helper()
	const gone = claim.HostID("a_7_1")
	if _, err := m.hub.Desk(gone).Take(t.Context(), claim.Want{Issue: issue, Session: public, Trigger: trigger, State: claim.Running}); err != nil {
		t.Fatal(err)
	}
	m.hub.Kill(gone)
	holder, left, err := m.Claims.Holder(t.Context(), issue)
	if err != nil || holder != "" || left == nil {
		t.Fatalf("%q, %+v, %v", holder, left, err)
	}
	return left
}

// What a host that is gone had claimed the issue for is found on the issue, on the pull request and among its reviews. If
// the session rests and did not get it, it is unheard. A session that is under way is judged by it, or by what it was asked
// for at first.
func TestWhatAHostLeftIsFound(t *testing.T) {
	const first = "label/agentmux/2026-11-21T10:04:31Z/9"
	works := func(s *orchestrator.State) {
		s.Phase, s.Outcome, s.LastEvent = "implementing", "", orchestrator.LastResumed
	}
	for name, c := range map[string]struct {
		do      func(m *room) (trigger string)
		by      string // who said it; empty: it is not found
		comment bool
		unheard bool
		judged  string // by which trigger; empty: that of the claim
	}{
		"a review": {func(m *room) string {
			return fmt.Sprint("review/", m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder."))
		}, "mia", false, true, ""},
		"a review that was taken": {func(m *room) string {
			source := fmt.Sprint("review/", m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder."))
			m.took("check/1/x," + source)
			return source
		}, "mia", false, false, ""},
		"a review that works": {func(m *room) string {
			m.change = works
			return fmt.Sprint("review/", m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder."))
		}, "mia", false, false, ""},
		"a review that is not there": {func(*room) string { return "review/77" }, "", false, true, ""},
		"a review that is not there, and works": {func(m *room) string {
			m.change = func(s *orchestrator.State) { works(s); s.Trigger = first }
			return "review/77"
		}, "", false, false, first},
		"a comment on the issue": {func(m *room) string {
			return fmt.Sprint("comment/", m.repo.Comment(issue, "/agentmux changes x", "mia"))
		}, "mia", true, true, ""},
		"a comment on the pull request": {func(m *room) string {
			return fmt.Sprint("comment/", m.repo.Comment(m.pull, "/agentmux changes x", "mia"))
		}, "mia", true, true, ""},
		"a comment that works": {func(m *room) string {
			m.change = works
			return fmt.Sprint("comment/", m.repo.Comment(m.pull, "/agentmux say x", "mia"))
		}, "mia", true, false, ""},
		"a comment that is not there": {func(*room) string { return "comment/77" }, "", false, true, ""},
		"a comment that asked for the session": {func(m *room) string {
			source := fmt.Sprint("comment/", m.repo.Comment(issue, "/agentmux retry", "mia"))
			m.change = func(s *orchestrator.State) { s.Trigger = orchestrator.Optional(source) }
			return source
		}, "mia", true, false, ""},
		"a label": {func(*room) string { return first }, "", false, false, ""},
		"no checkpoint": {func(m *room) string {
			m.none = true
			return fmt.Sprint("review/", m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder."))
		}, "", false, false, ""},
		"no pull request": {func(m *room) string {
			m.change = func(s *orchestrator.State) { s.Completion.PRNumber = 0 }
			return fmt.Sprint("review/", m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder."))
		}, "", false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRoom(t, marked)
			trigger := c.do(m)
			left := m.leaves(t, trigger)
			record, err := m.Client.Record(t.Context(), m.Repo, issue)
			if err == nil {
				err = m.Left(t.Context(), left, record)
			}
			if err != nil {
				t.Fatal(err)
			}
			by := ""
			if left.Said.Ask != nil {
				by = left.Said.Ask.By.Login
			}
			if c.judged == "" {
				c.judged = trigger
			}
			got := left.Said
			if by != c.by || (got.Comment != nil) != c.comment || got.Unheard != c.unheard || left.Trigger.String() != c.judged {
				t.Errorf("%+v by %q, judged by %s", got, by, left.Trigger)
			}
			if facts := left.Judged(gate.Facts{Record: record, Issue: issue}, nil); by != "" && (facts.Ask == nil || facts.Ask.By.Login != by) {
				t.Errorf("judged by %+v", facts.Ask)
			}
		})
	}
}

// A claim that a host left for a review leads to a round if the review still wants one. One that wants nothing any more is
// told of, unless the session got it.
func TestAReviewThatAHostLeftIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(m *room, id int64)
		want string
	}{
		"it wants a round":            {func(*room, int64) {}, "round"},
		"it was dismissed":            {func(m *room, _ int64) { m.repo.DismissReviews(m.pull) }, "over"},
		"its author approved then":    {func(m *room, _ int64) { m.repo.Review(m.pull, "mia", "APPROVED", "") }, "over"},
		"its author may not ask":      {func(m *room, _ int64) { m.repo.SetRole("mia", "read") }, "over"},
		"the follow-ups were stopped": {func(m *room, _ int64) { m.repo.Comment(m.pull, "/agentmux stop", "robot") }, "over"},
		"the session got it":          {func(m *room, id int64) { m.took(fmt.Sprint("review/", id)) }, ""},
		"the session works": {func(m *room, _ int64) {
			m.change = func(s *orchestrator.State) {
				s.Phase, s.Outcome, s.LastEvent = "implementing", "", orchestrator.LastResumed
			}
		}, "again"},
		"another host has it": {func(m *room, _ int64) { m.live() }, "again"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRoom(t, marked)
			m.Checks = false // none may come
			id := m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder.")
			m.now = m.now.Add(time.Hour)
			c.do(m, id)
			if !strings.Contains(name, "another host") {
				m.leaves(t, fmt.Sprint("review/", id))
			}
			w, err := m.Read(t.Context(), m.pull)
			got := ""
			switch {
			case w.Round == id:
				got = "round"
			case w.Over == id && w.By == "mia":
				got = "over"
			case w.Again != 0 && w.Over == 0:
				got = "again"
			}
			if err != nil || got != c.want {
				t.Errorf("%q, %+v, %v", got, w, err)
			}
		})
	}
}

// A claim that leads to nothing is given back. One that another host has taken meanwhile is that host's.
func TestAClaimThatLeadsToNothingIsGivenBack(t *testing.T) {
	m := newRoom(t, marked)
	left := m.leaves(t, "comment/77")
	free := func() error {
		return recall.Recaller{Claims: m.Claims, Log: m.Log}.Free(context.WithoutCancel(t.Context()), left)
	}
	if err := free(); err != nil || m.hub.Of(issue).ID != "" {
		t.Fatalf("%v, %+v", err, m.hub.Of(issue))
	}
	m.live()
	if err := free(); err != nil || m.hub.Of(issue).Claim.Host == "a_7_1" || m.hub.Of(issue).ID == "" {
		t.Errorf("%v, %+v", err, m.hub.Of(issue))
	}
}
