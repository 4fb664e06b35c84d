package bot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// A ticket that a person stops at a terminal is dropped, and its issue told so: by the bot that runs beside, when the bell
// rings, else by the next one, at its start.
func TestATicketIsStoppedAtATerminal(t *testing.T) {
	for name, beside := range map[string]bool{"a bot runs beside": true, "no bot runs": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			issue := r.repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: mia})
			r.repo.Label(issue, "agentmux", mia)
			r.pass(10 * time.Second)
			b := r.bot(false)
			var dir string
			stop := func() {
				dir = project.ListManaged(b.Host.StateHome)[0].Dir
				one, err := ticket.Of(dir).Read(issue)
				if err == nil {
					err = ticket.Of(dir).Stop(one, "ann stopped it", r.now())
				}
				if err == nil && beside {
					err = bell.Ring(dir, one.Session)
				}
				if err != nil {
					t.Error(err)
				}
			}
			queued := func() bool { return slices.Contains(r.repo.Issue(issue).Labels, "agentmux:queued") }
			dropped := func() bool {
				left, _, err := ticket.Of(dir).Peek()
				return err == nil && len(left) == 0 && slices.ContainsFunc(r.repo.Comments(issue), func(c fakehub.CommentView) bool {
					return strings.Contains(c.Body, "not started: ann stopped it")
				})
			}
			if beside {
				r.serveWith(b, func() bool {
					if dir == "" && queued() {
						stop()
					}
					return dir != "" && dropped()
				})
			} else {
				r.serveWith(b, queued)
				stop()
				again, err := bot.New(b.Options)
				if err != nil {
					t.Fatal(err)
				}
				r.serveWith(again, dropped)
			}
			if got := r.repo.Issue(issue).Labels; len(got) > 0 {
				t.Errorf("labels %q", got)
			}
		})
	}
}
