package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// diamondOfFour works for two issues: base and left are done when right still works, and top waits for both.
const diamondOfFour = `session: shop
on_complete: [push, pr]
agents:
  - {name: base, branch: f/base, issue: 1}
  - {name: left, branch: f/left, task: Left, depends_on: base, from: base}
  - {name: right, branch: f/right, depends_on: base, issue: %d}
  - {name: top, branch: f/top, task: Top, depends_on: [left, right], from: left}
`

// diamondSteps plays the agents of diamondOfFour.
func diamondSteps(steps map[string]string) string {
	text := "version: 1\nagents:\n"
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		text += "  - role: build\n    task: " + name + "\n    steps:\n" + steps[name]
	}
	return text
}

func writes(name string) string {
	return fmt.Sprintf("      - write: {file: %s.txt, text: \"%s\\n\"}\n", name, name)
}

const (
	submits = "      - submit: {tool: submit_done}\n"
	dies    = "      - exit: 9\n"
)

// Row R7 for a run of an agents file: its machine is killed while two of four agents are done. Another machine continues from
// the checkpoint: nobody who was done is started again, unsubmitted work is there, and the end is one branch and one
// pull request for each agent.
func TestProtocolR7ARunOfAgentsContinuesElsewhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	config := "github: {write_interval: 0s}\n"
	r := newRig(t, rigOptions{config: config, playbook: diamondSteps(map[string]string{
		"base": writes("base") + submits, "left": writes("left") + submits, "right": writes("right") + "      - hang: true\n", "top": dies,
	})})
	r.saveOften()
	repo := r.github.Repo(rigRepo)
	second := repo.AddIssue(fakehub.IssueSpec{Title: "To the right", Body: "Write right.txt.", Author: rigOwner})
	file := fmt.Sprintf(diamondOfFour, second)
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file)
	b := r.background("agents", "start", "--yes", "--headless")
	e := r.atWork("build")
	r.eventually("two agents are done and the work of the third is on the server", func() bool {
		_, m, names := r.saved(e)
		return slices.Contains(names, "session/signals/base.done") && slices.Contains(names, "session/signals/left.done") && len(m.Work["1.right"].Changed) > 0
	}, b.out.String)
	b.exit(syscall.SIGKILL)
	done := map[string]string{"f/base": r.git(r.clone, "rev-parse", "f/base"), "f/left": r.git(r.clone, "rev-parse", "f/left")}

	other := r.elsewhere(rigOptions{config: config, playbook: diamondSteps(map[string]string{
		"base": dies, "left": dies, "right": submits, "top": writes("top") + submits,
	})})
	start := []string{"agents", "start", "--yes", "--headless", "--from-checkpoint"}
	other.write(filepath.Join(other.clone, ".dmux-agents.yml"), strings.Replace(file, "task: Top", "task: Something else", 1))
	if res := other.expect(exit.Locked, start...); !strings.Contains(res.err, "is claimed by host") {
		t.Errorf("although its host may be there: %s", res.err)
	}
	r.asJob("a_77_1")
	if res := other.expect(exit.Failed, append(start, "--take")...); !strings.Contains(res.err, "agents file is not the one of this project") || len(other.sessions()) != 0 {
		t.Errorf("with another file: %s", res.err)
	}
	other.write(filepath.Join(other.clone, ".dmux-agents.yml"), file)
	theirs := filepath.Join(other.dir, "shop-right")
	other.write(filepath.Join(theirs, "kept.txt"), "kept\n")
	if res := other.expect(exit.BadUsage, start...); !strings.Contains(res.err, theirs+" is there already") || other.read(theirs, "kept.txt") != "kept\n" {
		t.Errorf("although something is in the way: %s", res.err)
	}
	if err := os.RemoveAll(theirs); err != nil {
		t.Fatal(err)
	}
	res := other.expect(exit.Done, start...)

	moved := other.session()
	other.sound(moved)
	if moved.State.Identity != e.State.Identity {
		t.Errorf("the session is %s, it was %s", moved.State.Identity, e.State.Identity)
	}
	started := map[string]int{}
	for _, record := range other.recordsOf(moved) {
		switch d := record.Data.(type) {
		case orchestrator.AgentStartedRecord:
			started[d.Task]++
		case orchestrator.MovedRecord:
			started["moved"]++
		}
	}
	if want := map[string]int{"base": 1, "left": 1, "right": 2, "top": 1, "moved": 1}; !maps.Equal(started, want) {
		t.Errorf("started %v, want %v\n%s%s", started, want, res.out, res.err)
	}
	var pulls []string
	for _, p := range repo.Pulls() {
		pulls = append(pulls, p.Head+" on "+p.Base)
		if at := other.git(other.clone, "rev-parse", p.Head); at != p.HeadSHA {
			t.Errorf("%s is at %s in the clone, at %s on the server", p.Head, at, p.HeadSHA)
		}
	}
	if slices.Sort(pulls); !slices.Equal(pulls, []string{"f/base on main", "f/left on f/base", "f/right on main", "f/top on f/left"}) {
		t.Errorf("pull requests %q", pulls)
	}
	var branches []string
	for ref := range repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/") {
			branches = append(branches, ref)
		}
	}
	if len(branches) != 5 {
		t.Errorf("branches %q", branches)
	}
	for branch, was := range done {
		if at := other.git(other.clone, "rev-parse", branch); at != was {
			t.Errorf("%s is at %s, it was at %s", branch, at, was)
		}
	}
	if got := other.git(other.clone, "show", "f/right:right.txt"); got != "right" {
		t.Errorf("right.txt holds %q", got)
	}
	if got := other.git(other.clone, "ls-remote", r.github.CloneURL(rigRepo), "refs/agentmux/claims/*"); got != "" {
		t.Errorf("claims are left: %s", got)
	}
	if err := session.CheckDir(moved.Dir).Err(); err != nil {
		t.Error(err)
	}
}
