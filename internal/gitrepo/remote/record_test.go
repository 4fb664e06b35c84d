package remote_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestRecordsTravelByTheServer(t *testing.T) {
	mine, theirs, s := newRig(t, nil), newRig(t, nil), newServer(t)
	const ref = "refs/agentmux/claims/12"
	put := func(r *rig, text, parent string) (string, error) {
		t.Helper()
		id, err := remote.WriteRecord(t.Context(), r.Store, text, parent, repotest.Date)
		if err != nil {
			t.Fatal(err)
		}
		return id, r.push(s, remote.RefUpdate{Ref: ref, New: id, Old: parent})
	}
	read := func(r *rig, commits ...string) map[string]string {
		t.Helper()
		texts, err := s.remote().Texts(t.Context(), r.Store, commits)
		if err != nil {
			t.Fatal(err)
		}
		return texts
	}
	first, err := put(mine, `{"host":"h_1"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	var refused *remote.PushError
	if _, err := put(theirs, `{"host":"h_2"}`, ""); !errors.As(err, &refused) || refused.Now == nil || *refused.Now != first {
		t.Errorf("a second claim: %v", err)
	}
	if got := read(theirs, first); !maps.Equal(got, map[string]string{first: `{"host":"h_1"}`}) {
		t.Errorf("got %v", got)
	}
	stolen, err := put(theirs, `{"host":"h_2","gen":2}`, first)
	if err != nil {
		t.Fatal(err)
	}
	work := repotest.Git(t, mine.Clone, "commit-tree", "-m", "two\n\nlines", gitrepo.EmptyTree)
	repotest.Git(t, mine.Clone, "push", "-q", s.repo, work+":refs/agentmux/claims/13")
	want := map[string]string{first: `{"host":"h_1"}`, stolen: `{"host":"h_2","gen":2}`}
	if got := read(mine, stolen, first, work); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := repotest.Git(t, mine.Store.Dir(), "for-each-ref", "refs/agentmux/claims"); got != "" {
		t.Errorf("refs were made: %s", got)
	}
	if _, err := s.remote().Texts(t.Context(), mine.Store, []string{strings.Repeat("1", 40)}); err == nil {
		t.Error("a commit that the server lacks was read")
	}
	if err := theirs.push(s, remote.RefUpdate{Ref: ref, Old: stolen}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "two\nlines", strings.Repeat("x", 2049)} {
		if _, err := remote.WriteRecord(t.Context(), mine.Store, bad, "", repotest.Date); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
}
