package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/document"
)

// server answers, and counts what it was asked.
type server struct {
	levels map[string]gate.Answer
	pulls  gate.Count
	asked  []string
}

func (s *server) CurrentPermission(_ context.Context, repo ghsync.Repo, login string) (ghsync.Permission, error) {
	s.asked = append(s.asked, repo.String()+" "+login)
	a := s.levels[login]
	return a.Permission, a.Err
}

func (s *server) OpenPulls(_ context.Context, repo ghsync.Repo) (int, error) {
	s.asked = append(s.asked, repo.String()+" pulls")
	return s.pulls.N, s.pulls.Err
}

func TestOnlyWhatDecidesIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*gate.Facts)
		want   string
		asked  []string
	}{
		{"what starts", func(*gate.Facts) {}, "start 18", []string{"octo/widgets mia", "octo/widgets pulls"}},
		{"closed", func(f *gate.Facts) { f.Record.Issue.Closed = true }, "ignore 3", nil},
		{"a fork", byFork, "refuse 4", nil},
		{"claimed", func(f *gate.Facts) { f.Claim = &gate.Claim{Host: "h_1"} }, "ignore 5", nil},
		{"decided", func(f *gate.Facts) {
			f.History = past{decided: []gate.Trigger{gate.LabelTrigger(label("agentmux", mia, 0))}}
		}, "ignore 6", nil},
		{"settling", func(f *gate.Facts) { f.Record.ReadAt = asked }, "later 0", nil},
		{"unknown", func(f *gate.Facts) { f.Record.Labels = nil }, "later 8", nil},
		{"deleted", func(f *gate.Facts) { f.Record.Labels[0].Actor = ghsync.Account{} }, "refuse 9", nil},
		{"a bot", func(f *gate.Facts) { f.Record.Labels[0].Actor = robot }, "refuse_silently 10", nil},
		{"the machine account", func(f *gate.Facts) { f.Own, f.Rules.Bot.MachineAccount = mia, true }, "refuse_silently 11", nil},
		{"not allowed by name", func(f *gate.Facts) { f.Rules.Bot.AllowedUsers = []string{"olga"} }, "refuse 12", nil},
		{"may not write", func(f *gate.Facts) { f.Record.Labels[0].Actor = eve }, "refuse 12", []string{"octo/widgets eve"}},
		{"edited by one who may", edit(olga, time.Second), "start 18", []string{"octo/widgets mia", "octo/widgets olga", "octo/widgets pulls"}},
		{"edited by who asked", edit(mia, time.Second), "start 18", []string{"octo/widgets mia", "octo/widgets pulls"}},
		{"paused", func(f *gate.Facts) { f.Load.Paused = true }, "queue 17", []string{"octo/widgets mia"}},
		{"no slot", func(f *gate.Facts) { f.Load.FreeSlot = false }, "queue 17", []string{"octo/widgets mia"}},
		{"renamed", func(f *gate.Facts) { f.Record.Repository.Name = "gadgets" }, "start 18", []string{"octo/gadgets mia", "octo/gadgets pulls"}},
		{"at a terminal", atTerminal, "start 18", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := wanted()
			s := &server{levels: f.Answers}
			f.Answers, f.Load.OpenPulls = nil, nil
			c.change(&f)
			if got := verdict(gate.Decide(t.Context(), f, s)); got != c.want || !slices.Equal(s.asked, c.asked) {
				t.Errorf("%s after %q, want %s after %q", got, s.asked, c.want, c.asked)
			}
		})
	}
}

// The first decision that needs an answer says so and starts nothing.
func TestANeedDecidesNothing(t *testing.T) {
	f := wanted()
	f.Answers = nil
	d, need := gate.Judge(f)
	if need != (gate.Need{Permission: "mia"}) || d.What != gate.Ignore || d.Accepted() || d.Refused() {
		t.Errorf("%+v, %+v", d, need)
	}
	f = wanted()
	f.Load.OpenPulls = nil
	if d, need := gate.Judge(f); need != (gate.Need{OpenPulls: true}) || d.What != gate.Ignore {
		t.Errorf("%+v, %+v", d, need)
	}
}

