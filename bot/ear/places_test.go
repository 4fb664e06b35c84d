package ear_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
)

// An owner, or a repository, may be called pull: what is said on its issues is said on issues.
func TestACommandInARepositoryCalledPull(t *testing.T) {
	for _, name := range []string{"pull/widgets", "octo/pull"} {
		s := newScene(t)
		s.start()
		s.comment("/agentmux pause", "wil")
		comments, _, err := ghsync.Intake{Client: s.client}.RecentComments(t.Context(), octoWidgets, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range comments {
			comments[i].URL = strings.Replace(comments[i].URL, widgets, name, 1)
		}
		s.ear.Hear(comments...)
		s.ear.Step(t.Context())
		if got := s.commands(); len(got) != 1 || got[0].Name != "pause" {
			t.Errorf("%s: commands %+v", name, got)
		}
	}
}

// A person whose token the bot uses sees a review of their own that is not submitted: it is heard when it is.
func TestAReviewIsHeardOnceItIsSubmitted(t *testing.T) {
	s := newScene(t)
	s.start()
	s.review("fine", "wil")
	s.repo.Review(s.subject.Pull, "wil", "COMMENTED", "/agentmux pause")
	all, err := ghsync.Intake{Client: s.client}.Reviews(t.Context(), octoWidgets, s.subject.Pull)
	if err != nil {
		t.Fatal(err)
	}
	r := all[len(all)-1]
	pending := r
	pending.State, pending.SubmittedAt = "PENDING", r.SubmittedAt.AddDate(-1, 0, 0)
	s.ear.HearReviews(s.subject.Pull, pending)
	s.ear.Step(t.Context())
	if c, judged := s.journal.Command(fmt.Sprint("review/", r.ID)); judged {
		t.Fatalf("judged before: %+v", c)
	}
	s.ear.HearReviews(s.subject.Pull, r)
	s.ear.Step(t.Context())
	if got := s.commands(); len(got) != 1 || got[0].Name != "pause" {
		t.Errorf("commands %+v", got)
	}
}
