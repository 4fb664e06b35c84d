package journal_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
)

const day = 24 * time.Hour

func TestRatesCountBackFromNow(t *testing.T) {
	d := newDesk(t)
	d.add(started(12, 1, 9))
	d.pass(30 * time.Minute)
	d.add(started(12, 2, 9))
	d.add(journal.Told{Issue: 13, Trigger: trigger(2), Comment: 7})
	for _, c := range []struct {
		after                      time.Duration
		hour, ofDay, told, toldDay int
	}{
		{0, 2, 2, 1, 1}, {29 * time.Minute, 2, 2, 1, 1}, {30 * time.Minute, 1, 2, 1, 1}, {61 * time.Minute, 0, 2, 0, 1},
		{23*time.Hour + 30*time.Minute, 0, 1, 0, 1}, {day + time.Second, 0, 0, 0, 0},
	} {
		d.now = noon.Add(30*time.Minute + c.after)
		d.reopen()
		if h, of, told, toldDay := d.StartsBy(9, time.Hour), d.LabelStarts(12, day), d.Refusals(time.Hour), d.RefusalsOf(13, day); h != c.hour || of != c.ofDay || told != c.told || toldDay != c.toldDay {
			t.Errorf("after %s: %d %d %d %d, want %+v", c.after, h, of, told, toldDay, c)
		}
	}
}

// A command counts once, when it was first known; one of somebody who may give none does not count.
func TestCommandsCountForTheirRates(t *testing.T) {
	d := newDesk(t)
	on12 := func(c journal.Command) bool { return c.Issue == 12 }
	d.add(command("comment/1", journal.Accepted))
	d.pass(30 * time.Minute)
	d.add(command("comment/1", journal.Done))
	d.add(command("comment/2", journal.Refused))
	silent := command("comment/3", journal.Refused)
	silent.Verb = ""
	d.add(silent)
	d.reopen()
	if hour, minute := d.Given(time.Hour, on12), d.Given(time.Minute, on12); hour != 2 || minute != 1 {
		t.Errorf("%d in the hour, %d in the minute", hour, minute)
	}
	d.pass(31 * time.Minute)
	if hour := d.Given(time.Hour, on12); hour != 1 {
		t.Errorf("half an hour later %d", hour)
	}
	if n := d.Given(time.Hour, func(c journal.Command) bool { return c.Author == "eve" }); n != 0 {
		t.Errorf("of eve %d", n)
	}
}

// A clock that was ahead by a day and is set back delays no request for a day: what it dated ahead is
// as old as what came after it, in this process and in the next.
func TestAClockSetBackDelaysNoRequest(t *testing.T) {
	for name, restart := range map[string]bool{"one process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			again := func() {
				if restart {
					d.reopen()
				}
			}
			d.add(started(12, 1, 9))
			d.pass(day)
			d.add(started(12, 2, 9)) // dated a day ahead
			d.pass(-day + 10*time.Minute)
			again()
			d.add(started(12, 3, 9))
			if n, of := d.StartsBy(9, time.Hour), d.LabelStarts(12, day); n != 3 || of != 3 {
				t.Errorf("%d in the hour, %d in the day, want 3 of each", n, of)
			}
			d.pass(61 * time.Minute)
			again()
			if n, of := d.StartsBy(9, time.Hour), d.LabelStarts(12, day); n != 0 || of != 3 {
				t.Errorf("an hour later: %d in the hour, %d in the day", n, of)
			}
			d.pass(23 * time.Hour)
			again()
			if n := d.StartsBy(9, time.Hour); n != 0 {
				t.Errorf("when its date comes it counts again: %d", n)
			}
			if of := d.LabelStarts(12, day); of != 0 {
				t.Errorf("a day later: %d in the day", of)
			}
			for n := 1; n <= 3; n++ {
				if fresh, err := d.Append(started(12, n, 9)); fresh || err != nil {
					t.Errorf("start %d twice: %t, %v", n, fresh, err)
				}
			}
		})
	}
}