func TestGitHub22ItStartsOnlyWhenThePermissionIsKnown(t *testing.T) {
	f := wanted()
	s := &server{levels: map[string]gate.Answer{"mia": {Err: errors.New("500")}}}
	f.Answers = nil
	waited := time.Duration(0)
	for waited < 10*time.Minute {
		d := gate.Decide(t.Context(), f, s)
		if d.What != gate.Later || d.Row != gate.RowUnread || d.After < time.Second || d.After > 90*time.Second {
			t.Fatalf("after %s: %s", waited, verdict(d))
		}
		f.Tries = f.Tries.After(d)
		waited += d.After
	}
	if n := len(s.asked); n > 15 {
		t.Errorf("asked %d times in 10 minutes", n)
	}
	s.levels["mia"] = may(mia, ghsync.LevelWrite)
	if d := gate.Decide(t.Context(), f, s); d.What != gate.Start {
		t.Error(verdict(d))
	}
	s.levels["mia"] = gate.Answer{Err: &transport.RetryAfter{Wait: 7 * time.Minute}}
	if d := gate.Decide(t.Context(), f, s); d.After != 7*time.Minute {
		t.Errorf("the server said seven minutes, not %s", d.After)
	}
}

// The history of an issue may lag behind its labels for a while.
func TestALabelWithoutAnEventIsRefusedAfterThreeTries(t *testing.T) {
	f := wanted()
	f.Record.Labels = nil
	f.Tries = gate.Tries{Row: gate.RowUnread, N: 20} // of an hour without GitHub
	for _, want := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		d, _ := gate.Judge(f)
		if d.What != gate.Later || d.After != want {
			t.Fatalf("%s after %s, want %s", verdict(d), d.After, want)
		}
		f.Tries = f.Tries.After(d)
	}
	d, _ := gate.Judge(f)
	if verdict(d) != "refuse 8" {
		t.Error(verdict(d))
	}
	// Set once more, it is another trigger, although the history does not know that either.
	again := f
	again.Record.Issue.UpdatedAt = asked.Add(time.Hour)
	if e, _ := gate.Judge(again); e.Asked.Trigger == d.Asked.Trigger {
		t.Errorf("%s twice", d.Asked.Trigger)
	}
}

