package repotest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// crashingGit puts a git into PATH that fails from its n-th call on, before or after
// doing its work. reached reports whether the n-th call came.
func crashingGit(t *testing.T, n int, after bool) (reached func() bool) {
	t.Helper()
	dir := t.TempDir()
	// Some calls run side by side, so each takes its number by making a file.
	script := fmt.Sprintf(`#!/bin/sh
n=1; while ! (set -C; : >%[1]s/call$n) 2>/dev/null; do n=$((n+1)); done
if [ $n -gt %[2]d ]; then exit 137; fi
if [ $n -eq %[2]d ]; then if %[3]v; then %[4]s "$@" >/dev/null 2>&1; fi; exit 137; fi
exec %[4]s "$@"
`, dir, n, after, RealGit)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() bool {
		_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("call%d", n)))
		return err == nil
	}
}

// Killed runs do with every git call of it failing in turn, and then again whole.
func Killed(t *testing.T, prepare func(r *Rig), do func(t *testing.T, r *Rig) (result string, err error)) {
	t.Helper()
	start := func(t *testing.T) *Rig {
		r := New(t, map[string]string{"a": "1\n2\n3\n", "b": "b\n"})
		prepare(r)
		return r
	}
	want, err := do(t, start(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			t.Run(fmt.Sprintf("call %d, after %v", n, after), func(t *testing.T) {
				r := start(t)
				path := os.Getenv("PATH")
				reached := crashingGit(t, n, after)
				got, err := do(t, r)
				t.Setenv("PATH", path)
				if more = reached(); !more {
					return
				}
				if err == nil && (!after || got != want) { // one whose work is seen to be done may have failed
					t.Fatalf("the failing call was not noticed: %q", got)
				}
				got, err = do(t, r)
				if err != nil || got != want {
					t.Errorf("repeated: %q, %v; want %q", got, err, want)
				}
			})
		}
	}
}