// Before anything else is written, a question alone is what comes after.
func TestAQuestionSetsTheTimeOfWhatIsAhead(t *testing.T) {
	d := newDesk(t)
	d.pass(day)
	d.add(started(12, 1, 9))
	d.pass(-day)
	if n := d.StartsBy(9, time.Hour); n != 1 {
		t.Errorf("%d, want 1", n)
	}
	d.pass(61 * time.Minute)
	if n := d.StartsBy(9, time.Hour); n != 0 {
		t.Errorf("an hour later %d", n)
	}
}

// A clock that goes ahead by a day lets rates forget, and nothing else.
func TestAClockSetAheadLosesNoDecision(t *testing.T) {
	d := newDesk(t)
	d.add(accepted(12, 1))
	d.add(refused(13, 2))
	d.add(started(12, 1, 9))
	d.add(command("comment/5", journal.Done))
	d.pass(day + time.Minute)
	d.reopen()
	if d.StartsBy(9, time.Hour) != 0 || d.LabelStarts(12, day) != 0 {
		t.Error("a day is over by the clock")
	}
	d.compacted(nothing)
	if !d.Decided(12, trigger(1)) || len(d.Owed()) != 1 || !has(d.Command("comment/5")) {
		t.Error(d.text())
	}
	d.pass(-day)
	d.reopen()
	if n := d.StartsBy(9, time.Hour); n != 1 {
		t.Errorf("the clock is right again, and %d starts count", n)
	}
}

// What compaction drops does not change how old the rest is.
func TestCompactKeepsTheOrderOfTimes(t *testing.T) {
	d := newDesk(t)
	d.pass(-100 * time.Hour)
	d.add(accepted(11, 0))
	d.pass(100*time.Hour + day)
	d.add(started(12, 1, 9)) // dated a day ahead
	d.pass(-day)
	d.add(journal.Seen{Issue: 12, Trigger: trigger(1)}) // says that
	if n := d.compacted(nothing); n != 1 {
		t.Fatalf("%d lines went", n)
	}
	d.pass(61 * time.Minute)
	d.reopen()
	if n := d.StartsBy(9, time.Hour); n != 0 {
		t.Errorf("%d starts in the hour", n)
	}
}

// request is a label that mia sets on an issue at a time of the server.
func request(issue, n int) gate.Facts {
	mia := ghsync.Account{Login: "mia", ID: 9, Type: "User"}
	at := noon.Add(time.Duration(n) * time.Second)
	return gate.Facts{
		Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, Issue: issue,
		Record: ghsync.Record{
			Repository: ghsync.Repository{Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, Private: true},
			Issue:      ghsync.Issue{Number: issue, Title: "x", Labels: []string{"agentmux"}, CreatedAt: noon.Add(-day), UpdatedAt: at},
			Labels:     []ghsync.LabelEvent{{Name: "agentmux", Added: true, At: at, Actor: mia}}, EditorsKnown: true, ReadAt: at.Add(time.Minute),
		},
		Rules: gate.Rules{
			Bot:  config.Bot{Repos: []string{"octo/widgets"}, Label: "agentmux"},
			Gate: config.Gate{UserHour: 5, RepoRunning: 3, OpenPRs: 10, IssueDay: 5},
		},
		Load:    gate.Load{FreeSlot: true, OpenPulls: &gate.Count{}},
		Answers: map[string]gate.Answer{"mia": {Permission: ghsync.Permission{Account: mia, Level: ghsync.LevelWrite}}},
	}
}

