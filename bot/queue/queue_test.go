package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/queue"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
)

var began = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// world is a queue with a machine, a history and a clock that a test sets.
type world struct {
	*queue.Queue
	lacks  []string
	now    time.Time
	starts map[int64]int // by actor
	pulls  gate.Count
	asked  int // how often open pull requests were counted

	mu     sync.Mutex // of what follows, which Run changes in a goroutine of its own
	paused bool
	begun  []ticket.Ticket
}

func (w *world) Lacks(context.Context) []string { return w.lacks }

func (w *world) Paused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paused
}

func (w *world) pause(paused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = paused
}

func (w *world) StartsBy(actor int64, _ time.Duration) int { return w.starts[actor] }

func (w *world) LabelStarts(int, time.Duration) int { return 0 }

func (w *world) Decided(int, gate.Trigger) bool { return false }

func (w *world) FirstSeen(int, gate.Trigger) (gate.Texts, bool) { return gate.Texts{}, false }

// free is a gate that limits nothing.
var free = config.Gate{UserHour: 1 << 30, RepoRunning: 1 << 30, OpenPRs: 1 << 30, IssueDay: 1 << 30}

func newWorld(slots int, limits config.Gate) *world {
	w := &world{now: began, starts: map[int64]int{}}
	w.Queue = queue.New(queue.Options{
		Slots: slots, Machine: w, Gate: limits, Now: func() time.Time { return w.now }, History: func(int64) gate.History { return w },
		OpenPulls: func(context.Context, int64) gate.Count { w.asked++; return w.pulls },
	})
	return w
}

// entry is a ticket whose beginning the world writes down.
type entry struct {
	ticket.Ticket
	w    *world
	told []comment.Waiting
}

func (e *entry) Begin() {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.w.begun = append(e.w.begun, e.Ticket)
}

func (e *entry) Tell(now comment.Waiting) { e.told = append(e.told, now) }

type asEntry struct{ *entry }

func (e asEntry) Ticket() ticket.Ticket { return e.entry.Ticket }

// add puts the ticket of an issue into the queue.
func (w *world) add(repo int64, issue int, actor int64) *entry {
	e := &entry{Ticket: request(repo, issue, actor, issue), w: w}
	w.Add(asEntry{e})
	return e
}

// request is a ticket that somebody asked for some minutes after the first.
func request(repo int64, issue int, actor int64, minutes int) ticket.Ticket {
	at := began.Add(time.Duration(minutes) * time.Minute)
	return ticket.Ticket{RepoID: repo, Issue: issue, Actor: ghsync.Account{ID: actor}, Requested: at, Made: at}
}

// turn has the queue give slots, and returns the issues that began.
func (w *world) turn() (issues []int) {
	w.begun = nil
	w.Turn(context.Background())
	for _, t := range w.begun {
		issues = append(issues, t.Issue)
	}
	return issues
}

// waits is what an entry was told last.
func (e *entry) waits() comment.Waiting {
	if len(e.told) == 0 {
		return comment.Waiting{}
	}
	return e.told[len(e.told)-1]
}

func begins(t *testing.T, w *world, want ...int) {
	t.Helper()
	if got := w.turn(); !slices.Equal(got, want) {
		t.Fatalf("began %v, want %v", got, want)
	}
}

func key(e *entry) ticket.Key { return e.Key() }

// thousand are requests of seven people in five repositories.
func thousand() (all []ticket.Ticket) {
	for i := range 1000 {
		all = append(all, request(int64(i%5+1), i+1, int64(i%7+1), (i*37)%1000))
	}
	return all
}

// Case 72: 1,000 tickets in five repositories get 20 slots in the order of section 5, however many
// slots come back at a time.
func TestGitHub72TheQueueDrainsInOrder(t *testing.T) {
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(20, free)
		all := thousand()
		for _, i := range random.Perm(len(all)) {
			w.Add(asEntry{&entry{Ticket: all[i], w: w}})
		}
		var got, work []ticket.Ticket
		for len(got) < len(all) {
			began := w.turn()
			got, work = append(got, w.begun...), append(work, w.begun...)
			if len(began) == 0 || len(work) > 20 {
				t.Fatalf("%d began, %d are at work, %d of %d came", len(began), len(work), len(got), len(all))
			}
			for range 1 + random.IntN(len(work)) {
				i := random.IntN(len(work))
				w.Yield(work[i].Key())
				work = slices.Delete(work, i, i+1)
			}
		}
		for i, want := range ticket.Order(all, ticket.Turns{}) {
			if got[i].Key() != want.Key() {
				t.Fatalf("seed %d: the %d. to begin is %v, want %v", seed, i+1, got[i].Key(), want.Key())
			}
		}
	}
}

