package follow_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/orchestrator"
)

var (
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	robot = ghsync.Account{Login: "robot", ID: 9, Type: "User"}
	mia   = ghsync.Account{Login: "mia", ID: 1, Type: "User"}
	rob   = ghsync.Account{Login: "rob", ID: 2, Type: "User"}
)

const head = "a41df31000000000000000000000000000000000"

func review(id int64, by ghsync.Account, minutes int) ghsync.Review {
	return ghsync.Review{ID: id, Author: by, State: "CHANGES_REQUESTED", Body: "Please.", Commit: head, SubmittedAt: noon.Add(time.Duration(minutes) * time.Minute)}
}

func red(id int64, minutes int) feedback.Check {
	return feedback.Check{ID: id, Name: "test", Done: true, Failed: true, At: noon.Add(time.Duration(minutes) * time.Minute)}
}

// objected are facts of a done session whose pull request mia wants changed, an hour later.
func objected() follow.Facts {
	return follow.Facts{
		Now: noon.Add(time.Hour), Rules: config.Followup{Days: 14, Rounds: 3, Quiet: 5 * time.Minute}, Bot: config.Bot{MinPermission: "write"}, Own: robot,
		State: &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}, Head: feedback.Head{SHA: head, Open: true, OpenedAt: noon.Add(-24 * time.Hour)},
		Reviews: []ghsync.Review{review(5, mia, 0)},
		Answers: map[string]gate.Answer{
			"mia": {Permission: ghsync.Permission{Account: mia, Level: ghsync.LevelWrite}}, "rob": {Permission: ghsync.Permission{Account: rob, Level: ghsync.LevelRead}},
		},
		Past: follow.Past{Sources: map[string]bool{}},
	}
}

