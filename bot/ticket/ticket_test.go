package ticket_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
)

var began = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// request is a ticket of an issue that somebody asked for some minutes after the first.
func request(repo int64, issue int, actor int64, minutes int) ticket.Ticket {
	at := began.Add(time.Duration(minutes) * time.Minute)
	who := ghsync.Account{Login: fmt.Sprint("u", actor), ID: actor, Type: "User"}
	return ticket.Ticket{
		Repo: ghsync.Repo{Owner: "octo", Name: fmt.Sprint("r", repo)}, RepoID: repo, Issue: issue, Session: fmt.Sprintf("20261121-100431-issue-%d", issue),
		Identity: "0123456789abcdef", Trigger: gate.LabelTrigger(ghsync.LabelEvent{Name: "agentmux", Added: true, At: at, Actor: who}),
		Actor: who, Requested: at, Made: at.Add(time.Second), Snapshot: &ghsync.Snapshot{Issue: issue},
	}
}

func TestATicketIsReadAsItWasWritten(t *testing.T) {
	s := ticket.Of(t.TempDir())
	for _, issue := range []int{12, 3} {
		if err := s.Write(request(1, issue, 9, issue)); err != nil {
			t.Fatal(err)
		}
	}
	got, problems, err := s.List()
	if err != nil || len(problems) > 0 || len(got) != 2 || got[0].Issue != 3 || got[1].Issue != 12 {
		t.Fatalf("tickets %+v, problems %v, %v", got, problems, err)
	}
	want := request(1, 12, 9, 12)
	if got[1].Trigger != want.Trigger || !got[1].Requested.Equal(want.Requested) || got[1].Session != want.Session || got[1].Actor != want.Actor {
		t.Errorf("read %+v, written %+v", got[1], want)
	}
	if err := os.WriteFile(s.Placard(12), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Remove(12); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Read(12); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after its removal: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(s.Placard(12))); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// The placard of a ticket takes the labels off that asked for it; that of a saved one shows nothing.
func TestWhichLabelsATicketTakesOff(t *testing.T) {
	s, one := ticket.Of(t.TempDir()), request(1, 12, 9, 0)
	one.With = []gate.Trigger{{Kind: gate.Label, Name: "agentmux:quick", At: one.Trigger.At, ID: 9}}
	for _, c := range []struct {
		saved bool
		want  int
	}{{false, 2}, {true, 0}} {
		one.Saved = c.saved
		if err := s.Write(one); err != nil {
			t.Fatal(err)
		}
		got := s.Served(12)
		if len(got) != c.want || c.want > 0 && (!slices.Contains(got, one.Trigger) || !slices.Contains(got, one.With[0])) {
			t.Errorf("saved %t: %v", c.saved, got)
		}
	}
	if got := s.Served(13); got != nil {
		t.Errorf("without a ticket: %v", got)
	}
}

func TestWhatIsNoTicketIsNotWritten(t *testing.T) {
	for name, change := range map[string]func(*ticket.Ticket){
		"no issue":           func(t *ticket.Ticket) { t.Issue = 0 },
		"no repository":      func(t *ticket.Ticket) { t.RepoID = 0 },
		"a path as a name":   func(t *ticket.Ticket) { t.Session = "../x" },
		"no identity":        func(t *ticket.Ticket) { t.Identity = "" },
		"no snapshot":        func(t *ticket.Ticket) { t.Snapshot = nil },
		"of another issue's": func(t *ticket.Ticket) { t.Snapshot = &ghsync.Snapshot{Issue: 13} },
	} {
		t.Run(name, func(t *testing.T) {
			s, one := ticket.Of(t.TempDir()), request(1, 12, 9, 0)
			change(&one)
			if err := s.Write(one); err == nil {
				t.Error("written")
			}
		})
	}
}

// A damaged ticket is moved aside and named once; the others are there. One of a newer version
// stays where it is.
func TestADamagedTicketStopsNoOther(t *testing.T) {
	whole := func(t *testing.T) string {
		s := ticket.Of(t.TempDir())
		if err := s.Write(request(1, 12, 9, 0)); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(s.Placard(12)), "12.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, c := range map[string]struct {
		text  func(string) string
		newer bool
	}{
		"empty":               {text: func(string) string { return "" }},
		"cut off":             {text: func(s string) string { return s[:len(s)/2] }},
		"of another issue":    {text: func(s string) string { return strings.Replace(s, `"issue":12`, `"issue":13`, 1) }},
		"a session elsewhere": {text: func(s string) string { return strings.Replace(s, `"session":"2026`, `"session":"../2026`, 1) }},
		"a list":              {text: func(string) string { return "[]" }},
		"newer":               {text: func(s string) string { return strings.Replace(s, `"version":1`, `"version":2`, 1) }, newer: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := ticket.Of(t.TempDir())
			if err := s.Write(request(1, 3, 9, 0)); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(s.Placard(3))
			if err := os.WriteFile(filepath.Join(dir, "12.json"), []byte(c.text(whole(t))), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, problems, err := s.Peek()
				if err != nil || len(got) != 1 || len(problems) != 1 || filepath.Base(problems[0].File) != "12.json" {
					t.Fatalf("peeked at %+v, problems %v, %v", got, problems, err)
				}
			}
			got, problems, err := s.List()
			if err != nil || len(got) != 1 || got[0].Issue != 3 || len(problems) != 1 || problems[0].Issue != 12 {
				t.Fatalf("tickets %+v, problems %v, %v", got, problems, err)
			}
			if errors.Is(problems[0], ticket.ErrNewer) != c.newer {
				t.Errorf("problem %v", problems[0])
			}
			if _, err := os.Stat(problems[0].File); err != nil {
				t.Errorf("the file is not where it is said to be: %v", err)
			}
			_, problems, err = s.List()
			if err != nil || len(problems) > 0 != c.newer {
				t.Errorf("told again: %v, %v", problems, err)
			}
		})
	}
}

