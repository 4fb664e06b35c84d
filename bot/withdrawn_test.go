package bot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// A person sets the request label once more while the request waits, and then stops it: the stop is about both. A label
// that is set after the stop asks for something new. The issue is not read before the stop was carried out. It is the same for
// a stop at a terminal while no bot runs.
func TestGitHub84AStopTakesWhatWasAskedBefore(t *testing.T) {
	for name, c := range map[string]struct{ after, terminal bool }{
		"set before the stop": {}, "set after the stop": {after: true},
		"set before the stop at a terminal": {terminal: true}, "set after the stop at a terminal": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: mia})
			r.repo.Label(1, "agentmux", mia)
			r.pass(10 * time.Second)
			on := func(label string) bool { return slices.Contains(r.repo.Issue(1).Labels, label) }
			told := func(text string) (n int) {
				for _, c := range r.repo.Comments(1) {
					n += strings.Count(c.Body, text)
				}
				return n
			}
			over := time.Now().Add(40 * time.Second)
			late := func() bool { return time.Now().After(over) }
			b := r.bot(false)
			r.serveWith(b, func() bool { return on("agentmux:queued") && !on("agentmux") || late() })
			again := func() {
				r.repo.Label(1, "agentmux:quick", mia)
				r.pass(2 * time.Second)
			}
			if !c.after {
				again()
			}
			if c.terminal {
				shelf := ticket.Of(project.ListManaged(b.Host.StateHome)[0].Dir)
				one, err := shelf.Read(1)
				if err == nil {
					err = shelf.Stop(one, "ann stopped it", r.now())
				}
				if err != nil {
					t.Fatal(err)
				}
			} else {
				r.repo.Comment(1, "/agentmux stop", mia)
			}
			r.pass(2 * time.Second)
			if c.after {
				again()
			}
			r.pass(10 * time.Second)
			r.server.Inject(fakehub.Fault{Route: "POST /graphql", Status: 503})
			healed := false
			next, err := bot.New(b.Options)
			if err != nil {
				t.Fatal(err)
			}
			claim := func() string { return r.repo.Refs()["refs/agentmux/claims/1"] }
			r.serveWith(next, func() bool {
				if told("stopped it") > 0 && !healed {
					healed = true
					r.server.Heal()
				}
				done := !on("agentmux:quick") && claim() == "" && next.Report().Tickets == 0
				if c.after {
					done = on("agentmux:queued") && !on("agentmux:quick") && claim() != "" && told("kind=status") == 2
				}
				return healed && done || late()
			})
			if late() || !healed {
				t.Errorf("healed %t, labels %q, claim %q", healed, r.repo.Issue(1).Labels, claim())
			}
			if n := told("kind=status"); !c.after && n != 1 {
				t.Errorf("%d requests were queued, want the one that was stopped", n)
			}
		})
	}
}
