package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A host of a team that is killed at some moment of the run, and started again, ends as one that
// was not: the same branches, one pull request for each agent, no agent started twice.
func TestKilledTeamsEndTheSame(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	rig := func() *rig {
		r := newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
		r.write(filepath.Join(r.clone, ".dmux-agents.yml"), strings.Replace(teamFile, "agents:\n", "on_complete: [push, pr]\nagents:\n", 1))
		return r
	}
	whole := rig()
	whole.expect(exit.Done, "agents", "start", "--yes", "--headless")
	want, records := whole.teamPicture(), whole.records()
	for _, share := range []int{1, 3} {
		n := records * share / 5
		t.Run(fmt.Sprintf("after record %d of %d", n, records), func(t *testing.T) {
			t.Parallel()
			r := rig()
			r.killAfter(n, "agents", "start", "--yes", "--headless")
			if res := r.agentmux("agents", "start", "--yes", "--headless"); res.code != exit.Done && !strings.Contains(res.err, "every agent is done") {
				t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
			}
			if got := r.teamPicture(); got != want {
				t.Errorf("after a kill:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}

// teamPicture is the end of a run of the agents file: markers, launches, branches, pull requests.
func (r *rig) teamPicture() string {
	r.t.Helper()
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	dir := r.session().Dir
	s, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := s.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if d, ok := e.Data.(orchestrator.AgentStartedRecord); ok {
			add("started %s", d.Launch)
		}
	}
	for _, name := range []string{"words", "greeting"} {
		add("%s: marker %q, tree %s", name, r.read(dir, "signals", name+".done"), r.git(r.clone, "rev-parse", "feature/"+name+"^{tree}"))
	}
	add("commits: %s", r.git(r.clone, "rev-list", "--count", "main..feature/greeting"))
	for _, p := range r.github.Repo(rigRepo).Pulls() {
		add("pull request: %s on %s, tree %s", p.Head, p.Base, r.git(r.clone, "rev-parse", p.HeadSHA+"^{tree}"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
