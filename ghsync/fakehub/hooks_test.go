package fakehub_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// listener collects deliveries as "event action signature".
func listener(t *testing.T, secret string) (url string, got chan string) {
	t.Helper()
	got = make(chan string, 1000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short body fails the signature
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		verdict := "good"
		switch r.Header.Get("X-Hub-Signature-256") {
		case "sha256=" + hex.EncodeToString(mac.Sum(nil)):
		case "":
			verdict = "none"
		default:
			verdict = "bad"
		}
		var in struct {
			Action  string
			Comment struct{ Body string }
		}
		_ = json.Unmarshal(body, &in)
		got <- strings.Join([]string{r.Header.Get("X-GitHub-Event"), in.Action, in.Comment.Body, verdict}, " ")
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

// deliver writes comments under a plan and returns what arrived.
func deliver(t *testing.T, spec fakehub.HookSpec, comments string) []string {
	t.Helper()
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	url, got := listener(t, "sixteen characters")
	spec.URL, spec.Secret = url, "sixteen characters"
	s.SendHooks(spec)
	for _, text := range comments {
		r.Comment(n, string(text), "read")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.FlushHooks(ctx); err != nil {
		t.Fatal(err)
	}
	close(got)
	var list []string
	for line := range got {
		list = append(list, line)
	}
	return list
}

func TestHooksAreSignedAndInOrder(t *testing.T) {
	got := deliver(t, fakehub.HookSpec{}, "abc")
	want := []string{"issue_comment created a good", "issue_comment created b good", "issue_comment created c good"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestHooksGetLostDoubledShuffledAndForged(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	if got := deliver(t, fakehub.HookSpec{Drop: 1}, letters); len(got) != 0 {
		t.Errorf("none lost: %q", got)
	}
	if got := deliver(t, fakehub.HookSpec{Double: 1}, letters); len(got) != 2*len(letters) {
		t.Errorf("%d deliveries", len(got))
	}
	shuffled := deliver(t, fakehub.HookSpec{Window: 8}, letters)
	if len(shuffled) != len(letters) || slices.IsSorted(shuffled) {
		t.Errorf("in order: %q", shuffled)
	}
	for what, spec := range map[string]fakehub.HookSpec{"bad": {BadSignature: 1}, "none": {SHA1Only: true}} {
		for _, line := range deliver(t, spec, "ab") {
			if !strings.HasSuffix(line, what) {
				t.Errorf("%s: %q", what, line)
			}
		}
	}
}

func TestHooksTellOfLabelsPullsAndPushes(t *testing.T) {
	s := world(t)
	url, got := listener(t, "sixteen characters")
	s.SendHooks(fakehub.HookSpec{URL: url, Secret: "sixteen characters"})
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	r.Label(n, "agentmux", "write")
	dir := checkout(t, s, "write", "fix")
	mustGit(t, dir, "push", "-q", "origin", "fix")
	as(t, s, "write").want(201, "POST", "/repos/octo/widgets/pulls", pullBody("fix", false))
	statuses, err := s.FlushHooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for range statuses {
		list = append(list, strings.Join(strings.Fields(<-got), " "))
	}
	equal(t, "events", strings.Join(list, ", "), "issues opened good, issues labeled good, push good, pull_request opened good")
}
