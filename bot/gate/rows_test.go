package gate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// TestGitHub has requests with one kind of trouble each, and says which row decides and how.
func TestGitHub(t *testing.T) {
	decides := map[gate.Row]bool{}
	for _, c := range []struct {
		name   string
		change func(*gate.Facts)
		want   string
		reason string // a part of it
	}{
		{"nothing against it", func(*gate.Facts) {}, "start 18", ""},

		{"24 a repository that is not named", func(f *gate.Facts) { f.Rules.Bot.Repos = []string{"octo/gears"} }, "ignore 1", "is not a repository of this bot"},
		{"24 another organisation", func(f *gate.Facts) { f.Rules.Bot.Repos, f.Rules.Bot.Orgs = nil, []string{"acme"} }, "ignore 1", "is not a repository of this bot"},
		{"24 a listed repository in other letters", func(f *gate.Facts) { f.Rules.Bot.Repos = []string{"Octo/Widgets"} }, "start 18", ""},
		{"24 an organisation of the bot", func(f *gate.Facts) { f.Rules.Bot.Repos, f.Rules.Bot.Orgs = nil, []string{"Octo"} }, "start 18", ""},
		{"24 renamed since it was listed", func(f *gate.Facts) { f.Record.Repository.Name = "gadgets" }, "start 18", ""},
		{"24 left the organisation", func(f *gate.Facts) {
			f.Rules.Bot.Repos, f.Rules.Bot.Orgs = nil, []string{"octo"}
			f.Record.Repository.Owner = "eve"
		}, "ignore 1", ""},
		{"24 archived", func(f *gate.Facts) { f.Record.Repository.Archived = true }, "ignore 1", "is archived"},
		{"24 disabled", func(f *gate.Facts) { f.Record.Repository.Disabled = true }, "ignore 1", "is disabled"},
		{"not there", func(f *gate.Facts) {
			f.Record, f.RecordErr = ghsync.Record{}, fmt.Errorf("read: %w", &transport.NotFound{Kind: "issue"})
		}, "ignore 2", "is not there"},
		{"deleted", func(f *gate.Facts) {
			f.Record, f.RecordErr = ghsync.Record{}, &transport.NotFound{Kind: "issue", Gone: true}
		}, "ignore 2", "is not there"},
		{"24 transferred", func(f *gate.Facts) { f.Record.Issue.Repo = ghsync.Repo{Owner: "octo", Name: "gears"} }, "ignore 2", "was transferred to octo/gears"},
		{"24 another repository took the name", func(f *gate.Facts) { f.Record.Repository.ID = 2 }, "ignore 2", "is another repository now"},
		{"24 a pull request", func(f *gate.Facts) { f.Record, f.RecordErr = ghsync.Record{}, transport.ErrPullRequest }, "ignore 3", "is a pull request"},
		{"24 closed", func(f *gate.Facts) { f.Record.Issue.Closed = true }, "ignore 3", "is closed"},
		{"24 another label", func(f *gate.Facts) { f.Record.Issue.Labels = []string{"bug", "agentmux:done"} }, "ignore 3", "does not have the label agentmux"},
		{"29 closed since a late hook", func(f *gate.Facts) { f.Record.Issue.Closed, f.Record.ReadAt = true, asked.Add(270*time.Minute) }, "ignore 3", ""},
		{"24 a fork by the sweep", byFork, "refuse 4", "is a fork"},
		{"24 a fork that is listed", func(f *gate.Facts) { f.Record.Repository.Fork = true }, "start 18", ""},
		{"24 forks are allowed", func(f *gate.Facts) { byFork(f); f.Rules.Gate.AllowForks = true }, "start 18", ""},
		{"a fork, refused before", func(f *gate.Facts) {
			byFork(f)
			f.History = past{decided: []gate.Trigger{gate.LabelTrigger(label("agentmux", mia, 0))}}
		}, "ignore 6", ""},
		{"a host works on it", func(f *gate.Facts) { f.Claim = &gate.Claim{Host: "h_5f3c9a0b11d2e4f7"} }, "ignore 5", "host h_5f3c9a0b11d2e4f7 works on octo/widgets#12"},
		{"a host has it that may be gone", func(f *gate.Facts) { f.Claim = &gate.Claim{Host: "h_1", Unproven: true} }, "later 5", "it is not known yet whether host h_1 still works on"},
		{"decided before", func(f *gate.Facts) {
			f.History = past{decided: []gate.Trigger{gate.LabelTrigger(label("AgentMux", mia, 0))}}
		}, "ignore 6", "was decided before"},
		{"decided, and set again", func(f *gate.Facts) {
			f.History = past{decided: []gate.Trigger{gate.LabelTrigger(label("agentmux", mia, 0))}}
			f.Record.Labels = append(f.Record.Labels, unlabel("agentmux", time.Second), label("agentmux", mia, 2*time.Second))
		}, "start 18", ""},
		{"the issue cannot be read", func(f *gate.Facts) { f.Record, f.RecordErr = ghsync.Record{}, errors.New("502") }, "later 7", "did not answer about the issue"},
		{"22 the permission cannot be read", func(f *gate.Facts) { f.Answers["mia"] = gate.Answer{Err: errors.New("500")} }, "later 7", "did not answer about the permission of mia"},
		{"the login belongs to another account now", func(f *gate.Facts) { f.Answers["mia"] = may(ghsync.Account{Login: "mia", ID: 1000}, ghsync.LevelAdmin) }, "later 7", "is another account now"},
		{"the open pull requests cannot be counted", func(f *gate.Facts) { f.Load.OpenPulls = &gate.Count{Err: errors.New("500")} }, "later 7", "did not answer about open pull requests"},
		{"25 just set", func(f *gate.Facts) { f.Record.ReadAt = asked.Add(4 * time.Second) }, "later 0", "another label may follow"},
		{"25 set five seconds ago", func(f *gate.Facts) { f.Record.ReadAt = asked.Add(5 * time.Second) }, "start 18", ""},
		{"the history does not know the label", func(f *gate.Facts) { f.Record.Labels = nil }, "later 8", ""},
		{"the history knows that it was taken off", func(f *gate.Facts) { f.Record.Labels = append(f.Record.Labels, unlabel("agentmux", time.Second)) }, "later 8", ""},
		{"the history knows one of two labels", func(f *gate.Facts) { f.Record.Issue.Labels = []string{"agentmux", "agentmux:quick"} }, "later 8", ""},
		{"20 by an account that is deleted", func(f *gate.Facts) { f.Record.Labels[0].Actor = ghsync.Account{} }, "refuse 9", "is deleted"},
		{"20 by a bot", func(f *gate.Facts) { f.Record.Labels[0].Actor = robot }, "refuse_silently 10", ""},
		{"20 by a user whose name is that of a bot", func(f *gate.Facts) { f.Record.Labels[0].Actor = ghsync.Account{Login: "x[bot]", ID: 3, Type: "User"} }, "refuse_silently 10", ""},
		{"20 by a mannequin", func(f *gate.Facts) {
			f.Record.Labels[0].Actor = ghsync.Account{Login: "old-mia", ID: 3, Type: "Mannequin"}
		}, "refuse_silently 10", ""},
		{"by the machine account", func(f *gate.Facts) { f.Own, f.Rules.Bot.MachineAccount = mia, true }, "refuse_silently 11", ""},
		{"by the person whose token it is", func(f *gate.Facts) { f.Own = mia }, "start 18", ""},
		{"18 by write", func(f *gate.Facts) { f.Answers["mia"] = may(mia, ghsync.LevelWrite) }, "start 18", ""},
		{"18 by maintain", func(f *gate.Facts) { f.Answers["mia"] = may(mia, ghsync.LevelMaintain) }, "start 18", ""},
		{"18 by admin", func(f *gate.Facts) { f.Answers["mia"] = may(mia, ghsync.LevelAdmin) }, "start 18", ""},
		{"19 by triage", func(f *gate.Facts) { f.Answers["mia"] = may(mia, ghsync.LevelTriage) }, "refuse 12", "mia has triage permission, and write is needed"},
		{"19 by read", func(f *gate.Facts) { f.Answers["mia"] = may(mia, ghsync.LevelRead) }, "refuse 12", "mia has read permission"},
		{"19 by none", func(f *gate.Facts) { f.Answers["mia"] = gate.Answer{} }, "refuse 12", "mia has no permission"},
		{"write where maintain is wanted", func(f *gate.Facts) { f.Rules.Bot.MinPermission = "maintain" }, "refuse 12", "and maintain is needed"},
		{"maintain where maintain is wanted", func(f *gate.Facts) {
			f.Rules.Bot.MinPermission, f.Answers["mia"] = "maintain", may(mia, ghsync.LevelMaintain)
		}, "start 18", ""},
		{"a minimum below write", func(f *gate.Facts) {
			f.Rules.Bot.MinPermission, f.Answers["mia"] = "read", may(mia, ghsync.LevelTriage)
		}, "refuse 12", ""},
		{"not among the users that are allowed", func(f *gate.Facts) { f.Rules.Bot.AllowedUsers = []string{"olga"} }, "refuse 12", "mia is not in bot.allowed_users"},
		{"among the users that are allowed", func(f *gate.Facts) { f.Rules.Bot.AllowedUsers = []string{"olga", "Mia"} }, "start 18", ""},
		{"allowed, and may not write", func(f *gate.Facts) {
			f.Rules.Bot.AllowedUsers, f.Answers["mia"] = []string{"mia"}, may(mia, ghsync.LevelTriage)
		}, "refuse 12", ""},
		{"21 set again by somebody who may not", func(f *gate.Facts) {
			f.Record.Labels = append(f.Record.Labels, unlabel("agentmux", time.Second), label("agentmux", eve, 2*time.Second))
		}, "refuse 12", "eve has read permission"},
		{"21 set again by somebody who may", func(f *gate.Facts) {
			f.Record.Labels = []ghsync.LabelEvent{label("agentmux", eve, 0), unlabel("agentmux", time.Second), label("agentmux", mia, 2*time.Second)}
		}, "start 18", ""},
		{"25 two selectors", selecting("agentmux:quick", "agentmux:feature"), "refuse 13", "octo/widgets#12 has labels of several workflows: feature, quick"},
		{"25 a workflow that is not there", func(f *gate.Facts) {
			selecting("agentmux:nope")(f)
			f.Rules.Workflows = []string{"feature", "quick", "docs"}
		}, "refuse 13", `there is no workflow "nope"`},
		{"25 a workflow that may be in the base commit", selecting("agentmux:docs"), "start 18", ""},
		{"25 a name that no workflow has", selecting("agentmux:do this"), "refuse 13", `there is no workflow "do this"`},
		{"23 a title of somebody who may not write", func(f *gate.Facts) { f.Record.Renames = []ghsync.Rename{{At: asked.Add(time.Second), Actor: eve}} }, "refuse 14", "edited by eve, who may not write, at 2026-11-21 10:04:32 UTC, after mia asked"},
		{"23 a body of somebody who may not write", edit(eve, time.Second), "refuse 14", "edited by eve"},
		{"23 in the same second as the label", edit(eve, 0), "refuse 14", "edited by eve"},
		{"23 before the label", edit(eve, -time.Second), "start 18", ""},
		{"23 by somebody who may write", edit(olga, time.Second), "start 18", ""},
		{"23 by the one who asked", edit(mia, time.Second), "start 18", ""},
		{"23 by a bot", edit(robot, time.Second), "refuse 14", "edited by helper[bot]"},
		{"23 by an account that is deleted", edit(ghsync.Account{}, time.Second), "refuse 14", "edited by somebody who is not known"},
		{"23 the permission of the editor cannot be read", func(f *gate.Facts) {
			edit(eve, time.Second)(f)
			f.Answers["eve"] = gate.Answer{Err: errors.New("500")}
		}, "later 7", "the permission of eve"},
		{"23 without GraphQL, the body changed", seen("Add retry", "Something else."), "refuse 14", "edited by somebody who is not known, after mia asked"},
		{"23 without GraphQL, the title changed, by an account that is not known", seen("Add", "Please."), "refuse 14", ""},
		{"23 without GraphQL, the title changed by one who may", func(f *gate.Facts) {
			seen("Add", "Please.")(f)
			f.Record.Renames = []ghsync.Rename{{At: asked.Add(time.Second), Actor: olga}}
		}, "start 18", ""},
		{"23 without GraphQL, both changed, the title by one who may", func(f *gate.Facts) {
			seen("Add", "Something else.")(f)
			f.Record.Renames = []ghsync.Rename{{At: asked.Add(time.Second), Actor: olga}}
		}, "refuse 14", ""},
		{"23 without GraphQL, as it was seen first", seen("Add retry", "Please."), "start 18", ""},
		{"23 without GraphQL, not seen before", func(f *gate.Facts) { seen("", "")(f); f.History = past{} }, "start 18", ""},
		{"public, without a sandbox", public, "refuse 15", "octo/widgets is public, and agents run without a sandbox here"},
		{"public, in a sandbox", func(f *gate.Facts) { public(f); f.Rules.Unsandboxed = false }, "start 18", ""},
		{"public, and that is allowed", func(f *gate.Facts) { public(f); f.Rules.Gate.PublicUnsandboxed = true }, "start 18", ""},
		{"private, without a sandbox", func(f *gate.Facts) { f.Rules.Unsandboxed = true }, "start 18", ""},
		{"26 the sixth label of an issue in a day", func(f *gate.Facts) { f.History = past{labelStarts: 5} }, "refuse 16", "5 times in a day"},
		{"26 the fifth", func(f *gate.Facts) { f.History = past{labelStarts: 4} }, "start 18", ""},
		{"26 the sixth of a user in an hour", func(f *gate.Facts) { f.History = past{byUser: 5} }, "queue 17", "gate.user_hour"},
		{"26 the fifth of a user", func(f *gate.Facts) { f.History = past{byUser: 4} }, "start 18", ""},
		{"three sessions of the repository run", func(f *gate.Facts) { f.Load.Running = 3 }, "queue 17", "gate.repo_running"},
		{"two sessions of the repository run", func(f *gate.Facts) { f.Load.Running = 2 }, "start 18", ""},
		{"26 ten open pull requests", func(f *gate.Facts) { f.Load.OpenPulls.N = 10 }, "queue 17", "10 pull requests of agentmux are open"},
		{"26 nine open pull requests", func(f *gate.Facts) { f.Load.OpenPulls.N = 9 }, "start 18", ""},
		{"no slot", func(f *gate.Facts) { f.Load.FreeSlot = false }, "queue 17", "all slots are in use"},
		{"paused", func(f *gate.Facts) { f.Load.Paused = true }, "queue 17", "the bot is paused"},

		{"a comment of one who may", byComment(mia), "start 18", ""},
		{"a comment of one who may not", byComment(eve), "refuse 12", "eve has read permission"},
		{"a comment of a bot", byComment(robot), "refuse_silently 10", ""},
		{"a comment that was decided", func(f *gate.Facts) {
			byComment(mia)(f)
			f.History = past{decided: []gate.Trigger{gate.CommentTrigger(77)}}
		}, "ignore 6", ""},
		{"a comment on a closed issue", func(f *gate.Facts) { byComment(mia)(f); f.Record.Issue.Closed = true }, "ignore 3", ""},
		{"a comment after many labels", func(f *gate.Facts) { byComment(mia)(f); f.History = past{labelStarts: 5} }, "start 18", ""},
		{"a comment of a user who started much", func(f *gate.Facts) { byComment(mia)(f); f.History = past{byUser: 5} }, "queue 17", ""},
		{"an edit after a comment", func(f *gate.Facts) { byComment(mia)(f); edit(eve, time.Second)(f) }, "refuse 14", ""},

		{"24 at a terminal, on the own fork", func(f *gate.Facts) { atTerminal(f); f.Record.Repository.Fork = true }, "start 18", ""},
		{"at a terminal, archived", func(f *gate.Facts) { atTerminal(f); f.Record.Repository.Archived = true }, "start 18", ""},
		{"at a terminal, without a label", func(f *gate.Facts) { atTerminal(f); f.Record.Issue.Labels, f.Record.Labels = nil, nil }, "start 18", ""},
		{"at a terminal, a label that a bot set", func(f *gate.Facts) { atTerminal(f); f.Record.Labels[0].Actor = robot }, "start 18", ""},
		{"at a terminal, closed", func(f *gate.Facts) { atTerminal(f); f.Record.Issue.Closed = true }, "ignore 3", "is closed; reopen it to work on it"},
		{"at a terminal, a host works on it", func(f *gate.Facts) { atTerminal(f); f.Claim = &gate.Claim{Host: "h_1"} }, "ignore 5", "host h_1"},
		{"at a terminal, two selectors", func(f *gate.Facts) { selecting("agentmux:quick", "agentmux:feature")(f); atTerminal(f) }, "refuse 13", "take all but one of them off, or give --workflow"},
		{"at a terminal, a workflow of the command line", func(f *gate.Facts) {
			selecting("agentmux:quick", "agentmux:feature")(f)
			atTerminal(f)
			f.Rules.Named = "docs"
		}, "start 18", ""},
		{"at a terminal, edited after the label", func(f *gate.Facts) { edit(eve, time.Second)(f); atTerminal(f) }, "start 18", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := wanted()
			c.change(&f)
			d, need := gate.Judge(f)
			if need != (gate.Need{}) {
				t.Fatalf("needs %+v", need)
			}
			decides[d.Row] = true
			if got := verdict(d); got != c.want || !strings.Contains(d.String(), c.reason) {
				t.Errorf("%s: %s, want %s with %q", got, d, c.want, c.reason)
			}
			if d.What == gate.Refuse && d.Remedy == "" {
				t.Error("a refusal without a remedy")
			}
			if d.What != gate.Later && d.After != 0 || d.What == gate.Later && d.After <= 0 {
				t.Errorf("%s after %s", d.What, d.After)
			}
		})
	}
	names := map[string]bool{}
	for r := gate.RowSettling; r <= gate.RowMachine; r++ {
		if r <= gate.RowStart && !decides[r] {
			t.Errorf("row %d, %s, decides nothing", r, r)
		}
		if name := r.String(); name == "" || names[name] {
			t.Errorf("row %d is called %q", r, name)
		}
		names[r.String()] = true
	}
}