// TestGitHub83WhatIsSaidOfThePullRequest lists what leads to a round, what to none, and when.
func TestGitHub83WhatIsSaidOfThePullRequest(t *testing.T) {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		change  func(*follow.Facts)
		want    follow.What
		until   time.Time
		sources string
	}{
		"a review of the head":            {func(*follow.Facts) {}, follow.Round, time.Time{}, "review/5"},
		"nothing is said":                 {func(f *follow.Facts) { f.Reviews = nil }, follow.Nothing, time.Time{}, ""},
		"of another commit":               {func(f *follow.Facts) { f.Reviews[0].Commit = "b" }, follow.Nothing, time.Time{}, ""},
		"dismissed":                       {func(f *follow.Facts) { f.Reviews[0].State = "DISMISSED" }, follow.Nothing, time.Time{}, ""},
		"a comment":                       {func(f *follow.Facts) { f.Reviews[0].State = "COMMENTED" }, follow.Nothing, time.Time{}, ""},
		"approved after it":               {func(f *follow.Facts) { f.Reviews = append(f.Reviews, approval(6, mia)) }, follow.Nothing, time.Time{}, ""},
		"approved by another":             {func(f *follow.Facts) { f.Reviews = append(f.Reviews, approval(6, rob)) }, follow.Round, time.Time{}, "review/5"},
		"approved before it":              {func(f *follow.Facts) { f.Reviews = append([]ghsync.Review{approval(4, mia)}, f.Reviews...) }, follow.Round, time.Time{}, "review/5"},
		"by the own account":              {func(f *follow.Facts) { f.Own = mia }, follow.Nothing, time.Time{}, ""},
		"by a bot":                        {func(f *follow.Facts) { f.Reviews[0].Author.Type = "Bot" }, follow.Nothing, time.Time{}, ""},
		"by a mannequin":                  {func(f *follow.Facts) { f.Reviews[0].Author.Type = "Mannequin" }, follow.Nothing, time.Time{}, ""},
		"by somebody without write":       {func(f *follow.Facts) { f.Reviews[0].Author = rob }, follow.Nothing, time.Time{}, ""},
		"by another account of the login": {func(f *follow.Facts) { f.Reviews[0].Author.ID = 77 }, follow.Nothing, time.Time{}, ""},
		"not in bot.allowed_users":        {func(f *follow.Facts) { f.Bot.AllowedUsers = []string{"ann"} }, follow.Nothing, time.Time{}, ""},
		"maintain is needed":              {func(f *follow.Facts) { f.Bot.MinPermission = "maintain" }, follow.Nothing, time.Time{}, ""},
		"the permission is not known":     {func(f *follow.Facts) { f.Answers = nil }, follow.Wait, at(61), ""},
		"the permission was not answered": {func(f *follow.Facts) { f.Answers["mia"] = gate.Answer{Err: errLost} }, follow.Wait, at(61), ""},
		"a command in a review":           {func(f *follow.Facts) { f.Reviews[0].Body = "\n/agentmux changes do it" }, follow.Nothing, time.Time{}, ""},
		"a quoted command in a review":    {func(f *follow.Facts) { f.Reviews[0].Body = "see\n/agentmux stop" }, follow.Round, time.Time{}, "review/5"},
		"it led to a round before":        {func(f *follow.Facts) { f.Past.Sources["review/5"] = true }, follow.Nothing, time.Time{}, ""},
		"a failed check":                  {func(f *follow.Facts) { f.Reviews, f.Head.Checks = nil, []feedback.Check{red(7, 0)} }, follow.Round, time.Time{}, "check/7/" + head},
		"a failed status":                 {func(f *follow.Facts) { f.Reviews, f.Head.Checks = nil, []feedback.Check{status("a, b/c")} }, follow.Round, time.Time{}, "status/a%2C+b%2Fc/" + head},
		"one that is not required":        {func(f *follow.Facts) { f.Reviews, f.Head.Checks = nil, []feedback.Check{red(7, 0), required(8)} }, follow.Nothing, time.Time{}, ""},
		"both":                            {func(f *follow.Facts) { f.Head.Checks = []feedback.Check{red(7, 1)} }, follow.Round, time.Time{}, "check/7/" + head + ",review/5"},
		"more may be said":                {func(f *follow.Facts) { f.Reviews = append(f.Reviews, review(6, mia, 57)) }, follow.Wait, at(62), "review/5,review/6"},
		"the quiet time is over":          {func(f *follow.Facts) { f.Reviews[0].SubmittedAt = at(55) }, follow.Round, time.Time{}, "review/5"},
		"the server's clock is ahead":     {func(f *follow.Facts) { f.Reviews[0].SubmittedAt, f.Seen = at(90), seen(55) }, follow.Round, time.Time{}, "review/5"},
		"one without a time": {func(f *follow.Facts) {
			f.Reviews, f.Head.Checks, f.Seen = nil, []feedback.Check{{ID: 5, Done: true, Failed: true}}, seen(58)
		}, follow.Wait, at(63), "check/5/" + head},
		"the last round is younger":         {func(f *follow.Facts) { f.Past.Rounds, f.Past.Last = 2, at(30) }, follow.Wait, at(90), "review/5"},
		"the last round is an hour old":     {func(f *follow.Facts) { f.Past.Rounds, f.Past.Last = 2, at(0) }, follow.Round, time.Time{}, "review/5"},
		"all rounds are done":               {func(f *follow.Facts) { f.Past.Rounds = 3 }, follow.Tell, time.Time{}, "review/5"},
		"all rounds are done, and told":     {func(f *follow.Facts) { f.Past.Rounds, f.Past.Told = 3, true }, follow.Nothing, time.Time{}, ""},
		"all rounds are done, nothing said": {func(f *follow.Facts) { f.Past.Rounds, f.Reviews = 3, nil }, follow.Nothing, time.Time{}, ""},
		"all days are over":                 {func(f *follow.Facts) { f.Head.OpenedAt = f.Now.Add(-14 * 24 * time.Hour) }, follow.Tell, time.Time{}, "review/5"},
		"the last day":                      {func(f *follow.Facts) { f.Head.OpenedAt = f.Now.Add(-14*24*time.Hour + time.Second) }, follow.Round, time.Time{}, "review/5"},
		"off":                               {func(f *follow.Facts) { f.Rules.Rounds = 0 }, follow.Nothing, time.Time{}, ""},
		"a person stopped it":               {func(f *follow.Facts) { f.Past.Stopped = true }, follow.Nothing, time.Time{}, ""},
		"closed":                            {func(f *follow.Facts) { f.Head.Open = false }, follow.Nothing, time.Time{}, ""},
		"the session is at work":            {func(f *follow.Facts) { f.State = &orchestrator.State{Phase: "reviewing"} }, follow.Wait, time.Time{}, "review/5"},
		"at work with all rounds done":      {func(f *follow.Facts) { f.State, f.Past.Rounds = &orchestrator.State{Phase: "reviewing"}, 3 }, follow.Wait, time.Time{}, "review/5"},
		"parked, a review":                  {func(f *follow.Facts) { f.State = parked() }, follow.Round, time.Time{}, "review/5"},
		"parked, a check":                   {func(f *follow.Facts) { f.State, f.Reviews, f.Head.Checks = parked(), nil, []feedback.Check{red(7, 0)} }, follow.Wait, time.Time{}, "check/7/" + head},
		"the session has failed": {func(f *follow.Facts) {
			f.State = &orchestrator.State{Phase: orchestrator.PhaseFailed, Outcome: orchestrator.OutcomeFailed}
		}, follow.Wait, time.Time{}, "review/5"},
		"our last push is not shown":         {func(f *follow.Facts) { f.Pushed, f.PushedAt = "b", at(59) }, follow.Wait, at(61), ""},
		"a person pushed after us":           {func(f *follow.Facts) { f.Pushed, f.PushedAt = "b", at(58) }, follow.Round, time.Time{}, "review/5"},
		"our last push is shown":             {func(f *follow.Facts) { f.Pushed, f.PushedAt = head, at(59) }, follow.Round, time.Time{}, "review/5"},
		"one counts beside one that doesn't": {func(f *follow.Facts) { f.Reviews = append(f.Reviews, review(6, rob, 58)) }, follow.Round, time.Time{}, "review/5"},
	} {
		t.Run(name, func(t *testing.T) {
			f := objected()
			c.change(&f)
			d := follow.Decide(f)
			if d.What != c.want || !d.Until.Equal(c.until) || follow.Sources(d.Objections) != c.sources {
				t.Errorf("%s until %s about %q (%s); want %s until %s about %q", d.What, d.Until, follow.Sources(d.Objections), d.Reason, c.want, c.until, c.sources)
			}
			if d.What != follow.Round && d.Reason == "" {
				t.Error("no reason")
			}
		})
	}
}

