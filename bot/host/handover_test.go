package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A session that is handed over has no agent left, no outcome, and a checkpoint with what was not handed in.
func TestGitHub90ASessionIsSavedForTheNextHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	groups := "  - {group_id: one, mode: serial, plans: [{index: 1, name: A}, {index: 2, name: B}]}\n"
	r.script(scenario{
		Plan: plan(groups, "a.txt", "b.txt"), Files: map[string][]string{"1": {"a.txt=1"}, "2": {"b.txt=2"}},
		Hold: map[string]bool{"coder/2": true},
	})
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the second coder runs", func() bool { return r.started(dir, "2.coder.2.1") })
	work := r.state(dir).Workspaces["2.2"].Path
	if err := os.WriteFile(filepath.Join(work, "half.txt"), []byte("not submitted\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := stop(host.ErrHandOver)
	if !errors.Is(err, host.ErrHandOver) || s.Ended() {
		t.Fatalf("outcome %q, %v", s.Outcome, err)
	}
	names := strings.Split(r.gitIn(r.storeDir(), "ls-tree", "-r", "--name-only", "refs/agentmux/sessions/"+r.key(dir)), "\n")
	if !slices.Contains(names, "work/2.2/half.txt") || !slices.Contains(names, "session/state.json") {
		t.Errorf("the checkpoint has %q", names)
	}
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := sess.Events(0)
	if err != nil {
		t.Fatal(err)
	}
	last := records[len(records)-1]
	if d, _ := last.Data.(orchestrator.CheckpointSavedRecord); d.Ref == "" || d.SHA != strings.TrimSpace(r.gitIn(r.storeDir(), "rev-parse", d.Ref)) || last.Seq != r.state(dir).Seq {
		t.Errorf("the last record is %+v of %d", last, r.state(dir).Seq)
	}
	if left, err := host.Left(t.Context(), r.host, dir); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
