package mail

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/folder"
	"github.com/agentmux/agentmux/workflows/message"
)

// Filter chooses messages. The zero value takes all.
type Filter struct {
	Limit  int      // only so many of the newest; 0 = all
	Types  []string // of these types
	Agent  string   // from or to an agent: mesh/agent, or the agent alone
	Mesh   string   // from or to an agent of a mesh
	Since  string   // not older than an age or a moment
	Before string   // older than an age or a moment
	Errors bool     // only what was not delivered: failed, expired, orphan

	since, before time.Time
}

// check reads what the filter was given as text.
func (f *Filter) check(now time.Time) error {
	if f.Limit < 0 {
		return exit.Usage(fmt.Errorf("--limit: expected a number of messages, found %d", f.Limit))
	}
	for _, t := range f.Types {
		if !slices.Contains(message.Types(), t) {
			text := fmt.Sprintf("--type: expected %s, found %q", strings.Join(message.Types(), ", "), t)
			if near := document.Nearest(t, message.Types()); near != "" {
				text += ", did you mean " + near + "?"
			}
			return exit.UsageText(text)
		}
	}
	var err error
	if f.since, err = moment("--since", f.Since, now); err != nil {
		return err
	}
	f.before, err = moment("--before", f.Before, now)
	return err
}

// units are those of an age that Go does not know.
var units = map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// moment reads an age such as 3d or 36h, or a moment; zero for no text.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	d, err := time.ParseDuration(text)
	for unit, of := range units {
		if number, ok := strings.CutSuffix(text, unit); ok {
			var n int
			n, err = strconv.Atoi(number)
			d = time.Duration(n) * of
		}
	}
	if err != nil || d < 0 {
		return time.Time{}, exit.Usage(fmt.Errorf("%s: expected an age such as 3d or 36h, or a moment such as 2026-01-15T10:05:00Z, found %q", flag, text))
	}
	return now.Add(-d), nil
}

// lost are the states of what did not reach its agent.
var lost = []string{orchestrator.MessageFailed, orchestrator.MessageExpired, orchestrator.MessageOrphan}

// pass returns the messages that the filter takes.
func (f *Filter) pass(entries []folder.Entry) []folder.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e folder.Entry) bool { return !f.takes(e) })
}

func (f *Filter) takes(e folder.Entry) bool {
	m := e.Message
	switch {
	case len(f.Types) > 0 && !slices.Contains(f.Types, m.Type),
		f.Errors && !slices.Contains(lost, e.State),
		f.Mesh != "" && m.From.Mesh != f.Mesh && m.To.Mesh != f.Mesh,
		f.Agent != "" && !isAgent(m.From, f.Agent) && !isAgent(m.To, f.Agent),
		!f.since.IsZero() && e.At.Before(f.since),
		!f.before.IsZero() && !e.At.Before(f.before):
		return false
	}
	return true
}

func isAgent(a message.Address, name string) bool { return a.Agent == name || a.String() == name }

// last returns the newest that the limit leaves.
func (f *Filter) last(entries []folder.Entry) []folder.Entry {
	if f.Limit > 0 && len(entries) > f.Limit {
		return entries[len(entries)-f.Limit:]
	}
	return entries
}
