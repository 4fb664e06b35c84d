package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
	"github.com/rogpeppe/go-internal/txtar"
)

func parsed(t *testing.T, file string) *agents.Team {
	t.Helper()
	team, problems := agents.Parse(agents.File, []byte(file), agents.Known{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return team
}

// shopFile has a diamond, a part of the graph that fails, and an order that is not that of the graph.
const shopFile = `session: shop
agents:
  - name: review
    role: review
    depends_on: [words, page]
  - name: plan
    role: plan
    branch: shop/plan
    task: Plan
  - name: words
    branch: shop/words
    task: Words
    depends_on: plan
  - name: page
    branch: shop/page
    task: Page
    depends_on: plan
  - name: release
    branch: shop/release
    task: Release
    depends_on: [review, notes]
  - name: style
    branch: shop/style
    task: Style
  - name: notes
    branch: shop/notes
    task: Notes
    depends_on: style
  - name: licence
    branch: shop/licence
    task: Licence
`

// shop is a run in which two agents are done, one works, one asks, and one failed.
func shop(t *testing.T) picture {
	s, r := orchestrator.NewState(), &story{}
	s.SessionID, s.Workflow, s.Kind = "shop", "agents", orchestrator.KindAgents
	s.CreatedAt, s.Phase = after(0), "implementing"
	r.tell(0, orchestrator.EvSessionCreated, nil)
	r.start("plan", "plan", "claude", "1.plan.plan.1")
	r.start("build", "style", "claude", "1.build.style.1")
	r.tell(20*time.Second, orchestrator.EvAgentMarked, map[string]any{"agent": "style", "by": "host", "marker": "7"})
	r.tell(0, orchestrator.EvAgentBlocked, map[string]any{"agent": "notes", "dependency": "style"})
	r.tell(time.Minute, orchestrator.EvAgentMarked, map[string]any{"agent": "plan", "by": "host", "marker": "0"})
	r.start("build", "words", "codex", "1.build.words.1")
	r.start("build", "page", "claude", "1.build.page.1")
	r.tell(30*time.Second, orchestrator.EvAgentStatus, map[string]any{"role": "build", "task": "words", "message": "writing the words of the greeting"})
	s.Team = map[string]agents.Progress{
		"plan": {Marker: "0", PRNumber: 7, Branch: "shop/plan-2"}, "style": {Marker: "7"},
		"notes": {Marker: "99", BlockedBy: "style"}, "release": {Marker: "99", BlockedBy: "notes"},
	}
	s.Agents = map[orchestrator.AgentKey]orchestrator.Agent{}
	for key, launch := range map[orchestrator.AgentKey]orchestrator.Launch{"build/words": "1.build.words.1", "build/page": "1.build.page.1"} {
		s.Agents[key] = orchestrator.Agent{Launch: launch, LastLaunch: launch}
	}
	s.Questions = []orchestrator.Question{{ID: "q1", Role: "build", Task: "page", Text: "Which colour?", Options: []string{"red", "blue"}, AskedAt: after(2 * time.Minute)}}
	return picture{state: s, records: r.records, now: noon.Add(3 * time.Minute), host: true, team: parsed(t, shopFile)}
}

// crowd is a run of n agents, each of which depends on the one before its last.
func crowd(t *testing.T, n int) picture {
	var file strings.Builder
	file.WriteString("session: crowd\nagents:\n")
	for i := range n {
		fmt.Fprintf(&file, "  - {name: a%02d, branch: crowd/%d, task: Work", i, i)
		if i > 1 {
			fmt.Fprintf(&file, ", depends_on: a%02d", i-2)
		}
		file.WriteString("}\n")
	}
	p := shop(t)
	p.team = parsed(t, file.String())
	p.state.SessionID, p.state.Questions = "crowd", nil
	p.state.Team = map[string]agents.Progress{}
	for i := range n / 2 {
		p.state.Team[fmt.Sprintf("a%02d", i)] = agents.Progress{Marker: "0"}
	}
	p.state.Team["a09"] = agents.Progress{Marker: "3"}
	p.state.Agents = map[orchestrator.AgentKey]orchestrator.Agent{"build/a25": {Launch: "1.build.a25.1", LastLaunch: "1.build.a25.1"}}
	r := &story{at: 2 * time.Minute, records: p.records}
	r.start("build", "a25", "claude", "1.build.a25.1")
	p.records = r.records
	return p
}

func TestTheAgentsOfAFileAreShownInTheOrderOfTheirGraph(t *testing.T) {
	var got txtar.Archive
	quiet := shop(t)
	quiet.state.Questions = nil
	page := quiet.state.Team["page"]
	page.Step = "test"
	quiet.state.Team["page"] = page
	stuck := shop(t)
	stuck.state.Questions = nil
	stuck.state.Agents["build/licence"] = orchestrator.Agent{Launch: "1.build.licence.1", LastLaunch: "1.build.licence.1", Waiting: "ask"}
	stuck.state.Agents["build/page"] = orchestrator.Agent{Launch: "1.build.page.2", LastLaunch: "1.build.page.2"} // no record tells of it yet
	r := &story{at: 2 * time.Minute, records: stuck.records}
	r.start("build", "licence", "claude", "1.build.licence.1")
	r.tell(30*time.Second, orchestrator.EvAgentStalled, map[string]any{"role": "build", "task": "words", "seconds": 400})
	stuck.records = r.records
	failed := crowd(t, 50)
	failed.state.Phase, failed.state.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeFailed
	var reasons []string
	for i := range 25 {
		p := failed.state.Team[fmt.Sprintf("a%02d", 25+i)]
		p.Marker, p.BlockedBy = "99", fmt.Sprintf("a%02d", 23+i)
		failed.state.Team[fmt.Sprintf("a%02d", 25+i)] = p
		reasons = append(reasons, fmt.Sprintf("a%02d (blocked by %s)", 25+i, p.BlockedBy))
	}
	end := &story{at: 3 * time.Minute, records: failed.records}
	end.tell(0, orchestrator.EvFailed, map[string]any{"cause": "not done: " + strings.Join(reasons, ", ")})
	failed.records = end.records
	idle := shop(t)
	idle.host = false
	for _, c := range []struct {
		name          string
		picture       picture
		width, height int
	}{
		{"80x24", quiet, 80, 24},
		{"a question, 80x24", shop(t), 80, 24},
		{"a question, narrow and low", shop(t), 40, 18},
		{"wide", quiet, 130, 30},
		{"silent, waiting and starting", stuck, 80, 24},
		{"without a host", idle, 80, 24},
		{"fifty, 80x24", crowd(t, 50), 80, 24},
		{"fifty, narrow", crowd(t, 50), 40, 24},
		{"fifty, failed, 80x24", failed, 80, 24},
	} {
		text := monitor.Render(c.picture.view(), c.width, c.height)
		for _, line := range strings.Split(text, "\n") {
			if w := paint.Width(line); w > c.width {
				t.Errorf("%s: line of %d columns, want at most %d: %q", c.name, w, c.width, line)
			}
		}
		if n := strings.Count(text, "\n"); n > c.height {
			t.Errorf("%s: %d lines, want at most %d", c.name, n, c.height)
		}
		got.Files = append(got.Files, txtar.File{Name: c.name, Data: []byte(text)})
	}
	golden(t, "testdata/team.txtar", txtar.Format(&got))
}

// Whatever the graph and the order of the file are, each agent is shown once, below all that it depends on, and
// drawn under one of those.
func TestEachAgentIsBelowWhatItDependsOn(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		team := &agents.Team{Session: "any"}
		names := r.Perm(1 + r.IntN(15))
		for at, n := range names {
			a := agents.Agent{Name: fmt.Sprint("n", n), Role: agents.RoleReview}
			for _, before := range names[:at] {
				if r.IntN(4) == 0 {
					a.DependsOn = append(a.DependsOn, fmt.Sprint("n", before))
				}
			}
			team.Agents = append(team.Agents, a)
		}
		r.Shuffle(len(team.Agents), func(i, j int) { team.Agents[i], team.Agents[j] = team.Agents[j], team.Agents[i] })
		p := shop(t)
		p.team = team
		above := map[string]bool{}
		list := p.view().Members
		for _, m := range list {
			for _, name := range m.After {
				if !above[name] {
					t.Errorf("graph %d: %s is not below %s", seed, m.Name, name)
				}
			}
			if (m.Under < 0) != (len(m.After) == 0) || m.Under >= 0 && !slices.Contains(m.After, list[m.Under].Name) {
				t.Errorf("graph %d: %s is drawn under member %d, and depends on %v", seed, m.Name, m.Under, m.After)
			}
			above[m.Name] = true
		}
		if len(above) != len(names) {
			t.Errorf("graph %d: %d of %d agents", seed, len(above), len(names))
		}
	}
}

// What agents of a file tell is shown without what must not be shown.
func TestAgentsOfAFileShowNoSecret(t *testing.T) {
	p := shop(t)
	secret := "ghp_" + strings.Repeat("aB3", 12)
	r := &story{at: 2 * time.Minute, records: p.records}
	r.tell(0, orchestrator.EvAgentStatus, map[string]any{"role": "build", "task": "words", "message": "found " + secret})
	p.records = r.records
	v := p.view()
	if text := monitor.Render(v, 80, 0); !strings.Contains(text, "  found ghp_") {
		t.Fatalf("it is not shown at all:\n%s", text)
	}
	monitor.Pass(&v, redact)
	if text := monitor.Render(v, 80, 0); strings.Contains(text, "aB3aB3") || !strings.Contains(text, "  found [token]") {
		t.Errorf("picture:\n%s", text)
	}
}