func byFork(f *gate.Facts) {
	f.Rules.Bot.Repos, f.Rules.Bot.Orgs, f.Record.Repository.Fork = nil, []string{"octo"}, true
}

func public(f *gate.Facts) { f.Record.Repository.Private, f.Rules.Unsandboxed = false, true }

// selecting has mia set other request labels.
func selecting(labels ...string) func(*gate.Facts) {
	return func(f *gate.Facts) {
		f.Record.Issue.Labels, f.Record.Labels = labels, nil
		for i, name := range labels {
			f.Record.Labels = append(f.Record.Labels, label(name, mia, time.Duration(i)*time.Second))
		}
	}
}

func edit(by ghsync.Account, after time.Duration) func(*gate.Facts) {
	return func(f *gate.Facts) { f.Record.BodyEdits = []ghsync.Edit{{At: asked.Add(after), Editor: by}} }
}

// seen has a server without GraphQL, and texts when the label was seen first.
func seen(title, body string) func(*gate.Facts) {
	return func(f *gate.Facts) {
		f.Record.EditorsKnown, f.Record.Issue.UpdatedAt = false, asked.Add(time.Second)
		f.History = past{first: &gate.Texts{Title: ghsync.HashOf(title), Body: ghsync.HashOf(body)}}
	}
}