func TestThoseThatWaitAreToldTheirPlace(t *testing.T) {
	w := newWorld(2, free)
	var all []*entry
	for i := range 5 {
		all = append(all, w.add(1, i+1, 9))
	}
	begins(t, w, 1, 2)
	for i, e := range all[2:] {
		if got, want := e.waits(), (comment.Waiting{Place: i + 1, Of: 3, Reason: "for a slot, 2 of 2 are taken"}); got != want {
			t.Errorf("%d: told %+v, want %+v", e.Issue, got, want)
		}
	}
	for _, e := range all[:2] {
		if len(e.told) > 0 {
			t.Errorf("%d has a slot, and was told %+v", e.Issue, e.told)
		}
	}
}

func TestATicketThatCouldNotBeginIsTriedAfterAMinute(t *testing.T) {
	w := newWorld(1, free)
	first := w.add(1, 1, 9)
	second := w.add(1, 2, 9)
	begins(t, w, 1)
	w.Again(asEntry{first}, "for claude, which is not logged in")
	begins(t, w, 2) // its slot is for others
	if got := first.waits().Reason; got != "for claude, which is not logged in" || w.Facts().Waits != got {
		t.Errorf("told %q, %+v", got, w.Facts())
	}
	w.Yield(key(second))
	w.now = w.now.Add(59 * time.Second)
	begins(t, w)
	w.now = w.now.Add(time.Second)
	begins(t, w, 1)
}

func TestARemovedTicketDoesNotBegin(t *testing.T) {
	w := newWorld(1, free)
	first, second := w.add(1, 1, 9), w.add(1, 2, 9)
	begins(t, w, 1)
	if got := w.Remove(key(second)); got != (asEntry{second}) {
		t.Errorf("removed %v", got)
	}
	if got := w.Remove(key(first)); got != nil {
		t.Errorf("removed %v, which has begun", got)
	}
	if got := w.Remove(key(second)); got != nil {
		t.Errorf("removed %v twice", got)
	}
	w.Yield(key(first))
	begins(t, w)
	if f := w.Facts(); f.Tickets != 0 || f.Taken != 0 {
		t.Errorf("%+v", f)
	}
}

// Case 81: a session whose agents all wait gives its slot to the next ticket and continues at once
// when it is answered. No other begins before there is room again.
func TestGitHub81AWaitingSessionLendsItsSlot(t *testing.T) {
	w := newWorld(1, free)
	first, second := w.add(1, 1, 9), w.add(1, 2, 9)
	w.add(1, 3, 9)
	begins(t, w, 1)
	w.Yield(key(first))
	begins(t, w, 2)
	w.Hold(key(first)) // it was answered
	begins(t, w)
	if f := w.Facts(); f.Taken != 2 || w.Free() != 0 {
		t.Errorf("%+v, %d free", f, w.Free())
	}
	w.Yield(key(second))
	begins(t, w)
	w.Yield(key(first))
	begins(t, w, 3)
}

func TestAPauseKeepsTicketsFromBeginning(t *testing.T) {
	w := newWorld(2, free)
	e := w.add(1, 1, 9)
	w.pause(true)
	begins(t, w)
	if got := e.waits().Reason; !strings.Contains(got, "paused") {
		t.Errorf("told %q", got)
	}
	w.pause(false)
	begins(t, w, 1)
}

func TestATicketWaitsForTheMachine(t *testing.T) {
	w := newWorld(2, free)
	e := w.add(1, 1, 9)
	w.lacks = []string{"for memory, 1 GiB of 2 GiB are available", "for disk space"}
	begins(t, w)
	if got := e.waits().Reason; got != w.lacks[0] {
		t.Errorf("told %q", got)
	}
	if f := w.Facts(); !slices.Equal(f.Lacks, w.lacks) || f.Waits != w.lacks[0] {
		t.Errorf("%+v", f)
	}
	w.lacks = nil
	begins(t, w, 1)
}

// Case 26: what is at a limit waits with the reason, and does not keep others from beginning.
func TestGitHub26LimitsHoldNobodyElse(t *testing.T) {
	limits := free
	limits.UserHour, limits.RepoRunning = 5, 2
	w := newWorld(10, limits)
	w.starts[9] = 5
	often, third, other := w.add(1, 1, 9), (*entry)(nil), w.add(2, 5, 7)
	for issue := 2; issue <= 4; issue++ {
		third = w.add(1, issue, 8)
	}
	got := w.turn()
	slices.Sort(got)
	if !slices.Equal(got, []int{2, 3, 5}) {
		t.Errorf("began %v", got)
	}
	for e, want := range map[*entry]string{often: "gate.user_hour", third: "gate.repo_running"} {
		if !strings.Contains(e.waits().Reason, want) {
			t.Errorf("%d was told %q", e.Issue, e.waits().Reason)
		}
	}
	if len(other.told) > 0 {
		t.Errorf("told %+v", other.told)
	}
}

