package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/testfull"
)

// While the service of a provider refuses more, the status of a session that may need it says until when, and once the
// session has ended it does not. doctor says it of the login that a run here would use, not of another one.
func TestACoolDownIsShown(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate)})
	b := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.atWork("coder")
	now := time.Now()
	until := now.Add(time.Hour).Truncate(time.Second)
	// The account is another one than that of the session, which so continues.
	refuse := func(account string) {
		t.Helper()
		cool := cooldown.In(filepath.Join(r.dir, "home", ".local", "state", "agentmux"))
		err := cool.Note(cooldown.Login{Provider: "script", Account: account}, cooldown.Refusal{Cause: "limit", At: now, Until: until}, now)
		if err != nil {
			t.Fatal(err)
		}
	}
	refuse("a")
	words := "script refuses more until about " + until.UTC().Format("15:04 UTC")
	if out := r.expect(0, "status").out; !strings.Contains(out, "cool-down  "+words) {
		t.Errorf("status:\n%s", out)
	}
	told := func() []string {
		var s show.StatusJSON
		out := r.expect(0, "status", "--json").out
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var all []string
		for _, c := range s.CoolDowns {
			all = append(all, c.Provider+" "+c.Cause+" "+c.Until.UTC().Format(time.RFC3339))
		}
		return all
	}
	if got := told(); len(got) != 1 || got[0] != "script limit "+until.UTC().Format(time.RFC3339) {
		t.Errorf("status --json: %q", got)
	}
	if rows := r.probed(0)["script"]; len(rows) != 1 || strings.Contains(rows[0].Detail, "refuses more") {
		t.Errorf("doctor, with the cool-down of another login: %+v", rows)
	}
	r.write(gate, "")
	if b.over(); b.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit %d\n%s", b.cmd.ProcessState.ExitCode(), b.out.String())
	}
	if got := told(); len(got) > 0 {
		t.Errorf("status --json after the end: %q", got)
	}
	refuse(agent.Provider{Name: "script"}.Account(agent.EnvSpec{}))
	says(t, r.probed(0)["script"], doctor.Warning, words, "continue by themselves")
}
