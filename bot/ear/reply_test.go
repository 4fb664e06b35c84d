package ear_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
)

// A refused command that no session shows gets its reason in words before the thumb down; one that a session shows, or of a person
// without write permission, does not.
func TestSecurity26ARefusalThatNoSessionShowsIsReplied(t *testing.T) {
	s := newScene(t)
	s.want(s.say("/agentmux fly", "rea"), "", "")
	const reason = "no session works on this issue: retry begins one"
	s.want(s.say("/agentmux pause", "wil"), "-1", reason)
	if want := []string{"wil: " + reason}; !slices.Equal(s.replies, want) {
		t.Errorf("replies %q, want %q", s.replies, want)
	}
	s.start()
	s.want(s.say("/agentmux stopp", "wil"), "-1", "there is no command stopp: did you mean stop?")
	if len(s.replies) != 1 {
		t.Errorf("replies %q", s.replies)
	}
}

// A retry that the gate refuses gets its reason in words, each time, where no session shows it and no refusal was written for it.
func TestSecurity26ARefusedRetryIsReplied(t *testing.T) {
	s := newScene(t)
	s.decision = gate.Decision{Row: gate.RowEdited, What: gate.Refuse, Reason: "no", Remedy: "ask"}
	for range 2 {
		s.want(s.say("/agentmux retry", "wil"), "-1", "no; ask")
	}
	if want := []string{"wil: no; ask", "wil: no; ask"}; !slices.Equal(s.replies, want) {
		t.Errorf("replies %q, want %q", s.replies, want)
	}
	// It was decided by a process that was killed before it gave the receipt.
	s.decision = gate.Decision{Row: gate.RowDecided, What: gate.Ignore}
	for comment, want := range map[int64]int{0: 3, 7: 3} {
		s.at = func(step string) {
			if step != "retry" {
				return
			}
			trigger := gate.CommentTrigger(s.newest())
			for _, r := range []journal.Record{
				journal.Decided{Issue: s.issue, Trigger: trigger, Row: gate.RowBase, What: gate.Refuse, Reason: "bad"}, journal.Told{Issue: s.issue, Trigger: trigger, Comment: comment},
			} {
				if _, err := s.journal.Append(r); err != nil {
					t.Error(err)
				}
			}
		}
		s.want(s.say("/agentmux retry", "wil"), "-1", "bad")
		if len(s.replies) > want {
			t.Errorf("replies %q", s.replies)
		}
	}
	if len(s.replies) != 3 {
		t.Errorf("replies %q", s.replies)
	}
}

// newest is the id of the newest comment on the issue.
func (s *scene) newest() int64 {
	all := s.repo.Comments(s.issue)
	return all[len(all)-1].ID
}

// A reply waits for the claim, and is tried again; the receipt waits for the reply.
func TestSecurity26AReplyIsTriedAgain(t *testing.T) {
	s := newScene(t)
	s.guard = errors.New("the claim is lost")
	id := s.say("/agentmux pause", "wil")
	if len(s.replies) > 0 || s.receipts(id) != "" {
		t.Fatalf("replies %q, receipts %q", s.replies, s.receipts(id))
	}
	s.guard, s.replyErr = nil, errors.New("no connection")
	s.pass(time.Minute)
	s.hear()
	s.replyErr = nil
	s.pass(time.Hour)
	s.hear()
	if s.receipts(id) != "-1" {
		t.Errorf("replies %q, receipts %q", s.replies, s.receipts(id))
	}
}
