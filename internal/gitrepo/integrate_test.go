package gitrepo_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

func TestIntegrateMergesParallelResults(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n2\n3\n", "b": "b\n", "c": "c\n"})
	one, two := r.workspace("1"), r.workspace("2")
	write(t, one, map[string]string{"a": "one\n2\n3\n", "d": "d\n"})
	write(t, two, map[string]string{"b": "two\n"})
	remove(t, two, "c")

	first, err := r.integrate(one, "l-1", r.base)
	if err != nil || len(first.Conflicts) > 0 {
		t.Fatalf("first: %+v, %v", first, err)
	}
	second, err := r.integrate(two, "l-2", first.Commit)
	if err != nil || len(second.Conflicts) > 0 {
		t.Fatalf("second: %+v, %v", second, err)
	}
	if !slices.Equal(second.Files, []string{"b", "c"}) {
		t.Errorf("second changed %q", second.Files)
	}
	want := map[string]string{"a": "100644 one\n2\n3\n", "b": "100644 two\n", "d": "100644 d\n"}
	if got := r.tree(second.Commit); len(got) != 3 || got["a"] != want["a"] || got["b"] != want["b"] || got["d"] != want["d"] {
		t.Errorf("merged tree is %q", got)
	}
	if head := must(r.host.Ref(t.Context(), gitrepo.IntegrationRef("s1"))); head != second.Commit {
		t.Errorf("head is %s, want %s", head, second.Commit)
	}
	for launch, want := range map[string]gitrepo.IntegrateResult{"l-1": first, "l-2": second} {
		w, head := one, r.base
		if launch == "l-2" {
			w, head = two, first.Commit
		}
		again, err := r.integrate(w, launch, head)
		if err != nil || again.Commit != want.Commit || !slices.Equal(again.Files, want.Files) {
			t.Errorf("%s again: %+v, %v", launch, again, err)
		}
	}
	if _, err := r.integrate(two, "l-3", r.base); !errors.Is(err, gitrepo.ErrMoved) {
		t.Errorf("a launch that knows an old head: %v", err)
	}
}
