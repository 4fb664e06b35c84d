package ear_test

import (
	"errors"
	"slices"
	"testing"
	"time"
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