// Who reads the label of the end and asks again at once is not dropped: the host gives its claim back
// within a minute. A session that waits for a person has the same label, and keeps its claim.
func TestALabelSetAtTheEndWaitsForTheClaim(t *testing.T) {
	for _, state := range []string{"needs-human", "done", "Failed"} {
		f := wanted()
		f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:"+state)
		f.Claim = &gate.Claim{Host: "h_1"}
		for _, want := range []time.Duration{2 * time.Second, 10 * time.Second, 45 * time.Second} {
			d, _ := gate.Judge(f)
			if verdict(d) != "later 5" || d.After != want || d.DropsLabel() {
				t.Fatalf("%s: %s after %s, want %s", state, verdict(d), d.After, want)
			}
			f.Tries = f.Tries.After(d)
		}
		if d, _ := gate.Judge(f); verdict(d) != "ignore 5" || !d.DropsLabel() {
			t.Errorf("%s: %s", state, verdict(d))
		}
		f.Claim = nil
		if d, _ := gate.Judge(f); verdict(d) != "start 18" {
			t.Errorf("%s: %s", state, verdict(d))
		}
	}
	for what, change := range map[string]func(*gate.Facts){
		"at work":                func(f *gate.Facts) { f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:running") },
		"a label of another bot": func(f *gate.Facts) { f.Record.Issue.Labels = append(f.Record.Issue.Labels, "other:done") },
		"this request, whose ticket takes the old label off": func(f *gate.Facts) {
			byTicket()(f)
			f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:done")
		},
	} {
		f := wanted()
		f.Claim = &gate.Claim{Host: "h_1"}
		change(&f)
		if d, _ := gate.Judge(f); verdict(d) != "ignore 5" {
			t.Errorf("%s: %s", what, verdict(d))
		}
	}
}

// Who reads that a request ended without a session, or that a person stopped one, and asks again at once is not dropped,
// however long this host takes to give its claim back.
func TestALabelSetWhileThisHostEndsWaitsForTheClaim(t *testing.T) {
	f := wanted()
	f.Claim = &gate.Claim{Host: "h_1", Ending: true, Served: []gate.Trigger{gate.LabelTrigger(label("agentmux", mia, -time.Minute))}}
	for _, want := range []time.Duration{2 * time.Second, 10 * time.Second, 45 * time.Second, 45 * time.Second, 45 * time.Second} {
		d, _ := gate.Judge(f)
		if verdict(d) != "later 5" || d.After != want || d.DropsLabel() {
			t.Fatalf("%s after %s, want %s", verdict(d), d.After, want)
		}
		f.Tries = f.Tries.After(d)
	}
	f.Claim = nil
	if d, _ := gate.Judge(f); verdict(d) != "start 18" {
		t.Error(verdict(d))
	}
	byTicket()(&f)
	f.Claim.Ending = true
	if d, _ := gate.Judge(f); verdict(d) != "ignore 5" || d.DropsLabel() {
		t.Errorf("the request whose ticket ends: %s", verdict(d))
	}
}

// Of a ticket that cannot be read it is not known which label it is for. Who can read it needs that label.
func TestNoLabelIsTakenOffBesideATicketThatCannotBeRead(t *testing.T) {
	f := wanted()
	f.Claim = &gate.Claim{Host: "h_1", Unread: true}
	if d, _ := gate.Judge(f); verdict(d) != "ignore 5" || d.DropsLabel() {
		t.Errorf("%s, drops the label: %v", verdict(d), d.DropsLabel())
	}
}

// A label that was set again is not taken off while another host is about to begin: that one takes off all of them with
// its state label, and reads from one that is gone before that a person has withdrawn the request. Nor is it taken off
// while that host may be giving its claim back because what it had in its queue was refused or stopped: who has read that
// and sets the label asks for something new. Beside a session that runs it goes at once.
func TestGitHub36ALabelIsLeftToAHostThatIsAboutToBegin(t *testing.T) {
	for _, state := range []string{"", ghsync.LabelQueued, ghsync.LabelRunning} {
		f := wanted()
		f.Claim = &gate.Claim{Host: "h_1", Serves: gate.LabelTrigger(label("agentmux", mia, -time.Minute)).String()}
		if state != "" {
			f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:"+state)
		}
		waited := time.Duration(0)
		d, _ := gate.Judge(f)
		for ; verdict(d) == "later 5" && !d.DropsLabel(); d, _ = gate.Judge(f) {
			waited += d.After
			f.Tries = f.Tries.After(d)
		}
		if least := time.Minute - 5*time.Second; verdict(d) != "ignore 5" || !d.DropsLabel() || (waited < least) != (state == ghsync.LabelRunning) {
			t.Errorf("%q: %s after %s", state, verdict(d), waited)
		}
	}
}

func TestGitHub25TwoLabelsSetTogetherAreOneRequest(t *testing.T) {
	f := wanted()
	f.Record.ReadAt = asked.Add(time.Second)
	first, _ := gate.Judge(f)
	if verdict(first) != "later 0" || first.After != 4*time.Second {
		t.Fatalf("%s after %s", verdict(first), first.After)
	}
	selecting("agentmux", "agentmux:quick")(&f)
	f.Record.ReadAt = asked.Add(5 * time.Second)
	if d, _ := gate.Judge(f); verdict(d) != "later 0" || d.After != time.Second {
		t.Fatalf("%s after %s", verdict(d), d.After)
	}
	f.Record.ReadAt = asked.Add(6 * time.Second)
	d, _ := gate.Judge(f)
	want := gate.Asked{
		Trigger: gate.LabelTrigger(label("agentmux:quick", mia, time.Second)), With: []gate.Trigger{gate.LabelTrigger(label("agentmux", mia, 0))},
		Workflow: "quick", By: ghsync.Permission{Account: mia, Level: ghsync.LevelWrite}, CutOff: asked.Add(time.Second),
	}
	if d.What != gate.Start || fmt.Sprintf("%+v", d.Asked) != fmt.Sprintf("%+v", want) {
		t.Errorf("%s\n%+v, want\n%+v", verdict(d), d.Asked, want)
	}
	t.Run("other label", func(t *testing.T) {
		f := wanted()
		f.Rules.Bot.Label = "helper"
		selecting("helper:quick")(&f)
		if d, _ := gate.Judge(f); d.What != gate.Start || d.Asked.Workflow != "quick" {
			t.Errorf("%s, %+v", verdict(d), d.Asked)
		}
	})
}

// A clock that is behind the server's does not keep a label waiting for longer than one that is
// right.
func TestAClockThatIsBehindDelaysNothing(t *testing.T) {
	f := wanted()
	f.Record.ReadAt = asked.Add(-24 * time.Hour)
	d, _ := gate.Judge(f)
	if verdict(d) != "later 0" || d.After != 5*time.Second {
		t.Fatalf("%s after %s", verdict(d), d.After)
	}
	f.Tries, f.Record.ReadAt = f.Tries.After(d), f.Record.ReadAt.Add(5*time.Second)
	if d, _ := gate.Judge(f); d.What != gate.Start {
		t.Error(verdict(d))
	}
}

func TestAPersonAtATerminalIsWarned(t *testing.T) {
	f := wanted()
	atTerminal(&f)
	public(&f)
	d, _ := gate.Judge(f)
	if d.What != gate.Start || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "octo/widgets is public") {
		t.Errorf("%s, %q", verdict(d), d.Warnings)
	}
	if by := d.Asked.By; by.Account != mia || by.Level != ghsync.LevelRead || d.Asked.Trigger.Kind != gate.CLI {
		t.Errorf("%+v", d.Asked)
	}
}

