package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agentmux/agentmux/ghsync/mirror"
)

// Whichever write comes next when the claim is lost: it is not made, and none after it.
func TestGitHub79NoWriteOfTheMirrorFollowsTheLoss(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.openPR()
	before := len(st.server.Log())
	st.run(st.mirror(st.options()))
	all := len(st.server.Log()) - before
	if all < 10 {
		t.Fatalf("%d writes: too few to tell", all)
	}
	for allowed := range all {
		if testing.Short() && allowed%2 == 1 && allowed != all-1 {
			continue
		}
		t.Run(fmt.Sprintf("after %d writes", allowed), func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			st.openPR()
			before := len(st.server.Log())
			wrote := func() int { return len(st.server.Log()) - before }
			o := st.options()
			o.Guard = func(context.Context) error {
				if wrote() >= allowed {
					return fmt.Errorf("of h_1: %w", mirror.ErrClaimLost)
				}
				return nil
			}
			err := st.runUntilLost(st.mirror(o))
			if !errors.Is(err, mirror.ErrClaimLost) {
				t.Errorf("error %v", err)
			}
			if n := wrote(); n != allowed {
				for _, e := range st.server.Log()[before:] {
					t.Logf("%s %s", e.Route, e.Path)
				}
				t.Errorf("%d writes, %d of them allowed", n, allowed)
			}
		})
	}
}

// runUntilLost plays the script until the mirror ends.
func (st *stage) runUntilLost(m *mirror.Mirror) error {
	for lines := range st.parts() {
		st.play(lines...)
		if err := m.Finish(st.t.Context()); err != nil {
			return err
		}
	}
	return nil
}
