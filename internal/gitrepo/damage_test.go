package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// TestADamagedHostRepository has one of which parts are gone. What sessions keep in it stays.
func TestADamagedHostRepository(t *testing.T) {
	t.Parallel()
	start := gitrepo.StartRef("one-0123456789abcdef")
	none := func(*testing.T, *rig, string) {}
	pack := func(t *testing.T, _ *rig, dir string) { repotest.Git(t, dir, "pack-refs", "--all") }
	for name, c := range map[string]struct {
		keep  bool // a session's ref is in it
		prior func(t *testing.T, r *rig, dir string)
		gone  string
		owed  bool // only a person can help
		aside bool
	}{
		"without HEAD":                     {true, none, "HEAD", false, false},
		"without refs":                     {true, pack, "refs", false, false},
		"without objects":                  {false, none, "objects", false, true},
		"without objects, packed":          {false, pack, "objects", false, true},
		"work and no objects":              {true, none, "objects", true, false},
		"packed work and no objects":       {true, pack, "objects", true, false},
		"the objects of the base are gone": {false, none, "objects/pack/*", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"a": "a\n"})
			dir := r.Store.Dir()
			if c.keep {
				if err := r.Store.Hold(t.Context(), start, r.Base); err != nil {
					t.Fatal(err)
				}
			}
			c.prior(t, r, dir)
			found, err := filepath.Glob(filepath.Join(dir, c.gone))
			if err != nil || len(found) == 0 {
				t.Fatalf("%q, %v", found, err)
			}
			for _, path := range found {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
			h, err := gitrepo.Open(t.Context(), dir)
			if c.owed {
				var damaged *gitrepo.DamagedError
				if !errors.As(err, &damaged) || damaged.Owed != start || !strings.Contains(err.Error(), "move it away") {
					t.Errorf("opened: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := h.FetchClone(t.Context(), r.Clone, r.Base); err != nil || got != r.Base {
				t.Errorf("fetched %q, %v", got, err)
			}
			if tree, err := h.Tree(t.Context(), r.Base); err != nil || tree == "" {
				t.Errorf("tree %q, %v", tree, err)
			}
			if id, err := h.Ref(t.Context(), start); err != nil || (id == r.Base) != c.keep {
				t.Errorf("the session's ref is at %q, %v", id, err)
			}
			if aside, _ := filepath.Glob(dir + ".damaged-*"); (len(aside) == 1) != c.aside {
				t.Errorf("set aside: %q", aside)
			}
			reopened, err := gitrepo.Open(t.Context(), dir)
			if err != nil || len(reopened.Mended()) > 0 {
				t.Errorf("opened again: %v", err)
			}
		})
	}
}

// TestAFileInThePlaceOfTheStore has a file there that this program did not make.
func TestAFileInThePlaceOfTheStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "x.git")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gitrepo.Open(t.Context(), dir); !errors.As(err, new(*gitrepo.DamagedError)) {
		t.Errorf("opened: %v", err)
	}
}