// TestSecurity34PublicWithoutASandbox has strangers' words reach agents that no sandbox holds.
func TestSecurity34PublicWithoutASandbox(t *testing.T) {
	f := wanted()
	public(&f)
	if d, _ := gate.Judge(f); verdict(d) != "refuse 15" || !strings.Contains(d.Remedy, "gate.public_unsandboxed") {
		t.Errorf("%s: %s", verdict(d), d)
	}
}

// byTicket is a ticket of this host for the first label, and for those that were set with it.
func byTicket(with ...ghsync.LabelEvent) func(*gate.Facts) {
	return func(f *gate.Facts) {
		f.Claim = &gate.Claim{Host: "h_1"}
		for _, e := range append(with, label("agentmux", mia, 0)) {
			f.Claim.Served = append(f.Claim.Served, gate.LabelTrigger(e))
		}
	}
}

// A label that comes back while a host works on the issue goes off; so does that of a refusal.
func TestWhichDecisionsDropTheLabel(t *testing.T) {
	for _, c := range []struct {
		change func(*gate.Facts)
		row    string
		drops  bool
	}{
		{func(f *gate.Facts) { f.Claim = &gate.Claim{Host: "h_1"} }, "ignore 5", true},
		{func(f *gate.Facts) { f.Claim = &gate.Claim{Host: "h_1", Unproven: true} }, "later 5", false},
		{func(f *gate.Facts) { // the other host takes it off, and would miss it
			f.Claim = &gate.Claim{Host: "h_1", Serves: gate.LabelTrigger(label("agentmux", mia, 0)).String()}
		}, "ignore 5", false},
		{func(f *gate.Facts) { // set again
			f.Claim = &gate.Claim{Host: "h_1", Serves: gate.LabelTrigger(label("agentmux", mia, -time.Minute)).String()}
			f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:running")
		}, "ignore 5", true},
		{func(f *gate.Facts) { // set again, and the other host takes it off itself
			f.Claim = &gate.Claim{Host: "h_1", Serves: gate.LabelTrigger(label("agentmux", mia, -time.Minute)).String()}
		}, "later 5", false},
		{byTicket(), "ignore 5", false}, // its placard does, once the state label is on
		{func(f *gate.Facts) {
			byTicket()(f)
			f.Record.Labels = append(f.Record.Labels, unlabel("agentmux", time.Second), label("agentmux", mia, 2*time.Second))
		}, "ignore 5", true},
		{func(f *gate.Facts) {
			byTicket()(f)
			f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:quick")
			f.Record.Labels = append(f.Record.Labels, label("agentmux:quick", mia, time.Minute))
		}, "ignore 5", true},
		{func(f *gate.Facts) { // the history does not know the second one yet
			byTicket()(f)
			f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:quick")
		}, "ignore 5", true},
		{func(f *gate.Facts) { // set together
			f.Record.Issue.Labels = append(f.Record.Issue.Labels, "agentmux:quick")
			f.Record.Labels = append(f.Record.Labels, label("agentmux:quick", mia, time.Second))
			byTicket(label("agentmux:quick", mia, time.Second))(f)
		}, "ignore 5", false},
		{func(f *gate.Facts) { f.Record.Labels[0].Actor = eve }, "refuse 12", true},
		{func(f *gate.Facts) { f.Record.Labels[0].Actor = robot }, "refuse_silently 10", true},
		{func(f *gate.Facts) {
			f.History = past{decided: []gate.Trigger{gate.LabelTrigger(label("agentmux", mia, 0))}}
		}, "ignore 6", false},
		{func(f *gate.Facts) { f.Answers["mia"] = gate.Answer{Err: errors.New("500")} }, "later 7", false},
		{func(f *gate.Facts) { f.Load.Paused = true }, "queue 17", false},
		{func(*gate.Facts) {}, "start 18", false},
	} {
		f := wanted()
		c.change(&f)
		if d, _ := gate.Judge(f); verdict(d) != c.row || d.DropsLabel() != c.drops {
			t.Errorf("%s, want %s; drops the label: %t", verdict(d), c.row, d.DropsLabel())
		}
	}
}

