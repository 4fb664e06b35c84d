package remote_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func (s *server) remote() remote.Repository {
	return remote.Repository{
		URL: s.URL + "/o/r.git",
		Secret: func(context.Context) (string, error) {
			s.asked.Add(1)
			return serverPassword, nil
		},
	}
}

const branch = "refs/heads/agentmux/issue-1"

func (r *rig) push(s *server, updates ...remote.RefUpdate) error {
	_, err := s.remote().Push(r.T.Context(), r.Store, remote.PushSpec{Updates: updates})
	return err
}

func TestPushMovesABranchForwardOnly(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	one := r.Commit(map[string]string{"b": "b\n"}, r.Base)
	two := r.Commit(map[string]string{"c": "c\n"}, one)
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: one}); err != nil {
		t.Fatal(err)
	}
	if s.asked.Load() != 1 {
		t.Errorf("the password was asked for %d times in one push", s.asked.Load())
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: one}); err != nil {
		t.Errorf("the same push again: %v", err)
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: two, Old: one}); err != nil {
		t.Fatal(err)
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: two, Old: one}); err != nil {
		t.Errorf("a push whose answer was lost, again: %v", err)
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: one, Old: two}); !errors.Is(err, remote.ErrRewrite) {
		t.Errorf("a push backwards: %v", err)
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, Old: two}); !errors.Is(err, remote.ErrRewrite) {
		t.Errorf("removal of a branch: %v", err)
	}
	if got := repotest.Git(t, s.repo, "rev-parse", branch); got != two {
		t.Errorf("branch is at %s, want %s", got, two)
	}
}

func TestPushRefusesAStaleLease(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	one := r.Commit(map[string]string{"b": "b\n"}, r.Base)
	two := r.Commit(map[string]string{"c": "c\n"}, one)
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: r.Base}); err != nil {
		t.Fatal(err)
	}
	for _, u := range []remote.RefUpdate{{Ref: branch, New: two, Old: one}, {Ref: branch, New: one}} {
		var refused *remote.PushError
		if err := r.push(s, u); !errors.As(err, &refused) || refused.Kind != remote.PushStale || refused.Ref != branch {
			t.Errorf("push of %+v: %v", u, err)
		}
	}
	if got := repotest.Git(t, s.repo, "rev-parse", branch); got != r.Base {
		t.Errorf("branch is at %s, want %s", got, r.Base)
	}
}

func TestPushOfSeveralRefs(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	one := r.Commit(map[string]string{"b": "b\n"}, r.Base)
	claim := remote.RefUpdate{Ref: "refs/agentmux/claims/1", New: one}
	if err := r.push(s, remote.RefUpdate{Ref: "refs/agentmux/hosts/h", New: r.Base}); err != nil {
		t.Fatal(err)
	}
	spec := remote.PushSpec{Updates: []remote.RefUpdate{claim, {Ref: "refs/agentmux/hosts/h", New: one}}, Atomic: true}
	var refused *remote.PushError
	if _, err := s.remote().Push(t.Context(), r.Store, spec); !errors.As(err, &refused) || refused.Kind != remote.PushStale {
		t.Errorf("atomic push with one stale lease: %v", err)
	}
	if got := repotest.Git(t, s.repo, "for-each-ref", claim.Ref); got != "" {
		t.Errorf("the atomic push moved %s", got)
	}
	spec.Atomic = false
	results, err := s.remote().Push(t.Context(), r.Store, spec)
	if err == nil || len(results) != 2 || results[0] != nil || results[1] == nil {
		t.Errorf("push side by side: %v, %v", results, err)
	}
	if err := r.push(s, remote.RefUpdate{Ref: claim.Ref, Old: one}); err != nil {
		t.Errorf("removal of a claim: %v", err)
	}
	if got := repotest.Git(t, s.repo, "for-each-ref", claim.Ref); got != "" {
		t.Errorf("the claim is still there: %s", got)
	}
}

