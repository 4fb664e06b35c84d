package doctor_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
)

// A job in a container that names no user is root there, which some CLIs refuse to be.
func TestAJobAsRootIsWarned(t *testing.T) {
	if p := doctor.ProbeUser(0); p.State != doctor.Warning || !strings.Contains(p.Hint, "--user 1001") {
		t.Errorf("%+v", p)
	}
	if p := doctor.ProbeUser(1001); p.State != doctor.OK {
		t.Errorf("%+v", p)
	}
}
