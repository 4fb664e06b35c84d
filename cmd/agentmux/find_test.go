package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A command without the name of a session says why none of them fits, or which ones do, and what
// can be done. It also says that a text of several words needs quotes.
func TestWhatASteeringCommandMissesIsSaid(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	told := func(when, want string, commands ...string) {
		t.Helper()
		for _, line := range commands {
			situation{when, nil, strings.Split(line, " "), 2, []string{want}}.check(t, r)
		}
	}
	const start = `no sessions here; agentmux issue N or agentmux run "..." starts one`
	told("none", start, "say hi", "answer yes", "approve", "stop", "pause", "retry", "changes more", "resume", "attach", "status", "logs")
	r.expect(0, append(issueRun, "--name", "one", "--no-mirror")...)
	const only = `; one is done: review the pull request; agentmux changes "..." one asks for another round`
	for command, want := range map[string]string{
		"say hi": "runs", "answer yes": "has an open question", "approve": "is at a gate", "stop": "runs, begins or waits for a person",
		"pause": "runs", "retry": "is unfinished", "resume": "is interrupted, parked or paused, or owes something", "attach": "runs",
		"approve --exclude a.txt": "is at a gate",
	} {
		told("one, done", "no session here "+want+only, command)
	}
	const quotes = "a text of several words goes in quotes"
	told("no quotes", `no session "flag"; `+quotes, "changes keep flag", "answer use the flag")
	told("no quotes", "not keep the old flag; "+quotes, "changes keep the old flag", "answer keep the old flag", "say keep the old flag")
	for _, name := range []string{"two", "three"} {
		state := filepath.Join(r.held(name), session.StateFile)
		working := strings.Replace(r.read(state), `"outcome": "done"`, `"outcome": ""`, 1)
		r.write(state, strings.Replace(working, `"phase": "done"`, `"phase": "reviewing"`, 1))
	}
	told("two live", "several sessions fit, name one of three, two; --session names it", "say hi", "stop", "pause", "retry")
	told("two live", "no session here is at a gate; agentmux sessions lists them", "approve")
	told("two live", `none of the 3 sessions that "1" means fits this command; agentmux sessions lists them`, "approve 1")
}