func keys(tickets []ticket.Ticket) (list []string) {
	for _, t := range tickets {
		list = append(list, fmt.Sprintf("%d#%d", t.RepoID, t.Issue))
	}
	return list
}

func TestRepositoriesAndPeopleTakeTurns(t *testing.T) {
	var none ticket.Turns
	var one ticket.Turns
	one.Took(request(1, 99, 7, 0))
	for name, c := range map[string]struct {
		tickets []ticket.Ticket
		turns   ticket.Turns
		want    []string
	}{
		"the oldest label first": {
			[]ticket.Ticket{request(1, 1, 7, 3), request(1, 2, 7, 1), request(1, 3, 7, 2)}, none,
			[]string{"1#2", "1#3", "1#1"},
		},
		"a busy repository does not keep others waiting": {
			[]ticket.Ticket{request(1, 1, 7, 0), request(1, 2, 7, 1), request(1, 3, 7, 2), request(2, 4, 7, 3), request(3, 5, 7, 4)}, none,
			[]string{"1#1", "2#4", "3#5", "1#2", "1#3"},
		},
		"nor a busy person": {
			[]ticket.Ticket{request(1, 1, 7, 0), request(1, 2, 7, 1), request(1, 3, 7, 2), request(1, 4, 8, 3)}, none,
			[]string{"1#1", "1#4", "1#2", "1#3"},
		},
		"who had a turn waits for the others": {
			[]ticket.Ticket{request(1, 1, 7, 0), request(1, 2, 8, 1), request(2, 3, 7, 2)}, one,
			[]string{"2#3", "1#2", "1#1"},
		},
		"one second": {
			[]ticket.Ticket{request(2, 1, 7, 0), request(1, 5, 7, 0), request(1, 4, 7, 0)}, none,
			[]string{"1#4", "2#1", "1#5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := keys(ticket.Order(c.tickets, c.turns)); !slices.Equal(got, c.want) {
				t.Errorf("order %v, want %v", got, c.want)
			}
			slices.Reverse(c.tickets)
			if got := keys(ticket.Order(c.tickets, c.turns)); !slices.Equal(got, c.want) {
				t.Errorf("the order they are given in counts: %v", got)
			}
		})
	}
}

// many are requests of seven people in five repositories.
func many(n int) (all []ticket.Ticket) {
	for i := range n {
		all = append(all, request(int64(i%5+1), i+1, int64(i%7+1), (i*37)%1000))
	}
	return all
}

// The order is what taking the tickets one by one gives.
func TestGitHub72TheOrderHoldsWhileTheQueueDrains(t *testing.T) {
	all := many(150)
	want := keys(ticket.Order(all, ticket.Turns{}))
	var turns ticket.Turns
	var got []string
	for rest := all; len(rest) > 0; {
		next := ticket.Order(rest, turns)[0]
		turns.Took(next)
		got = append(got, keys([]ticket.Ticket{next})...)
		rest = slices.DeleteFunc(slices.Clone(rest), func(t ticket.Ticket) bool { return t.Key() == next.Key() })
	}
	if !slices.Equal(got, want) {
		t.Error("the order changes while tickets get their turns")
	}
}

func TestGitHub72AThousandInFiveRepositoriesTakeTurns(t *testing.T) {
	want := keys(ticket.Order(many(1000), ticket.Turns{}))
	for i := 0; i+5 <= 1000; i += 5 {
		seen := map[string]bool{}
		for _, k := range want[i : i+5] {
			repo, _, _ := strings.Cut(k, "#")
			seen[repo] = true
		}
		if len(seen) != 5 {
			t.Fatalf("of five turns in a row, repositories %v had one", seen)
		}
	}
}

