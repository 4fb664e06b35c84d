package team

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
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

	Undelivered int    `json:"undelivered,omitempty"` // messages that wait for agents and are not delivered now
	Withheld    string `json:"withheld,omitempty"`    // why
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
	Exit        *int      `json:"exit,omitempty"`    // of its marker
	Reason      string    `json:"reason,omitempty"`  // of its failure
	Printed     string    `json:"printed,omitempty"` // by its program, before that
	Transcript  string    `json:"transcript,omitempty"`
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

	Usage *story.Spent `json:"usage,omitempty"` // by its launches that have ended; nil: none has
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
		rows = append(rows, append(row, console.PlainCell(dash(age)), console.PlainCell(dash(m.used())), console.PlainCell(dash(m.PullRequest))))
	}
	a.Page(a.Out).Table([]string{"AGENT", "BRANCH", "ROLE", "STATUS", "AGE", "USAGE", "PULL REQUEST"}, rows)
	if out.Cause != "" {
		a.Print("\n%s", out.Cause)
	}
	if out.Undelivered > 0 {
		a.Print("messages queued: %d; %s", out.Undelivered, out.Withheld)
	}
	for _, m := range out.Agents {
		if m.Instead != "" {
			a.Print("%s: %s", m.Name, story.OnAnother(m.Branch, m.Instead))
		}
		if m.Reason != "" {
			a.Print("%s: %s", m.Name, m.Reason)
		}
		m.printLast(a)
	}
	for _, q := range out.Questions {
		a.Print("\n%s asks: %s", q.Agent, q.Text)
		for i, option := range q.Options {
			a.Print("  %d) %s", i+1, option)
		}
		a.Print("agentmux answer %s \"...\" --session %s", q.ID, out.Session)
	}
}

// maxPrinted is how many lines of a program that failed are shown; the JSON has them all.
const maxPrinted = 6

// printLast shows the end of what the program of a failed agent printed.
func (m AgentJSON) printLast(a *site.Finder) {
	if m.Printed == "" {
		return
	}
	lines := strings.Split(m.Printed, "\n")
	for _, line := range lines[max(0, len(lines)-maxPrinted):] {
		a.Print("  %s", line)
	}
	if m.Transcript != "" {
		a.Print("  all of it: %s", m.Transcript)
	}
}

var inks = map[string]paint.Ink{"done": paint.Good, "running": paint.Busy, "blocked": paint.Ask, "failed": paint.Bad}

// ink marks the status by its first word: that of a failure has the exit code, too.
func (m AgentJSON) ink() paint.Ink {
	word, _, _ := strings.Cut(m.Status, " ")
	return inks[word]
}

// used is the usage in few words.
func (m AgentJSON) used() string {
	if m.Usage == nil {
		return ""
	}
	return m.Usage.String()
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
	out.Undelivered, out.Withheld = post.Undelivered(s)
	members := story.Members(s, r.team, r.records(), r.Running)
	for i := range members {
		m := &members[i]
		one := AgentJSON{
			Name: m.Name, Role: m.Role, Branch: m.Branch, Status: m.Word(), BlockedBy: m.BlockedBy, DependsOn: append([]string{}, m.DependsOn...),
			Provider: m.Told.Provider, Doing: shown(m.Told.Doing), Started: m.Told.Started, Ended: m.Ended, Seconds: int(m.Spent(now).Seconds()),
			Reason: shown(m.Reason), Printed: shown(m.Printed), Commit: m.Commit, PullRequest: m.PullRequest,
		}
		if named := r.team.Agents[i].Branch; m.Branch != named {
			one.Instead = named
		}
		if m.Used.Launches > 0 {
			one.Usage = &m.Used
		}
		if m.Marked() {
			one.Exit = &m.Exit
		}
		if file := filepath.Join(r.Dir, session.TranscriptsDir, string(m.Told.Launch)+".log"); m.Printed != "" {
			if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
				one.Transcript = file
			}
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
