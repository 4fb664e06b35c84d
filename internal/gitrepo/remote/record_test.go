package remote_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestRecordsTravelByTheServer(t *testing.T) {
	mine, theirs, s := newRig(t, nil), newRig(t, nil), newServer(t)
	const dir, ref = "refs/agentmux/claims", "refs/agentmux/claims/12"
	put := func(r *rig, text, parent string) (string, error) {
		t.Helper()
		id, err := remote.WriteRecord(t.Context(), r.Store, text, parent, repotest.Date)
		if err != nil {
			t.Fatal(err)
		}
		return id, r.push(s, remote.RefUpdate{Ref: ref, New: id, Old: parent})
	}
	read := func(r *rig) []remote.Record {
		t.Helper()
		list, err := s.remote().Records(t.Context(), r.Store, dir+"/")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := read(theirs); len(got) != 0 {
		t.Errorf("before the first: %+v", got)
	}
	first, err := put(mine, `{"host":"h_1"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(theirs, `{"host":"h_2"}`, ""); err == nil {
		t.Error("a second claim was taken")
	}
	want := []remote.Record{{Ref: ref, ID: first, Text: `{"host":"h_1"}`}}
	if got := read(theirs); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	stolen, err := put(theirs, `{"host":"h_2","gen":2}`, first)
	if err != nil {
		t.Fatal(err)
	}
	want = []remote.Record{{Ref: ref, ID: stolen, Parent: first, Text: `{"host":"h_2","gen":2}`}}
	if got := read(mine); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := theirs.push(s, remote.RefUpdate{Ref: ref, Old: stolen}); err != nil {
		t.Fatal(err)
	}
	if got := read(mine); len(got) != 0 {
		t.Errorf("after the release: %+v", got)
	}
	for _, bad := range []string{"", "two\nlines", strings.Repeat("x", 2049)} {
		if _, err := remote.WriteRecord(t.Context(), mine.Store, bad, "", repotest.Date); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
	}
}
