package mail

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/folder"
)

// Counts are the numbers of messages.
type Counts struct {
	Messages int                   `json:"messages"`
	Types    map[string]int        `json:"types"`
	States   map[string]int        `json:"states"`
	Agents   map[string]AgentCount `json:"agents"`
	Hours    map[string]int        `json:"hours"` // by the hour in UTC they were written in
}

// AgentCount is how many messages an agent has sent and was sent.
type AgentCount struct {
	Sent     int `json:"sent"`
	Claimed  int `json:"claimed,omitempty"` // how many of Sent only their files say are from it
	Received int `json:"received"`
}

// hourForm is how an hour is written.
const hourForm = "2006-01-02T15:00Z"

// unnamed is where messages are counted whose type or sender cannot be read.
const unnamed = "unknown"

// Count counts messages.
func Count(entries []folder.Entry) Counts {
	c := Counts{Messages: len(entries), Types: map[string]int{}, States: map[string]int{}, Agents: map[string]AgentCount{}, Hours: map[string]int{}}
	for _, e := range entries {
		c.Types[cmp.Or(e.Message.Type, unnamed)]++
		c.States[e.State]++
		c.Hours[e.At.UTC().Format(hourForm)]++
		from, to := cmp.Or(e.Message.From.String(), unnamed), cmp.Or(e.Message.To.String(), unnamed)
		n := c.Agents[from]
		n.Sent++
		if e.Claimed {
			n.Claimed++
		}
		c.Agents[from] = n
		n = c.Agents[to]
		n.Received++
		c.Agents[to] = n
	}
	return c
}

func number(n int) console.Cell { return console.PlainCell(strconv.Itoa(n)) }

// SentText shows how many messages an agent sent. Those that it may not have sent are marked as in a
// listing.
func (n AgentCount) SentText() string {
	switch {
	case n.Claimed == 0:
		return strconv.Itoa(n.Sent)
	case n.Claimed == n.Sent:
		return fmt.Sprintf("%d (claimed)", n.Sent)
	}
	return fmt.Sprintf("%d (%d claimed)", n.Sent, n.Claimed)
}

// shownHours is how many hours a person is shown.
const shownHours = 24

// Stats prints how many messages there are by type, state, agent and hour.
func Stats(ctx context.Context, a *site.Finder, o Options) error {
	f, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	entries, err := f.Read(time.Now())
	if err != nil {
		return err
	}
	c := Count(entries)
	if o.JSON {
		return a.PrintJSON(c)
	}
	p := a.Page(a.Out)
	p.Row("messages", paint.Strong, "%d", c.Messages)
	if c.Messages == 0 {
		return nil
	}
	for _, part := range []struct {
		name   string
		counts map[string]int
		ink    func(string) paint.Ink
	}{{"types", c.Types, typeInk}, {"states", c.States, stateInk}} {
		for i, key := range slices.Sorted(maps.Keys(part.counts)) {
			name := part.name
			if i > 0 {
				name = ""
			}
			p.Row(name, part.ink(key), "%d %s", part.counts[key], key)
		}
	}
	var rows [][]console.Cell
	for _, agent := range slices.Sorted(maps.Keys(c.Agents)) {
		n := c.Agents[agent]
		rows = append(rows, []console.Cell{console.PlainCell(agent), console.PlainCell(n.SentText()), number(n.Received)})
	}
	a.Print("")
	p.Table([]string{"AGENT", "SENT", "RECEIVED"}, rows)
	rows = nil
	hours := slices.Sorted(maps.Keys(c.Hours))
	for _, hour := range hours[max(0, len(hours)-shownHours):] {
		rows = append(rows, []console.Cell{console.PlainCell(hour), number(c.Hours[hour])})
	}
	a.Print("")
	p.Table([]string{"HOUR", "MESSAGES"}, rows)
	return nil
}
