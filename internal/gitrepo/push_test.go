package gitrepo_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

func (s *server) remote() gitrepo.Remote {
	return gitrepo.Remote{
		URL: s.URL + "/o/r.git",
		Secret: func(context.Context) (string, error) {
			s.asked.Add(1)
			return serverPassword, nil
		},
	}
}

const branch = "refs/heads/agentmux/issue-1"

func (r *rig) commit(files map[string]string, parents ...string) string {
	r.t.Helper()
	w := r.workspaceAt("w"+strings.Join(parents, ""), parents[0])
	write(r.t, w, files)
	s, err := r.host.Snapshot(r.t.Context(), gitrepo.SnapshotSpec{Workspace: w, Index: gitrepo.WorkspaceIndex(w), Base: parents[0]})
	if err != nil {
		r.t.Fatal(err)
	}
	sha, err := r.host.Commit(r.t.Context(), gitrepo.CommitSpec{
		Tree: s.Tree, Parents: parents, Message: "work\n", Author: someone, Date: aDate,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := gitrepo.RemoveWorkspace(w); err != nil {
		r.t.Fatal(err)
	}
	return sha
}

func (r *rig) push(s *server, updates ...gitrepo.RefUpdate) error {
	_, err := r.host.Push(r.t.Context(), s.remote(), gitrepo.PushSpec{Updates: updates})
	return err
}

func TestPushMovesABranchForwardOnly(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	one := r.commit(map[string]string{"b": "b\n"}, r.base)
	two := r.commit(map[string]string{"c": "c\n"}, one)
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: one}); err != nil {
		t.Fatal(err)
	}
	if s.asked.Load() != 1 {
		t.Errorf("the password was asked for %d times in one push", s.asked.Load())
	}
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: one}); err != nil {
		t.Errorf("the same push again: %v", err)
	}
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: two, Old: one}); err != nil {
		t.Fatal(err)
	}
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: two, Old: one}); err != nil {
		t.Errorf("a push whose answer was lost, again: %v", err)
	}
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: one, Old: two}); !errors.Is(err, gitrepo.ErrRewrite) {
		t.Errorf("a push backwards: %v", err)
	}
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, Old: two}); !errors.Is(err, gitrepo.ErrRewrite) {
		t.Errorf("removal of a branch: %v", err)
	}
	if got := git(t, s.repo, "rev-parse", branch); got != two {
		t.Errorf("branch is at %s, want %s", got, two)
	}
}

func TestPushRefusesAStaleLease(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	one := r.commit(map[string]string{"b": "b\n"}, r.base)
	two := r.commit(map[string]string{"c": "c\n"}, one)
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: r.base}); err != nil {
		t.Fatal(err)
	}
	for _, u := range []gitrepo.RefUpdate{{Ref: branch, New: two, Old: one}, {Ref: branch, New: one}} {
		var refused *gitrepo.PushError
		if err := r.push(s, u); !errors.As(err, &refused) || refused.Kind != gitrepo.PushStale || refused.Ref != branch {
			t.Errorf("push of %+v: %v", u, err)
		}
	}
	if got := git(t, s.repo, "rev-parse", branch); got != r.base {
		t.Errorf("branch is at %s, want %s", got, r.base)
	}
}

func TestPushOfSeveralRefs(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	one := r.commit(map[string]string{"b": "b\n"}, r.base)
	claim := gitrepo.RefUpdate{Ref: "refs/agentmux/claims/1", New: one}
	if err := r.push(s, gitrepo.RefUpdate{Ref: "refs/agentmux/hosts/h", New: r.base}); err != nil {
		t.Fatal(err)
	}
	spec := gitrepo.PushSpec{Updates: []gitrepo.RefUpdate{claim, {Ref: "refs/agentmux/hosts/h", New: one}}, Atomic: true}
	var refused *gitrepo.PushError
	if _, err := r.host.Push(t.Context(), s.remote(), spec); !errors.As(err, &refused) || refused.Kind != gitrepo.PushStale {
		t.Errorf("atomic push with one stale lease: %v", err)
	}
	if got := git(t, s.repo, "for-each-ref", claim.Ref); got != "" {
		t.Errorf("the atomic push moved %s", got)
	}
	spec.Atomic = false
	results, err := r.host.Push(t.Context(), s.remote(), spec)
	if err == nil || len(results) != 2 || results[0] != nil || results[1] == nil {
		t.Errorf("push side by side: %v, %v", results, err)
	}
	if err := r.push(s, gitrepo.RefUpdate{Ref: claim.Ref, Old: one}); err != nil {
		t.Errorf("removal of a claim: %v", err)
	}
	if got := git(t, s.repo, "for-each-ref", claim.Ref); got != "" {
		t.Errorf("the claim is still there: %s", got)
	}
}

func TestPushRefusalsAreClassed(t *testing.T) {
	cases := map[string]struct {
		text string
		kind gitrepo.PushKind
	}{
		"workflow scope":    {"refusing to allow an OAuth App to create or update workflow `.github/workflows/a.yml` without `workflow` scope", gitrepo.PushWorkflows},
		"workflows for App": {"refusing to allow a GitHub App to create or update workflow `.github/workflows/a.yml` without `workflows` permission", gitrepo.PushWorkflows},
		"push protection":   {"error: GH013: Repository rule violations found for refs/heads/x.\n- GITHUB PUSH PROTECTION\n  Push cannot contain secrets\n  path: config/a.env:3", gitrepo.PushSecret},
		"rule set":          {"error: GH013: Repository rule violations found for refs/heads/x.\n- Changes must be made through a pull request.", gitrepo.PushRule},
		"protected branch":  {"error: GH006: Protected branch update failed for refs/heads/x.", gitrepo.PushRule},
		"anything else":     {"deny updating a hidden ref", gitrepo.PushOther},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
			s.hook(t, "cat >&2 <<'EOT'\n"+c.text+"\nEOT\nexit 1\n")
			var refused *gitrepo.PushError
			if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: r.base}); !errors.As(err, &refused) || refused.Kind != c.kind {
				t.Fatalf("got %v, want kind %s", err, c.kind)
			}
			if c.kind == gitrepo.PushSecret && refused.Place != "path: config/a.env:3" {
				t.Errorf("place is %q", refused.Place)
			}
			if c.kind == gitrepo.PushRule && !strings.Contains(refused.Text, "GH0") {
				t.Errorf("text lacks the rule: %q", refused.Text)
			}
		})
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
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: r.base}); err != nil {
		t.Fatalf("the ref is there, yet: %v", err)
	}
	if got := git(t, s.repo, "rev-parse", branch); got != r.base {
		t.Errorf("branch is at %s", got)
	}
}

func TestPushToAServerThatIsDownIsNetwork(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	s.Close()
	var refused *gitrepo.PushError
	if err := r.push(s, gitrepo.RefUpdate{Ref: branch, New: r.base}); !errors.As(err, &refused) || refused.Kind != gitrepo.PushNetwork {
		t.Fatalf("got %v", err)
	}
}

func TestPushWithAWrongPasswordIsDenied(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	remote := s.remote()
	remote.Secret = func(context.Context) (string, error) { return "wrong-password-entirely", nil }
	_, err := r.host.Push(t.Context(), remote, gitrepo.PushSpec{Updates: []gitrepo.RefUpdate{{Ref: branch, New: r.base}}})
	var refused *gitrepo.PushError
	if !errors.As(err, &refused) || refused.Kind != gitrepo.PushDenied || strings.Contains(err.Error(), "wrong-password") {
		t.Fatalf("got %v", err)
	}
}
