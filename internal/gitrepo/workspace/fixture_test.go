package workspace_test

import (
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

type rig struct{ *repotest.Rig }

func newRig(t testing.TB, files map[string]string) *rig {
	t.Helper()
	return &rig{repotest.New(t, files)}
}