var errLost = &lost{}

type lost struct{}

func (*lost) Error() string { return "the connection is lost" }

func approval(id int64, by ghsync.Account) ghsync.Review {
	r := review(id, by, 10)
	r.State = "APPROVED"
	return r
}

func required(id int64) feedback.Check {
	return feedback.Check{ID: id, Name: "must", Required: true, Done: true}
}

func status(context string) feedback.Check {
	c := red(0, 0)
	c.Name = sanitized(context)
	return c
}

func seen(minutes int) map[string]time.Time {
	at := noon.Add(time.Duration(minutes) * time.Minute)
	return map[string]time.Time{"review/5": at, "check/5/" + head: at}
}

func parked() *orchestrator.State {
	return &orchestrator.State{Phase: "reviewing", Outcome: orchestrator.OutcomeNeedsHuman, OutcomeReason: orchestrator.ReasonAgentStalled}
}

// Only the permissions of people are asked for whose word counts, each once.
func TestPermissionsThatAreAskedFor(t *testing.T) {
	f := objected()
	old := review(8, ghsync.Account{Login: "old", ID: 3, Type: "User"}, 2)
	old.Commit = "b"
	f.Reviews = append(f.Reviews, review(6, mia, 1), review(7, rob, 1), old)
	f.Head.Checks = []feedback.Check{red(7, 1)}
	var logins []string
	for _, a := range follow.Authors(f.Objections()) {
		logins = append(logins, a.Login)
	}
	if !slices.Equal(logins, []string{"mia", "rob"}) {
		t.Errorf("%s", strings.Join(logins, " "))
	}
}
