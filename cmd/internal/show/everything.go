package show

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// EverythingJSON are the sessions of the project and of the bot, and what waits for a slot.
type EverythingJSON struct {
	Sessions []SessionJSON `json:"sessions"`
	Queue    []QueuedJSON  `json:"queue"`
}

// QueuedJSON is a request that has no session yet.
type QueuedJSON struct {
	Place    int       `json:"place"`
	Repo     string    `json:"repository"`
	Issue    int       `json:"issue"`
	Actor    string    `json:"actor"`
	Workflow string    `json:"workflow,omitempty"`
	Session  string    `json:"session"`
	Asked    time.Time `json:"asked"`
	Reason   string    `json:"reason"`
}

// ListEverything is the listing for a script.
func ListEverything(entries []session.Entry, queue site.Queue) EverythingJSON {
	all := EverythingJSON{Sessions: ListJSON(entries), Queue: []QueuedJSON{}}
	for _, t := range queue.Tickets {
		all.Queue = append(all.Queue, QueuedJSON{t.Place, t.Repository, t.Issue, t.Actor, t.Workflow, t.Session, t.Asked, t.Reason})
	}
	return all
}

// PrintEverything prints the sessions, and below them the queue, for a person. It names the files
// of tickets that cannot be read.
func PrintEverything(a *site.Finder, entries []session.Entry, queue site.Queue, now time.Time) {
	for _, p := range queue.Problems {
		a.Say("warning: %v", p)
	}
	if len(entries) == 0 {
		a.Say("no sessions here, and none of a bot of this machine; agentmux issue N or agentmux bot starts one")
	} else {
		printList(a, entries, true)
	}
	if len(queue.Tickets) == 0 {
		return
	}
	var rows [][]console.Cell
	for _, t := range queue.Tickets {
		actor := ""
		if t.Actor != "" {
			actor = "@" + t.Actor
		}
		rows = append(rows, []console.Cell{
			console.PlainCell(strconv.Itoa(t.Place)), console.NewCell(fmt.Sprintf("%s#%d", t.Repository, t.Issue), paint.Strong),
			console.PlainCell(actor), console.PlainCell(now.Sub(t.Asked).Round(time.Second).String()), console.PlainCell(t.Reason),
		})
	}
	a.Print("")
	a.Page(a.Out).Table([]string{"PLACE", "QUEUED", "ASKED BY", "FOR", "WAITS"}, rows)
}