// Who does not own the shelf has a ticket dropped by a file beside it, which asks for nothing of a later ticket of the
// issue and goes after the one that it stops.
func TestATicketIsStoppedFromOutside(t *testing.T) {
	s, one := ticket.Of(t.TempDir()), request(1, 12, 9, 0)
	if err := errors.Join(s.Write(one), s.Write(request(1, 3, 9, 0)), s.Stop(one, "mia stopped it", time.Time{})); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(12); err != nil || got.Dropped != "mia stopped it" {
		t.Errorf("read: dropped %q, %v", got.Dropped, err)
	}
	if got, err := s.Drop(12, "the issue was closed", time.Time{}); err != nil || got.Dropped != "mia stopped it" {
		t.Errorf("dropped again: %q, %v", got.Dropped, err)
	}
	noticed := time.Date(2026, 11, 21, 10, 9, 0, 0, time.UTC)
	for _, at := range []time.Time{noticed, noticed.Add(time.Hour)} {
		if got, err := s.Drop(12, "another reason", at); err != nil || got.Dropped != "mia stopped it" || !got.Stopped.Equal(noticed) {
			t.Errorf("noticed by its owner: dropped %q at %s, %v", got.Dropped, got.Stopped, err)
		}
	}
	if got, err := s.Stopped(one.Session); err != nil || got.Issue != 12 {
		t.Errorf("stopped: issue %d, %v", got.Issue, err)
	}
	if got, err := s.Stopped("20261121-100431-issue-3"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of another one: issue %d, %v", got.Issue, err)
	}
	if got, err := s.Drop(4, "the issue was closed", time.Time{}); err != nil || got.Issue != 0 {
		t.Errorf("without a ticket: issue %d, %v", got.Issue, err)
	}
	later := one
	later.Session += "-2"
	if err := s.Write(later); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(12); err != nil || got.Dropped != "" {
		t.Errorf("a later ticket: dropped %q, %v", got.Dropped, err)
	}
	if err := s.Remove(12); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(s.Placard(12))); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// A ticket that begins while a person stops it leaves nothing behind that would stop a later one of the same session.
func TestAStopThatComesTooLateLeavesNothing(t *testing.T) {
	s, one := ticket.Of(t.TempDir()), request(1, 12, 9, 0)
	if err := errors.Join(s.Write(one), s.Remove(12), s.Stop(one, "mia stopped it", time.Time{})); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(s.Placard(12))); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := s.Write(one); err != nil { // it comes back from another machine
		t.Fatal(err)
	}
	if got, err := s.Read(12); err != nil || got.Dropped != "" {
		t.Errorf("read: dropped %q, %v", got.Dropped, err)
	}
}

// An issue whose ticket is dropped, or whose request is refused, is held by a claim alone: so is one whose session has
// ended, unless it has a ticket by now, or one that cannot be read.
func TestEnds(t *testing.T) {
	s := ticket.Of(t.TempDir())
	refused := func(is bool) func(int, gate.Trigger) bool {
		return func(int, gate.Trigger) bool { return is }
	}
	check := func(what string, ended, isRefused, want bool) {
		t.Helper()
		if got := s.Ends(3, ended, refused(isRefused)); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	check("nothing", false, false, false)
	check("a session that ended", true, false, true)
	waits := request(1, 3, 9, 3)
	if err := s.Write(waits); err != nil {
		t.Fatal(err)
	}
	check("a ticket that waits", true, false, false)
	check("a ticket that is refused", false, true, true)
	if err := s.Stop(waits, "mia stopped it", time.Time{}); err != nil {
		t.Fatal(err)
	}
	check("a ticket that is stopped", false, false, true)
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Placard(3)), "3.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("a ticket that cannot be read", true, false, false)
}

// A stop that the owner of a ticket was not there to hear has the time at which it was asked for, by the clock of the server.
func TestAStopFromOutsideHasATime(t *testing.T) {
	s := ticket.Of(t.TempDir())
	one, at := request(1, 2, 9, 0), time.Date(2026, 11, 21, 10, 9, 0, 0, time.UTC)
	if err := errors.Join(s.Write(one), s.Stop(one, "mia stopped it", at)); err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{3 * time.Minute, time.Hour} { // noted once
		read, err := s.Read(one.Issue)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Dated(read, ahead); err != nil || got.Dropped != "mia stopped it" || !got.Stopped.Equal(at.Add(3*time.Minute)) {
			t.Errorf("dropped %q at %s, %v", got.Dropped, got.Stopped, err)
		}
	}
	other := request(1, 3, 9, 0)
	if got, err := s.Dated(other, time.Minute); err != nil || !got.Stopped.IsZero() || got.Dropped != "" {
		t.Errorf("one that was not stopped: %q at %s, %v", got.Dropped, got.Stopped, err)
	}
}
