package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// diamondOf are eight agents in two layers of joins, each with those it depends on.
var diamondOf = []struct {
	name string
	on   []string
}{
	{"a", nil}, {"b", []string{"a"}}, {"c", []string{"a"}}, {"d", []string{"a"}},
	{"e", []string{"b", "c"}}, {"f", []string{"c", "d"}}, {"g", []string{"e", "f"}}, {"h", []string{"g", "d"}},
}

// diamondFile is the agents file of the diamond. Two of its agents begin on the branch of another one.
func diamondFile() string {
	var b strings.Builder
	b.WriteString("session: shop\non_complete: [test, push]\nagents:\n")
	for _, a := range diamondOf {
		fmt.Fprintf(&b, "  - {name: %[1]s, branch: x/%[1]s, task: Write %[1]s, scope: [made/%[1]s.txt]", a.name)
		if len(a.on) > 0 {
			fmt.Fprintf(&b, ", depends_on: [%s]", strings.Join(a.on, ", "))
		}
		if a.name == "b" || a.name == "e" {
			fmt.Fprintf(&b, ", from: %s", a.on[0])
		}
		b.WriteString("}\n")
	}
	return b.String()
}

const diamondConfig = `sandbox: {unsafe_flags: true}
agents: {linger: 0s, scope_policy: fail, test_command: [sh, -c, "! grep -qs red made/*.txt"]}
`

// diamondDoes is what an agent of the diamond writes.
const diamondDoes = `      - write: {file: "made/{task}.txt", text: "made\n"}
`

const diamondSubmits = `      - submit: {tool: submit_done}
`

// fault is a way in which an agent of the diamond fails.
type fault struct {
	name    string
	steps   string // what the agent does
	config  string
	prepare func(r *rig, node string)
	reason  string // part of what is said of it
	commits bool   // its work is on its branch all the same
}

var diamondFaults = []fault{
	{name: "exit 1", steps: diamondDoes + "      - exit: 1\n", reason: "exit 1"},
	{name: "exit 99", steps: diamondDoes + "      - exit: 99\n", reason: "exit 99"},
	{name: "killed", steps: diamondDoes + "      - crash: true\n", reason: "signal KILL"},
	{name: "silent", steps: diamondDoes + "      - hang: true\n", config: "limits: {stall: 8s}\n", reason: "it was silent for too long"},
	{
		name: "out of its scope", steps: diamondDoes + "      - write: {file: README.md, text: \"mine\\n\"}\n" + diamondSubmits,
		reason: "README.md is outside of your scope",
	},
	{
		name: "test red", steps: strings.Replace(diamondDoes, "made\\n", "red\\n", 1) + diamondSubmits, reason: "its test failed",
		commits: true,
	},
	{
		name: "push refused", steps: diamondDoes + diamondSubmits, reason: "protected branch hook declined", commits: true,
		prepare: func(r *rig, node string) {
			r.github.Repo(rigRepo).RefusePush(fakehub.ProtectedRule("refs/heads/x/" + node))
		},
	},
}

// diamondRig has the file of the diamond, of which node does steps, and all others what they should.
func diamondRig(t testing.TB, node, steps, config string) *rig {
	t.Helper()
	playbook := "version: 1\nagents:\n"
	if node != "" {
		playbook += "  - role: build\n    task: " + node + "\n    steps:\n" + steps
	}
	playbook += "  - role: build\n    steps:\n" + diamondDoes + diamondSubmits
	r := newRig(t, rigOptions{playbook: playbook, config: diamondConfig + config})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), diamondFile())
	return r
}

