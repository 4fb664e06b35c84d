package job_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
)

// An error is one annotation. A request that could not begin is left to another job and fails nothing.
func TestAnErrorIsOneAnnotation(t *testing.T) {
	stalled := &daemon.StalledError{Why: "it waits for this machine: fetch octo/widgets: exit status 128"}
	for kind, c := range map[string]struct {
		err     error
		outcome string
		want    string
		fails   bool
	}{
		"notice": {
			&exit.Error{Code: exit.NeedsHuman, Err: fmt.Errorf("serve: %w", stalled)}, job.OutcomeHandover,
			"handover: serve: " + stalled.Error() + ": mend that; the next sweep starts a job for the request, and a run of the workflow does it now", false,
		},
		"error": {errors.New("no space left on device"), job.OutcomeError, "error: no space left on device", true},
	} {
		var out bytes.Buffer
		result, err := job.EndWith(&out, c.err)
		if said := runlog.Annotations(out.String(), kind); len(said) != 1 || said["agentmux"] != c.want || result.Outcome != c.outcome || (err != nil) != c.fails {
			t.Errorf("%s: said %q, result %+v, error %v\n%s", kind, said, result, err, out.String())
		}
	}
}
