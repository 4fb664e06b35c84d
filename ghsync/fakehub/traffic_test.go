package fakehub_test

import (
	"net/http"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestTrafficIsWrittenDown(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(fakehub.TrafficVar, dir)
	s := world(t, func(o *fakehub.Options) { o.Enterprise = true })
	n := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c := as(t, s, "write")
	c.want(201, "POST", "/repos/octo/widgets/issues/1/comments", map[string]any{"body": "b"})
	s.Inject(fakehub.Fault{Status: 502})
	c.want(502, "GET", "/repos/octo/widgets/issues/1?x=y", nil)
	if n != 1 {
		t.Fatalf("issue %d", n)
	}
	got := exchanges(t)
	if len(got) != 2 {
		t.Fatalf("written down: %+v", got)
	}
	post, get := got[0], got[1]
	if post.Method != http.MethodPost || post.URL != "/repos/octo/widgets/issues/1/comments" || post.Body != `{"body":"b"}` || post.Status != 201 || post.Answer == "" || post.Fault {
		t.Errorf("the comment: %+v", post)
	}
	if get.URL != "/repos/octo/widgets/issues/1?x=y" || get.Status != 502 || !get.Fault {
		t.Errorf("the fault: %+v", get)
	}
}