func TestPushRefusalsAreClassed(t *testing.T) {
	cases := map[string]struct {
		text string
		kind remote.PushKind
	}{
		"workflow scope":    {"refusing to allow an OAuth App to create or update workflow `.github/workflows/a.yml` without `workflow` scope", remote.PushWorkflows},
		"workflows for App": {"refusing to allow a GitHub App to create or update workflow `.github/workflows/a.yml` without `workflows` permission", remote.PushWorkflows},
		"push protection":   {"error: GH013: Repository rule violations found for refs/heads/x.\n- GITHUB PUSH PROTECTION\n  Push cannot contain secrets\n  path: config/a.env:3", remote.PushSecret},
		"rule set":          {"error: GH013: Repository rule violations found for refs/heads/x.\n- Changes must be made through a pull request.", remote.PushRule},
		"protected branch":  {"error: GH006: Protected branch update failed for refs/heads/x.", remote.PushRule},
		"in the way":        {"GH0: refs/heads/x (directory file conflict)", remote.PushRule},
		"hidden ref":        {"deny updating a hidden ref", remote.PushHidden},
		"anything else":     {"no", remote.PushHook},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
			s.hook(t, "cat >&2 <<'EOT'\n"+c.text+"\nEOT\nexit 1\n")
			var refused *remote.PushError
			if err := r.push(s, remote.RefUpdate{Ref: branch, New: r.Base}); !errors.As(err, &refused) || refused.Kind != c.kind {
				t.Fatalf("got %v, want kind %s", err, c.kind)
			}
			if c.kind == remote.PushSecret && refused.Place != "path: config/a.env:3" {
				t.Errorf("place is %q", refused.Place)
			}
			if c.kind == remote.PushRule && !strings.Contains(refused.Text, "GH0") {
				t.Errorf("text lacks the rule: %q", refused.Text)
			}
		})
	}
}

// A branch that is called like the directory of another is in the way of it for good, as a rule is: to look where the
// other one is, and to push again, is in vain.
func TestABranchInTheWayIsNoRace(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	if err := r.push(s, remote.RefUpdate{Ref: "refs/heads/agentmux", New: r.Base}); err != nil {
		t.Fatal(err)
	}
	var refused *remote.PushError
	err := r.push(s, remote.RefUpdate{Ref: "refs/heads/agentmux/issue-12-add-retry", New: r.Base})
	if !errors.As(err, &refused) || refused.Kind != remote.PushRule || !strings.Contains(refused.Text, "refs/heads/agentmux") {
		t.Errorf("got %v", err)
	}
}

func TestPushWhoseAnswerIsLostCounts(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	s.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !strings.HasSuffix(req.URL.Path, "/git-receive-pack") || req.ContentLength == 4 {
				next.ServeHTTP(w, req)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), req)
			panic(http.ErrAbortHandler)
		})
	}
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: r.Base}); err != nil {
		t.Fatalf("the ref is there, yet: %v", err)
	}
	if got := repotest.Git(t, s.repo, "rev-parse", branch); got != r.Base {
		t.Errorf("branch is at %s", got)
	}
}

func TestPushToAServerThatIsDownIsNetwork(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	s.Close()
	var refused *remote.PushError
	if err := r.push(s, remote.RefUpdate{Ref: branch, New: r.Base}); !errors.As(err, &refused) || refused.Kind != remote.PushNetwork {
		t.Fatalf("got %v", err)
	}
}

func TestPushWithAWrongPasswordIsDenied(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	far := s.remote()
	far.Secret = func(context.Context) (string, error) { return "wrong-password-entirely", nil }
	_, err := far.Push(t.Context(), r.Store, remote.PushSpec{Updates: []remote.RefUpdate{{Ref: branch, New: r.Base}}})
	var refused *remote.PushError
	if !errors.As(err, &refused) || refused.Kind != remote.PushDenied || strings.Contains(err.Error(), "wrong-password") {
		t.Fatalf("got %v", err)
	}
}