// However and wherever an agent of a diamond fails, exactly those that depend on it are blocked and name
// the one because of which, all others end with one branch each, here and on the server, nothing that was
// made is lost, and no agent is started twice. AGENTMUX_TEAM_FAILS takes each n-th of the 56 cases.
func TestProtocolM7TeamFailsAtEachNode(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	stride := fromEnv(t, "AGENTMUX_TEAM_FAILS", 29)
	for i := 0; i < len(diamondOf)*len(diamondFaults); i += stride {
		node, f := diamondOf[i/len(diamondFaults)].name, diamondFaults[i%len(diamondFaults)]
		t.Run(node+" "+f.name, func(t *testing.T) {
			t.Parallel()
			r := diamondRig(t, node, f.steps, f.config)
			if f.prepare != nil {
				f.prepare(r, node)
			}
			r.expect(exit.Failed, "agents", "start", "--yes", "--headless")
			r.judgeDiamond(node, f)
			r.expect(exit.Done, "doctor", "shop")
		})
	}
}

// blockedIn returns the agents of the diamond that depend on one of them, through whichever others.
func blockedIn(node string) map[string]bool {
	blocked := map[string]bool{}
	for _, a := range diamondOf { // each comes after those it depends on
		blocked[a.name] = slices.ContainsFunc(a.on, func(on string) bool { return on == node || blocked[on] })
	}
	return blocked
}

func (r *rig) judgeDiamond(node string, f fault) {
	r.t.Helper()
	var st team.StatusJSON
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "agents", "status", "--json").out), &st); err != nil || len(st.Agents) != len(diamondOf) {
		r.t.Fatalf("%d agents, %v", len(st.Agents), err)
	}
	if st.Outcome != orchestrator.OutcomeFailed || st.Running || !strings.HasPrefix(st.Cause, "not done: ") {
		r.t.Errorf("outcome %s, running %t: %s", st.Outcome, st.Running, st.Cause)
	}
	blocked, branches, pushed := blockedIn(node), []string{"main"}, []string{"main"}
	starts := map[string]int{}
	for _, e := range r.events() {
		if d, ok := e.Data.(orchestrator.AgentStartedRecord); ok {
			starts[d.Task]++
		}
	}
	for i, a := range diamondOf {
		is, marker, want, started := st.Agents[i], "0\n", "done", 1
		switch {
		case a.name == node:
			marker, want = "1\n", "failed (exit 1)"
			if !strings.Contains(is.Reason, f.reason) {
				r.t.Errorf("%s failed because of %q, want %q", node, is.Reason, f.reason)
			}
		case blocked[a.name]:
			marker, want, started = "99\n", "blocked", 0
			if by := is.BlockedBy; !slices.Contains(a.on, by) || by != node && !blocked[by] || r.read(st.Dir, "signals", a.name+".blocked") != by+"\n" {
				r.t.Errorf("%s is blocked by %q", a.name, by)
			}
		default:
			pushed = append(pushed, "x/"+a.name)
		}
		if got := r.read(st.Dir, "signals", a.name+".done"); is.Name != a.name || is.Status != want || got != marker || starts[a.name] != started {
			r.t.Errorf("%s: status %s, marker %q, started %d times; want %s", a.name, is.Status, got, starts[a.name], want)
		}
		if blocked[a.name] {
			continue
		}
		if a.name != node || f.commits {
			branches = append(branches, "x/"+a.name)
			if got := r.git(r.clone, "show", "x/"+a.name+":made/"+a.name+".txt"); got != "made" && a.name != node {
				r.t.Errorf("the branch of %s holds %q", a.name, got)
			}
		}
		if text := r.read(r.dir, "shop-"+a.name, "made", a.name+".txt"); text == "" {
			r.t.Errorf("the workspace of %s has lost its work", a.name)
		}
	}
	if got, want := r.git(r.clone, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"), strings.Join(branches, "\n"); got != want {
		r.t.Errorf("branches in the clone:\n%s\nwant\n%s", got, want)
	}
	if got := r.headsOnServer(); !slices.Equal(got, pushed) {
		r.t.Errorf("branches on the server: %q, want %q", got, pushed)
	}
}

func (r *rig) headsOnServer() (names []string) {
	r.t.Helper()
	for line := range strings.Lines(r.git(r.clone, "ls-remote", r.github.CloneURL(rigRepo), "refs/heads/*") + "\n") {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "refs/heads/")
		names = append(names, name)
	}
	return names
}
