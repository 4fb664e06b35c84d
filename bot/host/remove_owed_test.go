package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestRemoveEndsWhatAKilledHostLeft has a session whose end is on disk, but whose host was
// killed before it had ended the coder.
func TestRemoveEndsWhatAKilledHostLeft(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, forget := range map[string]func(s *orchestrator.State, launch orchestrator.Launch){
		"an agent": func(*orchestrator.State, orchestrator.Launch) {},
		"an agent that only an effect names": func(s *orchestrator.State, launch orchestrator.Launch) {
			s.Agents = map[orchestrator.AgentKey]orchestrator.Agent{}
			s.Pending = []orchestrator.Effect{{
				ID: "1", Type: orchestrator.EffStopAgent, Args: orchestrator.Args{Role: "coder", Task: "1", Launch: launch},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			dir, stop := r.coding()
			killed := errors.New("killed")
			if _, err := stop(killed); !errors.Is(err, killed) {
				t.Fatal(err)
			}
			const name = "2.coder.1.1"
			launch, err := agent.ReadLaunch(filepath.Join(dir, session.LaunchesDir, name))
			if err != nil {
				t.Fatal(err)
			}
			lent := filepath.Join(filepath.Dir(launch.Socket), launch.Mark[:16]+".lent") // by an older version
			if err := os.WriteFile(lent, []byte("a secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := r.state(dir)
			s.Phase, s.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeFailed
			forget(s, name)
			r.writeState(dir, s)
			sess, err := session.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			coder := sess.ReadRuntime().Launches["coder/1"]
			if _, err := process.StartTime(coder.PID); err != nil {
				t.Fatalf("the coder does not run: %v", err)
			}
			if _, err := r.host.Remove(t.Context(), dir, r.config); err != nil {
				t.Fatal(err)
			}
			if _, err := process.StartTime(coder.PID); !errors.Is(err, process.ErrNotFound) {
				t.Errorf("the coder: %v", err)
			}
			if left := names(t, filepath.Join(r.root, "r")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// pulled notes a pull request for a session that is done without GitHub, so that it takes changes.
func (r *rig) pulled(dir string) {
	r.t.Helper()
	s := r.state(dir)
	s.Completion.PRNumber = 1
	r.writeState(dir, s)
}

// writeState replaces a session's state while no host runs it.
func (r *rig) writeState(dir string, s *orchestrator.State) {
	r.t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, session.StateFile), data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}
