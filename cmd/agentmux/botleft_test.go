package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Case 82: an answer comes when the host of the session is dead, which no other one can tell for ten minutes. A bot that saw
// the comment leaves it to that host for its minute, and gives the answer once the claim is left, to the session that it
// continues.
func TestGitHub82AnAnswerToABotThatIsGone(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	later := &atomic.Int64{}
	o := rigOptions{playbook: parkedPlaybook, unlabel: true, config: botConfig, github: fakehub.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(later.Load()-600) * time.Second) },
	}}
	first := newRig(t, o)
	first.saveOften()
	repo := first.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	gone := first.background("bot")
	first.eventually("the question is on the issue", func() bool { return first.says("Reply: `/agentmux answer q1 <number or text>`") }, gone.out.String)
	e := first.served(rigRepo)[0]
	first.eventually("the question is in the checkpoint", func() bool {
		_, m, _ := first.saved(e)
		return m.Record >= first.recordOf(e, orchestrator.EvQuestionAsked)
	}, gone.out.String)
	gone.exit(syscall.SIGKILL)

	second := first.elsewhere(o)
	b := second.background("bot")
	answer := repo.Comment(1, "/agentmux answer 2", rigOwner)
	reactions := fmt.Sprintf("/issues/comments/%d/reactions", answer)
	second.eventually("the answer had its minute", func() bool {
		later.Add(1)
		return slices.ContainsFunc(first.github.Calls(), func(c fakehub.Request) bool { return c.Method == http.MethodGet && strings.Contains(c.Path, reactions) })
	}, b.out.String)
	if got := first.receipts(answer); got != "" {
		t.Fatalf("the answer has %q while another host has the issue", got)
	}
	first.asJob("a_999_1")
	status := repo.Comment(1, "/agentmux status", rigOwner)
	second.eventually("it is done", func() bool { return second.isDone(rigRepo, 1) && second.claimRef() == "" }, b.out.String)
	second.eventually("both have their receipts", func() bool {
		return first.receipts(answer) == "eyes +1" && strings.Contains(first.receipts(status), "+1")
	}, func() string { return first.receipts(answer) + ", " + first.receipts(status) })
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	entries := second.served(rigRepo)
	if len(entries) != 1 || entries[0].State.Identity != e.State.Identity {
		t.Fatalf("sessions %+v", entries)
	}
	second.done(entries[0])
}

// recordOf is the number of the first record of a type.
func (r *rig) recordOf(e session.Entry, kind string) int {
	r.t.Helper()
	s, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	records, _, err := s.Events(0)
	i := slices.IndexFunc(records, func(record orchestrator.Event) bool { return record.Type == kind })
	if err != nil || i < 0 {
		r.t.Fatalf("no record %s: %v", kind, err)
	}
	return records[i].Seq
}