// TestSecurity1MayAskFailsClosed is row 12 alone, as the guard judges it before a push.
func TestSecurity1MayAskFailsClosed(t *testing.T) {
	bot := config.Bot{MinPermission: "write"}
	for _, c := range []struct {
		name   string
		bot    config.Bot
		answer gate.Answer
		want   string
	}{
		{"write", bot, may(mia, ghsync.LevelWrite), ""},
		{"nothing known", bot, gate.Answer{}, "refuse 12"},
		{"taken away", bot, may(mia, ghsync.LevelTriage), "refuse 12"},
		{"no answer", bot, gate.Answer{Err: errors.New("500")}, "later 7"},
		{"an answer with an error", bot, gate.Answer{Permission: may(mia, ghsync.LevelAdmin).Permission, Err: errors.New("500")}, "later 7"},
		{"no minimum", config.Bot{}, may(mia, ghsync.LevelTriage), "refuse 12"},
		{"more is wanted", config.Bot{MinPermission: "admin"}, may(mia, ghsync.LevelMaintain), "refuse 12"},
		{"another account", bot, may(ghsync.Account{Login: "mia", ID: 1000}, ghsync.LevelAdmin), "refuse 12"},
		{"taken off the list", config.Bot{AllowedUsers: []string{"olga"}}, may(mia, ghsync.LevelAdmin), "refuse 12"},
	} {
		d, ok := gate.MayAsk(c.bot, mia, c.answer)
		if ok != (c.want == "") || !ok && verdict(d) != c.want {
			t.Errorf("%s: %t, %s, want %s", c.name, ok, verdict(d), c.want)
		}
	}
}

// TestSecurity25ATurnIsJudgedAgain has each rate hold an accepted request by itself.
func TestSecurity25ATurnIsJudgedAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*gate.Turn)
		want   string
	}{
		{"free", func(*gate.Turn) {}, "start 18"},
		{"paused", func(t *gate.Turn) { t.Load.Paused = true }, "queue 17"},
		{"user_hour", func(t *gate.Turn) { t.History = past{byUser: 5} }, "queue 17"},
		{"user_hour of another", func(t *gate.Turn) { t.Actor, t.History = olga.ID, past{byUser: 5} }, "start 18"},
		{"repo_running", func(t *gate.Turn) { t.Load.Running = 3 }, "queue 17"},
		{"no slot", func(t *gate.Turn) { t.Load.FreeSlot = false }, "queue 17"},
		{"open_prs", func(t *gate.Turn) { t.Load.OpenPulls = &gate.Count{N: 10} }, "queue 17"},
		{"not counted", func(t *gate.Turn) { t.Load.OpenPulls = &gate.Count{Err: errors.New("500")} }, "later 7"},
	} {
		f := wanted()
		turn := gate.Turn{Actor: mia.ID, Gate: f.Rules.Gate, Load: f.Load}
		c.change(&turn)
		if d, need := turn.Judge(); verdict(d) != c.want || need != (gate.Need{}) {
			t.Errorf("%s: %s, %+v, want %s", c.name, verdict(d), need, c.want)
		}
	}
	f := wanted()
	f.Load.OpenPulls = nil
	if _, need := (gate.Turn{Gate: f.Rules.Gate, Load: f.Load}).Judge(); !need.OpenPulls {
		t.Error("the open pull requests are not asked for")
	}
}

func TestGitHub80TheRepositoryIsRefusedAndTheMachineWaitedFor(t *testing.T) {
	bad := document.Problems{
		{File: ".agentmux/config.yaml", Line: 3, Path: "bot", Text: "is a key of the host"},
		{File: ".agentmux/workflows/docs.yaml", Line: 9, Text: "no phase \"x\""},
	}
	warning := document.Problems{{File: ".agentmux/config.yaml", Line: 1, Text: "is never read", Warning: true}}
	lacks := []string{"claude is not logged in"}
	for _, c := range []struct {
		name    string
		slot    gate.Slot
		want    string
		details []string
	}{
		{"nothing wrong", gate.Slot{}, "start 18", nil},
		{"a warning", gate.Slot{Base: warning}, "start 18", nil},
		{"the base", gate.Slot{Base: append(bad, warning...)}, "refuse 19", []string{".agentmux/config.yaml:3: bot: is a key of the host", ".agentmux/workflows/docs.yaml:9: no phase \"x\""}},
		{"the machine", gate.Slot{Machine: lacks}, "queue 20", lacks},
		{"both", gate.Slot{Base: bad, Machine: lacks}, "refuse 19", bad.Lines()},
	} {
		d := c.slot.Judge()
		if verdict(d) != c.want || !slices.Equal(d.Details, c.details) {
			t.Errorf("%s: %s, %q, want %s, %q", c.name, verdict(d), d.Details, c.want, c.details)
		}
		if d.What == gate.Queue && d.After != time.Minute {
			t.Errorf("%s: judged again after %s", c.name, d.After)
		}
	}
}