// judge decides a request with the journal as its history, and records what came of it. The
// sessions are over at once.
func (d *desk) judge(f gate.Facts) gate.Decision {
	d.t.Helper()
	f.History = d.Journal
	decision, need := gate.Judge(f)
	if need != (gate.Need{}) {
		d.t.Fatalf("needs %+v", need)
	}
	t := decision.Asked.Trigger
	if decision.Refused() || decision.Accepted() {
		d.add(journal.Decided{Issue: f.Issue, Trigger: t, With: decision.Asked.With, Row: decision.Row, What: decision.What})
	}
	if decision.What == gate.Start {
		d.add(journal.Started{Issue: f.Issue, Trigger: t, Actor: decision.Asked.By.Account.ID, Session: "s"})
	}
	if decision.Refused() {
		told := journal.Told{Issue: f.Issue, Trigger: t}
		if gate.MayComment(d.RefusalsOf(f.Issue, day), d.Refusals(time.Hour)) {
			told.Comment = int64(len(d.text()))
		}
		d.add(told)
	}
	return decision
}

// TestSecurity2OneLabelIsOneSession has one label seen again and again, by restarts and with the
// clock set by a day in between.
func TestSecurity2OneLabelIsOneSession(t *testing.T) {
	d := newDesk(t)
	starts := 0
	for n := range 10_000 {
		switch n {
		case 3000:
			d.pass(day)
		case 5000:
			d.pass(-2 * day)
		case 7000:
			d.pass(day)
		}
		if n%500 == 0 {
			d.reopen()
		}
		if decision := d.judge(request(12, 1)); decision.What == gate.Start {
			starts++
		} else if decision.Row != gate.RowDecided {
			t.Fatalf("row %d: %s", decision.Row, decision)
		}
	}
	if starts != 1 {
		t.Errorf("%d sessions", starts)
	}
}

// TestSecurity25AStormOfLabels has one person set the label on two issues, time and again, for
// a day: each rate holds, and few comments say so.
func TestSecurity25AStormOfLabels(t *testing.T) {
	d := newDesk(t)
	count := map[string]int{}
	for n := range 600 { // one each 144 s
		d.now = noon.Add(time.Duration(n*144) * time.Second)
		f := request(12+n%2, n*144)
		switch decision := d.judge(f); {
		case decision.What == gate.Start:
			count["start"]++
		case decision.Row == gate.RowIssueDay:
			count["issue_day"]++
		case decision.Row == gate.RowBusy:
			count["busy"]++
		default:
			t.Fatalf("row %d: %s", decision.Row, decision)
		}
	}
	if count["start"] != 10 || count["busy"]+count["issue_day"] != 590 || count["busy"] == 0 {
		t.Errorf("%v", count)
	}
	if n := d.Refusals(25 * time.Hour); n != 2 {
		t.Errorf("%d comments in a day, want one on each issue", n)
	}
}

// TestSecurity25AStormOfStrangers has somebody label hundreds of issues at once.
func TestSecurity25AStormOfStrangers(t *testing.T) {
	d := newDesk(t)
	for n := range 200 {
		f := request(100+n, 1)
		f.Answers = map[string]gate.Answer{"mia": {}}
		if decision := d.judge(f); decision.What != gate.Refuse || decision.Row != gate.RowPermission {
			t.Fatalf("row %d: %s", decision.Row, decision)
		}
		d.pass(time.Second)
	}
	if n := d.Refusals(time.Hour); n != 10 {
		t.Errorf("%d comments in an hour", n)
	}
	if owed := d.Owed(); len(owed) != 0 {
		t.Errorf("%d are owed", len(owed))
	}
}

// A label keeps its decision when the clock is set by a day, and a new one is judged.
func TestAClockSetByADayNeitherLosesNorDoublesARequest(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": -day, "ahead": day} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if got := d.judge(request(12, 1)); got.What != gate.Start {
				t.Fatal(got)
			}
			d.pass(step)
			for range 2 {
				if got := d.judge(request(12, 1)); got.Row != gate.RowDecided {
					t.Errorf("the same label: row %d", got.Row)
				}
				d.compacted(func(issue int, _ gate.Trigger) bool { return issue == 12 })
				d.reopen()
			}
			if got := d.judge(request(12, 2)); got.What != gate.Start {
				t.Errorf("another label: %s", got)
			}
			if got := d.judge(request(13, 1)); got.What != gate.Start {
				t.Errorf("another issue, in the same second: %s", got)
			}
		})
	}
}
