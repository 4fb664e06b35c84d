package gate_test

import (
	"fmt"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

var asked = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// people of the tests; the repository knows them by the levels of levels.
var (
	mia   = ghsync.Account{Login: "mia", ID: 9, Type: "User"}
	olga  = ghsync.Account{Login: "olga", ID: 10, Type: "User"}
	eve   = ghsync.Account{Login: "eve", ID: 11, Type: "User"}
	robot = ghsync.Account{Login: "helper[bot]", ID: 12, Type: "Bot"}
)

// wanted is a request that starts: mia, who may write, has set the label.
func wanted() gate.Facts {
	return gate.Facts{
		Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, RepoID: 1, Issue: 12,
		Record: ghsync.Record{
			Repository: ghsync.Repository{Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, ID: 1, Private: true, CanPush: true},
			Issue: ghsync.Issue{
				Number: 12, Title: "Add retry", Body: "Please.", Author: eve, Labels: []string{"bug", "agentmux"},
				CreatedAt: asked.Add(-time.Hour), UpdatedAt: asked,
			},
			Labels:       []ghsync.LabelEvent{label("agentmux", mia, 0)},
			EditorsKnown: true, ReadAt: asked.Add(time.Minute),
		},
		Own: ghsync.Account{Login: "agentmux-app[bot]", ID: 99, Type: "Bot"},
		Rules: gate.Rules{
			Bot:  config.Bot{Repos: []string{"octo/widgets"}, Label: "agentmux", MinPermission: "write"},
			Gate: config.Gate{UserHour: 5, RepoRunning: 3, OpenPRs: 10, IssueDay: 5},
		},
		Load:    gate.Load{FreeSlot: true, OpenPulls: &gate.Count{}},
		Answers: map[string]gate.Answer{"mia": may(mia, ghsync.LevelWrite), "olga": may(olga, ghsync.LevelAdmin), "eve": may(eve, ghsync.LevelRead)},
	}
}

// label is an event some time after asked.
func label(name string, by ghsync.Account, after time.Duration) ghsync.LabelEvent {
	return ghsync.LabelEvent{Name: name, Added: true, At: asked.Add(after), Actor: by}
}

func unlabel(name string, after time.Duration) ghsync.LabelEvent {
	return ghsync.LabelEvent{Name: name, At: asked.Add(after), Actor: mia}
}

func may(who ghsync.Account, level ghsync.Level) gate.Answer {
	return gate.Answer{Permission: ghsync.Permission{Account: who, Level: level}}
}

// byComment has the request come from a comment.
func byComment(by ghsync.Account) func(*gate.Facts) {
	return func(f *gate.Facts) {
		f.Ask = &gate.Ask{Trigger: gate.CommentTrigger(77), By: by, At: asked}
		f.Record.Issue.Labels, f.Record.Labels = nil, nil
	}
}

// atTerminal has a person ask who types the command.
func atTerminal(f *gate.Facts) {
	f.Ask = &gate.Ask{Trigger: gate.CLITrigger("20261121-100431-issue-12-add-retry"), By: mia, At: asked, Level: ghsync.LevelRead}
	f.History, f.Load, f.Answers = nil, gate.Load{}, nil
	f.Rules.Bot.Repos = nil
}

// past is a history.
type past struct {
	decided             []gate.Trigger
	labelStarts, byUser int
	first               *gate.Texts
}

func (p past) Decided(_ int, t gate.Trigger) bool {
	for _, d := range p.decided {
		if d == t {
			return true
		}
	}
	return false
}

func (p past) LabelStarts(_ int, within time.Duration) int {
	if within != 24*time.Hour {
		panic("a day is the window of an issue")
	}
	return p.labelStarts
}

func (p past) StartsBy(actor int64, within time.Duration) int {
	if within != time.Hour || actor != mia.ID {
		return 0
	}
	return p.byUser
}

func (p past) FirstSeen(int, gate.Trigger) (gate.Texts, bool) {
	if p.first == nil {
		return gate.Texts{}, false
	}
	return *p.first, true
}

// verdict is a decision in a few characters: "refuse 12".
func verdict(d gate.Decision) string {
	what := string(d.What)
	if what == "" {
		what = "ignore"
	}
	return fmt.Sprintf("%s %d", what, d.Row)
}
