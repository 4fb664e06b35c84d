package team

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/agents"
)

// StatusJSON is a run of an agents file for a script. docs/commands.md names every field.
type StatusJSON struct {
	Session   string      `json:"session"`
	Dir       string      `json:"dir"`
	Condition string      `json:"condition"`
	Outcome   string      `json:"outcome,omitempty"`
	Cause     string      `json:"cause,omitempty"`
	Running   bool        `json:"running"`
	Agents    []AgentJSON `json:"agents"`
	Questions []Question  `json:"questions"`
}

// Question is one that waits for its answer.
type Question struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Text    string    `json:"text"`
	Options []string  `json:"options"`
	Asked   time.Time `json:"asked"`
}

// questions are those of a run that wait.
func (r run) questions(shown func(string) string) []Question {
	open := []Question{}
	for _, q := range r.State.Questions {
		if !q.Open() {
			continue
		}
		one := Question{ID: q.ID, Agent: q.Task, Text: shown(q.Text), Options: []string{}, Asked: q.AskedAt.Time}
		for _, option := range q.Options {
			one.Options = append(one.Options, shown(option))
		}
		open = append(open, one)
	}
	return open
}

// AgentJSON is one agent of it.
type AgentJSON struct {
	Name        string    `json:"name"`
	Role        string    `json:"role"`
	Branch      string    `json:"branch,omitempty"`
	Instead     string    `json:"instead_of,omitempty"` // the branch that the file names, if the work is on another
	Status      string    `json:"status"`
	Exit        *int      `json:"exit,omitempty"`   // of its marker
	Reason      string    `json:"reason,omitempty"` // of its failure
	BlockedBy   string    `json:"blocked_by,omitempty"`
	DependsOn   []string  `json:"depends_on"`
	Provider    string    `json:"provider,omitempty"`
	Doing       string    `json:"doing,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Ended       time.Time `json:"ended,omitzero"`
	Seconds     int       `json:"seconds,omitempty"` // from its start to its marker, or to now
	Workspace   string    `json:"workspace,omitempty"`
	Commit      string    `json:"commit,omitempty"`
	PullRequest string    `json:"pr_url,omitempty"`
	Usage       *Usage    `json:"usage,omitempty"` // nil: its program told none
}

// Usage is what the program of an agent says it used, in all its launches.
type Usage struct {
	Input  int64   `json:"input_tokens"` // with those that came from its cache
	Output int64   `json:"output_tokens"`
	USD    float64 `json:"usd,omitempty"`
}

// String is the usage in few words.
func (u *Usage) String() string {
	if u == nil {
		return ""
	}
	text := thousands(u.Input) + " in, " + thousands(u.Output) + " out"
	if u.USD > 0 {
		text += fmt.Sprintf(", $%.2f", u.USD)
	}
	return text
}

func thousands(n int64) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt((n+500)/1000, 10) + "k"
}

// usageOf adds up what the launches of an agent tell; nil if none tells anything.
func usageOf(dir string, launches []orchestrator.Launch) *Usage {
	var sum Usage
	for _, l := range launches {
		var status signal.Status
		for offset := int64(0); ; {
			told, next, err := signal.Read(filepath.Join(dir, session.LaunchesDir, string(l)), offset)
			for _, s := range told {
				status = status.Apply(s)
			}
			if err != nil || next <= offset {
				break
			}
			offset = next
		}
		if u := status.Usage; u != nil {
			sum.Input, sum.Output, sum.USD = sum.Input+u.Input+u.CacheRead+u.CacheWrite, sum.Output+u.Output, sum.USD+u.USD
		}
	}
	if sum == (Usage{}) {
		return nil
	}
	return &sum
}

// Status shows how far the agents of a run are, while it runs and afterwards.
func Status(ctx context.Context, a *site.Finder, args []string, asJSON bool) error {
	r, err := find(ctx, a, args)
	if err != nil {
		return err
	}
	out := r.status(a.Shown(), time.Now())
	if asJSON {
		return a.PrintJSON(out)
	}
	out.print(a)
	return nil
}

func (out StatusJSON) print(a *site.Finder) {
	a.Print("SESSION  %s  %s", out.Session, out.Condition)
	var rows [][]console.Cell
	for _, m := range out.Agents {
		age := ""
		if !m.Started.IsZero() {
			age = (time.Duration(m.Seconds) * time.Second).String()
		}
		row := []console.Cell{console.PlainCell(m.Name), console.PlainCell(dash(m.Branch)), console.PlainCell(m.Role), console.NewCell(m.Status, m.ink())}
		rows = append(rows, append(row, console.PlainCell(dash(age)), console.PlainCell(dash(m.Usage.String())), console.PlainCell(dash(m.PullRequest))))
	}
	a.Page(a.Out).Table([]string{"AGENT", "BRANCH", "ROLE", "STATUS", "AGE", "USAGE", "PULL REQUEST"}, rows)
	if out.Cause != "" {
		a.Print("\n%s", out.Cause)
	}
	for _, m := range out.Agents {
		if m.Instead != "" {
			a.Print("%s: %s", m.Name, story.OnAnother(m.Branch, m.Instead))
		}
		if m.Reason != "" {
			a.Print("%s: %s", m.Name, m.Reason)
		}
	}
	for _, q := range out.Questions {
		a.Print("\n%s asks: %s", q.Agent, q.Text)
		for i, option := range q.Options {
			a.Print("  %d) %s", i+1, option)
		}
		a.Print("agentmux answer %s \"...\" --session %s", q.ID, out.Session)
	}
}

var inks = map[string]paint.Ink{"done": paint.Good, "running": paint.Busy, "blocked": paint.Ask, "failed": paint.Bad}

// ink marks the status by its first word: that of a failure has the exit code, too.
func (m AgentJSON) ink() paint.Ink {
	word, _, _ := strings.Cut(m.Status, " ")
	return inks[word]
}

func dash(text string) string {
	if text == "" {
		return "—"
	}
	return text
}

// status is the run at a moment. shown is how texts of agents are shown.
func (r run) status(shown func(string) string, now time.Time) StatusJSON {
	s := r.State
	out := StatusJSON{Session: r.Name, Dir: r.Dir, Condition: r.Condition(), Outcome: string(s.Outcome), Cause: shown(string(s.Cause)), Running: r.Running, Agents: []AgentJSON{}, Questions: r.questions(shown)}
	members := story.Members(s, r.team, r.records(), r.Running)
	for i := range members {
		m := &members[i]
		one := AgentJSON{
			Name: m.Name, Role: m.Role, Branch: m.Branch, Status: m.Word(), BlockedBy: m.BlockedBy, DependsOn: append([]string{}, m.DependsOn...),
			Provider: m.Told.Provider, Doing: shown(m.Told.Doing), Started: m.Told.Started, Ended: m.Ended, Seconds: int(m.Spent(now).Seconds()),
			Reason: shown(m.Reason), Commit: m.Commit, PullRequest: m.PullRequest, Usage: usageOf(r.Dir, m.Launches),
		}
		if named := r.team.Agents[i].Branch; m.Branch != named {
			one.Instead = named
		}
		if m.Marked() {
			one.Exit = &m.Exit
		}
		for name, w := range s.Workspaces {
			if strings.HasSuffix(name, "."+m.Name) && m.Role != agents.RoleReview {
				one.Workspace = w.Path
			}
		}
		out.Agents = append(out.Agents, one)
	}
	return out
}

// records are those of the run. What cannot be read is left out; doctor says why.
func (r run) records() []orchestrator.Event {
	sess, err := session.Open(r.Dir)
	if err != nil {
		return nil
	}
	events, _, _ := sess.Events(0)
	return events
}

// word is the status of an agent.
func (r run) word(m *agents.Agent) string { return story.MemberOf(r.State, m, r.Running).Word() }