// Case 26: of six requests that one person makes at once five begin, although none of them is in the
// history when the sixth is judged.
func TestGitHub26RequestsOfOneTurnCountForEachOther(t *testing.T) {
	limits := free
	limits.UserHour = 5
	w := newWorld(10, limits)
	var all []*entry
	for i := range 6 {
		all = append(all, w.add(1, i+1, 9))
	}
	begins(t, w, 1, 2, 3, 4, 5)
	for _, e := range all[:5] {
		w.starts[9]++
		w.Counted(key(e))
		begins(t, w)
	}
	w.starts[9] = 4 // an hour later
	begins(t, w, 6)
}

// A ticket that gave its slot back before it was a session counts no longer.
func TestGitHub26WhatDidNotBeginDoesNotCount(t *testing.T) {
	limits := free
	limits.UserHour = 1
	w := newWorld(10, limits)
	first, second := w.add(1, 1, 9), w.add(1, 2, 9)
	begins(t, w, 1)
	w.Again(asEntry{first}, "for the machine")
	begins(t, w, 2)
	w.Yield(key(second))
	w.now = w.now.Add(time.Minute)
	begins(t, w, 1)
}

func TestGitHub26OpenPullRequestsAreCountedOnceAMinute(t *testing.T) {
	limits := free
	limits.OpenPRs = 10
	w := newWorld(10, limits)
	w.pulls.N = 10
	e := w.add(1, 1, 9)
	for range 3 {
		begins(t, w)
	}
	if !strings.Contains(e.waits().Reason, "10 pull requests") || w.asked != 1 {
		t.Errorf("told %q after %d requests", e.waits().Reason, w.asked)
	}
	w.now, w.pulls = w.now.Add(time.Minute), gate.Count{Err: errors.New("502")}
	begins(t, w)
	if e.waits().Reason == "" {
		t.Error("no reason while GitHub does not answer")
	}
	w.now, w.pulls = w.now.Add(time.Minute), gate.Count{N: 9}
	begins(t, w, 1)
}

func TestTheLoadIsWhatTheGateAsksFor(t *testing.T) {
	w := newWorld(1, free)
	if l := w.Load(1); !l.FreeSlot || l.Running != 0 || l.Paused {
		t.Errorf("%+v", l)
	}
	w.add(1, 1, 9)
	if w.Load(1).FreeSlot || !w.Waits(1) || w.Waits(2) {
		t.Error("the next one would pass over a ticket")
	}
	begins(t, w, 1)
	if l := w.Load(1); l.FreeSlot || l.Running != 1 || w.Waits(1) {
		t.Errorf("%+v", l)
	}
}

// There is room for one more while a slot is free that no ticket waits for, on a machine that lacks
// nothing and is not paused.
func TestRoomIsForWhatCanBeginAtOnce(t *testing.T) {
	w := newWorld(1, free)
	room := func(want bool, when string) {
		t.Helper()
		if w.Room(t.Context()) != want {
			t.Errorf("%s: room %t", when, !want)
		}
	}
	room(true, "idle")
	w.lacks = []string{"disk"}
	room(false, "without disk")
	w.lacks = nil
	w.pause(true)
	room(false, "paused")
	w.pause(false)
	e := w.add(1, 1, 9)
	room(false, "a ticket waits")
	begins(t, w, 1)
	room(false, "the slot is taken")
	w.Yield(e.Key())
	room(true, "the slot came back")
}

// Run judges the order when a slot comes back, and every ten seconds, for what nothing tells it of.
func TestRunGivesSlotsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, free)
		w.pause(true)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		first := w.add(1, 1, 9)
		w.add(1, 2, 9)
		synctest.Wait()
		began := func() string {
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			var list []int
			for _, t := range w.begun {
				list = append(list, t.Issue)
			}
			return fmt.Sprint(list)
		}
		if got := began(); got != "[]" {
			t.Errorf("began %s while the bot is paused", got)
		}
		w.pause(false)
		time.Sleep(10 * time.Second)
		if got := began(); got != "[1]" {
			t.Errorf("began %s", got)
		}
		w.Yield(key(first))
		if got := began(); got != "[1 2]" {
			t.Errorf("began %s", got)
		}
		stop()
		<-done
	})
}
