package fakehub_test

import (
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestPicturesOfTheSameHistoryAreEqual(t *testing.T) {
	play := func(text string, extra ...string) string {
		s := world(t)
		for _, login := range extra {
			s.AddUser(fakehub.UserSpec{Login: login}) // shifts all ids
		}
		r := s.Repo(widgets)
		n := r.AddIssue(fakehub.IssueSpec{Title: "t", Body: "b", Author: "read"})
		r.Label(n, "one", "write")
		r.Comment(n, text, "write")
		return r.Picture()
	}
	equal(t, "other ids", play("a", "extra"), play("a"))
	if play("b") == play("a") {
		t.Error("another comment gives the same picture")
	}
}
