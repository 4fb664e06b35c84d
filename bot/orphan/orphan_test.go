package orphan_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/front"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestMain lets the test binary answer as the askpass program.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

const (
	widgets  = "octo/widgets"
	trigger  = "label/agentmux:quick/2026-11-21T10:04:31Z/9"
	name     = "2026-11-21-100436-12-say-two"
	identity = "0123456789abcdef"
)

// world is a server, and the clock of all who look at it.
type world struct {
	*fakehub.Server
	t     *testing.T
	home  string
	front string // where git finds the server
	since time.Duration
	room  bool // of the host whose lookout it is
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), since: time.Second, Server: fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	})}
	w.front = front.Open(t, w.Server, w.Token("bot"))
	return w
}

func (w *world) now() time.Time {
	return time.Date(2026, 11, 21, 10, 5, 0, 0, time.UTC).Add(w.since)
}

// desk is the one of a host. The run of every job is over.
func (w *world) desk(host claim.HostID) *claim.Remote {
	w.t.Helper()
	store, err := claim.OpenStore(w.t.Context(), w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	token := w.Token("bot")
	return claim.NewRemote(claim.Options{
		Repo:  remote.Repository{URL: w.front + "/" + widgets + ".git", Secret: func(context.Context) (string, error) { return token, nil }},
		Store: store, RepoID: w.Repo(widgets).ID(), Host: host,
		ReadRun: func(context.Context, int64) (claim.RunState, error) { return claim.RunState{Completed: true}, nil },
		Clock:   claim.Clock{Now: w.now, Running: func() time.Duration { return w.since }, After: time.After},
	})
}

func (w *world) take(desk claim.Desk, issue int, state claim.State) {
	w.t.Helper()
	if _, err := desk.Take(w.t.Context(), claim.Want{Issue: issue, Session: orchestrator.PublicID(name, identity), Trigger: trigger, State: state}); err != nil {
		w.t.Fatal(err)
	}
}

// lookout is the one of a bot, and what it found.
func (w *world) lookout() (l *orphan.Lookout, found *[]int) {
	own := claim.NewHostID()
	found = &[]int{}
	return orphan.New(orphan.Options{
		Desk: w.desk(own), Own: own, Now: w.now,
		Found: func(issue int) { *found = append(*found, issue) }, Room: func(context.Context) bool { return w.room },
		Log: slog.New(slog.NewTextHandler(problems{w.t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}), found
}

// A request in the queue of a host is found once that host was silent for ten minutes, and only once
// while its claim stays; a session that has begun is not.
func TestARequestInTheQueueOfASilentHostIsFound(t *testing.T) {
	w := newWorld(t)
	silent, alive := w.desk(claim.NewHostID()), w.desk(claim.NewHostID())
	w.take(silent, 12, claim.Queued)
	w.take(silent, 13, claim.Running)
	w.take(alive, 14, claim.Queued)
	l, found := w.lookout()
	var next time.Duration
	for passed := time.Duration(0); passed < 10*time.Minute; passed += next {
		if next = l.Look(t.Context()); next != 2*time.Minute {
			t.Fatalf("looks again after %s", next)
		}
		host, left, err := l.Holder(t.Context(), 12)
		if len(*found) > 0 || host == "" || left != nil || err != nil {
			t.Fatalf("after %s: found %v, holder %q, left %+v, %v", passed, *found, host, left, err)
		}
		if !l.Unproven(12) || l.Unproven(14) != (passed == 0) {
			t.Fatalf("after %s: unproven are the silent host %t, the other %t", passed, l.Unproven(12), l.Unproven(14))
		}
		w.since += next
		if err := alive.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		l.Look(t.Context())
		w.since += 2 * time.Minute
		if err := alive.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(*found, []int{12}) {
		t.Errorf("found %v", *found)
	}
	host, left, err := l.Holder(t.Context(), 12)
	if host != "" || left == nil || err != nil {
		t.Fatalf("holder %q, left %+v, %v", host, left, err)
	}
	if left.Name != name || left.Identity != identity || left.Trigger.String() != trigger {
		t.Errorf("%+v", left)
	}
	if host, left, err := l.Holder(t.Context(), 13); host != "" || left != nil || err != nil {
		t.Errorf("of a session that has begun: %q, %+v, %v", host, left, err)
	}
	if host, left, err := l.Holder(t.Context(), 14); host == "" || left != nil || err != nil {
		t.Errorf("of a host that beats: %q, %+v, %v", host, left, err)
	}
	if of, free := l.Serves(14), l.Serves(99); of != trigger || free != "" {
		t.Errorf("a host that beats serves %q, that of a free issue %q", of, free)
	}
	w.since += 30 * time.Minute
	if l.Look(t.Context()); !slices.Contains((*found)[1:], 12) {
		t.Errorf("half an hour later: %v", *found)
	}
}

// problems fails a test for each warning.
type problems struct{ t *testing.T }

func (p problems) Write(line []byte) (int, error) {
	p.t.Errorf("%s", line)
	return len(line), nil
}

// A request that has waited a minute in the queue of a live host is found by one on which it could
// begin, which takes it before the other one begins it. One that could not begin it leaves it.
func TestARequestOfALiveHostIsTakenWhereItCanBegin(t *testing.T) {
	w := newWorld(t)
	alive := w.desk(claim.NewHostID())
	held, err := alive.Take(t.Context(), claim.Want{Issue: 12, Session: orchestrator.PublicID(name, identity), Trigger: trigger, State: claim.Queued})
	if err != nil {
		t.Fatal(err)
	}
	w.take(alive, 13, claim.Running)
	l, found := w.lookout()
	want := claim.Want{Issue: 12, Session: "s-" + identity, Trigger: trigger, State: claim.Queued}
	for range 4 {
		if l.Look(t.Context()); len(*found) > 0 {
			t.Fatalf("found %v without room", *found)
		}
		if host, left, err := l.Holder(t.Context(), 12); host == "" || left != nil || err != nil {
			t.Fatalf("without room: %q, %+v, %v", host, left, err)
		}
		w.since += 30 * time.Second
	}
	w.room = true
	next := l.Look(t.Context())
	if !slices.Equal(*found, []int{12}) || next != time.Minute {
		t.Fatalf("found %v, looks again after %s", *found, next)
	}
	host, left, err := l.Holder(t.Context(), 12)
	if host == "" || left == nil || !left.Live || err != nil {
		t.Fatalf("holder %q, left %+v, %v", host, left, err)
	}
	for what, wanted := range map[gate.What]bool{gate.Start: true, gate.Queue: false, gate.Refuse: false, gate.RefuseSilently: false, gate.Later: false} {
		if left.Follows(gate.Decision{What: what}) != wanted {
			t.Errorf("something follows from %s: %t", what, !wanted)
		}
	}
	for _, other := range []*orphan.Request{nil, {Live: true, Seen: claim.Seen{Issue: 12}}} {
		if _, err := l.Take(t.Context(), want, other); !errors.As(err, new(*claim.TakenError)) {
			t.Fatalf("taken for another reason: %v", err)
		}
	}
	taken, err := l.Take(t.Context(), want, left)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Check(t.Context()); !errors.As(err, new(*claim.LostError)) {
		t.Errorf("the former host: %v", err)
	}
	if err := taken.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// What could not begin here after all is looked at again soon, and not all the time.
func TestARequestOfALiveHostIsToldOfEachFiveMinutes(t *testing.T) {
	w := newWorld(t)
	alive := w.desk(claim.NewHostID())
	w.take(alive, 12, claim.Queued)
	w.room = true
	l, found := w.lookout()
	for range 12 {
		l.Look(t.Context())
		w.since += time.Minute
		if err := alive.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(*found, []int{12, 12, 12}) {
		t.Errorf("found %v", *found)
	}
}

// Without a queue elsewhere the server is asked each five minutes.
func TestAnIdleLookoutLooksSeldom(t *testing.T) {
	w := newWorld(t)
	l, _ := w.lookout()
	if next := l.Look(t.Context()); next != 5*time.Minute {
		t.Errorf("looks again after %s", next)
	}
}

func TestOnlyAQueuedLabelIsARequest(t *testing.T) {
	seen := func(change func(*claim.Claim)) claim.Seen {
		c := claim.Claim{RepoID: 1, Issue: 12, Session: name + "-" + identity, Trigger: trigger, Host: "a_7_1", State: claim.Queued}
		change(&c)
		return claim.Seen{Issue: 12, ID: "1", Claim: c}
	}
	for what, tc := range map[string]struct {
		change func(*claim.Claim)
		why    claim.Stale
		want   bool
	}{
		"silent":              {func(*claim.Claim) {}, claim.Silent, true},
		"run over":            {func(*claim.Claim) {}, claim.RunEnded, true},
		"live":                {func(*claim.Claim) {}, claim.NotStale, false},
		"waits for a minute":  {func(*claim.Claim) {}, claim.Waiting, true},
		"begun":               {func(c *claim.Claim) { c.State = claim.Running }, claim.Silent, false},
		"handed over":         {func(c *claim.Claim) { c.State = claim.Handover }, claim.LetGo, false},
		"asked by a comment":  {func(c *claim.Claim) { c.Trigger = "comment/7" }, claim.Silent, false},
		"asked at a terminal": {func(c *claim.Claim) { c.Trigger = "cli/s" }, claim.Silent, false},
		"another form":        {func(c *claim.Claim) { c.Trigger = "label" }, claim.Silent, false},
		"no identity":         {func(c *claim.Claim) { c.Session = name }, claim.Silent, false},
		"a path":              {func(c *claim.Claim) { c.Session = "../../etc-" + identity }, claim.Silent, false},
		"no hex":              {func(c *claim.Claim) { c.Session = name + "-0123456789abcde/" }, claim.Silent, false},
	} {
		q, ok := orphan.Of(seen(tc.change), tc.why)
		if ok != tc.want || q.Live != (ok && tc.why == claim.Waiting) {
			t.Errorf("%s: %t, of a live host: %t", what, ok, q.Live)
		}
	}
}

// The name of the former host's session is taken, unless this machine has a session of that name.
func TestTheTicketIsOfTheSameSession(t *testing.T) {
	project := t.TempDir()
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	q := orphan.Request{Name: name, Identity: identity, Seen: claim.Seen{Claim: claim.Claim{At: at}}}
	own := ticket.Ticket{Session: "2026-11-22-090000-12-other", Identity: "fedcba9876543210", Made: at.Add(3 * time.Hour)}
	if got := own.Began(); !got.Equal(own.Made) {
		t.Errorf("began %s", got)
	}
	if got := q.Hand(project, own); got.Session != name || got.Identity != identity || !got.Taken || !got.Began().Equal(at) {
		t.Errorf("%+v", got)
	}
	if err := os.MkdirAll(session.Dir(project)+"/"+name, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := q.Hand(project, own); got.Session != own.Session || got.Identity != own.Identity || got.Taken {
		t.Errorf("of a session that was here: %+v", got)
	}
}

// A host that queued the request itself, and lost it to the one that is gone now, judges it again;
// one that refused it does not.
func TestWhatWasQueuedHereIsJudgedAgain(t *testing.T) {
	asked, err := gate.ParseTrigger(trigger)
	if err != nil {
		t.Fatal(err)
	}
	q := orphan.Request{Seen: claim.Seen{Issue: 12}, Trigger: asked}
	for what, want := range map[gate.What]bool{gate.Queue: false, gate.Refuse: true, gate.RefuseSilently: true} {
		j, err := journal.Open(t.TempDir(), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, issue := range []int{12, 13} {
			if _, err := j.Append(journal.Decided{Issue: issue, Trigger: asked, Row: gate.RowStart, What: what}); err != nil {
				t.Fatal(err)
			}
		}
		h := q.Judged(gate.Facts{}, j).History
		if got := h.Decided(12, asked); got != want {
			t.Errorf("%s: decided %t", what, got)
		}
		if !h.Decided(13, asked) {
			t.Errorf("%s: the same trigger of another issue is judged again", what)
		}
	}
}

// A job takes what a job has left, and what its host let go of, also if no label asked for it; a bot does not.
func TestAJobTakesASessionThatHasBegun(t *testing.T) {
	for what, tc := range map[string]struct {
		state   claim.State
		trigger string
		why     claim.Stale
		want    bool
	}{
		"run over":            {claim.Running, trigger, claim.RunEnded, true},
		"handed over":         {claim.Handover, trigger, claim.LetGo, true},
		"asked by a comment":  {claim.Running, "comment/7", claim.RunEnded, true},
		"queued by a comment": {claim.Queued, "comment/7", claim.RunEnded, true},
		"silent":              {claim.Running, trigger, claim.Silent, false},
		"live":                {claim.Running, trigger, claim.NotStale, false},
		"waits for a minute":  {claim.Running, trigger, claim.Waiting, false},
		"another form":        {claim.Running, "label", claim.RunEnded, false},
	} {
		seen := claim.Seen{Issue: 12, ID: "1", Claim: claim.Claim{Issue: 12, Session: name + "-" + identity, Trigger: tc.trigger, Host: "a_7_1", State: tc.state}}
		q, ok := orphan.ForJob(seen, tc.why)
		if ok != tc.want || q.Begun != (ok && tc.state != claim.Queued) {
			t.Errorf("%s: %t, begun %t", what, ok, q.Begun)
		}
		if _, ok := orphan.Of(seen, tc.why); ok {
			t.Errorf("%s: a bot takes it", what)
		}
	}
}

// The lookout of a job finds the session of a dead one on its own issue, and looks at no other issue. What is there at its start
// is judged without being found.
func TestTheLookoutOfAJobKeepsToItsIssue(t *testing.T) {
	w := newWorld(t)
	dead := w.desk("a_7_1")
	own, found := claim.HostID("a_8_1"), []int{}
	o := orphan.Options{
		Desk: w.desk(own), Own: own, Issue: 12, Quiet: true, Now: w.now, Found: func(issue int) { found = append(found, issue) },
		Room: func(context.Context) bool { return true }, Log: slog.New(slog.NewTextHandler(problems{t}, nil)),
	}
	quiet := orphan.New(o)
	quiet.Look(t.Context())
	o.Quiet = false
	l := orphan.New(o)
	l.Look(t.Context())
	for _, issue := range []int{12, 13} {
		w.take(dead, issue, claim.Running)
	}
	orphan.New(o).Look(t.Context())
	if len(found) > 0 {
		t.Errorf("found %v at the start", found)
	}
	w.since += time.Minute
	quiet.Look(t.Context())
	if len(found) > 0 {
		t.Errorf("found %v before the command", found)
	}
	l.Look(t.Context())
	if !slices.Equal(found, []int{12}) {
		t.Errorf("found %v", found)
	}
	host, left, err := l.Holder(t.Context(), 12)
	if host != "" || left == nil || !left.Begun || err != nil {
		t.Errorf("holder %q, left %+v, %v", host, left, err)
	}
}

// Another session follows one that had begun: its ticket knows it.
func TestATicketFollowsASessionThatHadBegun(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 5, 0, 0, time.UTC)
	asked, err := gate.ParseTrigger(trigger)
	if err != nil {
		t.Fatal(err)
	}
	q := orphan.Request{Begun: true, Name: name, Identity: identity, Trigger: asked, Seen: claim.Seen{Issue: 12, Claim: claim.Claim{Host: "a_7_1", At: at}}}
	own := ticket.Ticket{Session: "2026-11-22-090000-12-other", Identity: "fedcba9876543210"}
	got := q.Hand(t.TempDir(), own)
	if got.Session != own.Session || got.Identity != own.Identity || got.Taken || got.Former == nil {
		t.Fatalf("%+v", got)
	}
	want := ticket.Former{Session: name, Identity: identity, Claimed: at, Why: "its host a_7_1 is gone, and what it did is not here: it begins once more"}
	if *got.Former != want {
		t.Errorf("%+v", got.Former)
	}
	shelf := ticket.Of(t.TempDir())
	if err := shelf.Write(q.Lost(ghsync.Repo{Owner: "octo", Name: "widgets"}, 1, "the issue is closed")); err != nil {
		t.Fatal(err)
	}
	lost, err := shelf.Read(12)
	if err != nil || lost.Session != name || lost.Identity != identity || !lost.Lost || !lost.Taken || !lost.Made.Equal(at) || lost.Dropped != "its host a_7_1 is gone, and the issue is closed" {
		t.Errorf("%+v, %v", lost, err)
	}
}

// A request of a comment is judged by who wrote it, and ends if the comment is gone.
func TestARequestOfACommentIsJudgedByItsAuthor(t *testing.T) {
	q := orphan.Request{Trigger: gate.CommentTrigger(7)}
	mia := ghsync.Account{ID: 9, Login: "mia"}
	f := gate.Facts{Record: ghsync.Record{Comments: []ghsync.Comment{{ID: 6}, {ID: 7, Author: mia}}}}
	if ask := q.Judged(f, nil).Ask; ask == nil || ask.By != mia || ask.Trigger != q.Trigger {
		t.Errorf("%+v", ask)
	}
	f.Record.Comments = f.Record.Comments[:1]
	if ask := q.Judged(f, nil).Ask; ask != nil {
		t.Errorf("%+v", ask)
	}
	for what, want := range map[gate.What]bool{gate.Ignore: true, gate.Refuse: true, gate.RefuseSilently: true, gate.Later: false, gate.Queue: false, gate.Start: false} {
		if got := q.Ends(gate.Decision{What: what}); got != want {
			t.Errorf("%s: ends %t", what, got)
		}
	}
	q.Live = true
	if q.Ends(gate.Decision{What: gate.Refuse}) || (*orphan.Request)(nil).Ends(gate.Decision{What: gate.Refuse}) {
		t.Error("the request of a live host ends")
	}
}

// The requests of an hour are divided among the jobs that hold a claim and the one that reads: not among bots, and not a
// job that let its issue go. Who is not a job divides nothing.
func TestAJobDividesItsRequestsAmongTheJobsWithAClaim(t *testing.T) {
	w := newWorld(t)
	own := claim.JobHostID(9, 1)
	var told []int
	var log strings.Builder
	options := func(own claim.HostID) orphan.Options {
		return orphan.Options{
			Desk: w.desk(own), Own: own, Issue: 12, Now: w.now, Found: func(int) {}, Room: func(context.Context) bool { return true },
			Divide: func(jobs int) int { told = append(told, jobs); return 600 / jobs }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		}
	}
	l := orphan.New(options(own))
	read := func(want int) {
		t.Helper()
		w.since += time.Minute
		if _, _, err := l.Holder(t.Context(), 12); err != nil {
			t.Fatal(err)
		}
		if len(told) == 0 || told[len(told)-1] != want {
			t.Errorf("divided among %v, want %d", told, want)
		}
	}
	w.take(w.desk(claim.NewHostID()), 15, claim.Running)
	read(1)
	held, err := w.desk(claim.JobHostID(7, 1)).Take(t.Context(), claim.Want{Issue: 13, Session: orchestrator.PublicID(name, identity), Trigger: trigger, State: claim.Running})
	if err != nil {
		t.Fatal(err)
	}
	read(2)
	w.take(w.desk(own), 12, claim.Running)
	w.take(w.desk(claim.JobHostID(8, 1)), 14, claim.Running)
	read(3)
	if err := held.Mark(t.Context(), claim.Handover); err != nil {
		t.Fatal(err)
	}
	read(2)
	if n := strings.Count(log.String(), "jobs=2 each=300"); n != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("the log:\n%s", log.String())
	}
	told = nil
	bot := claim.NewHostID()
	o := options(bot)
	o.Issue = 0
	if orphan.New(o).Look(t.Context()); told != nil {
		t.Errorf("a bot divides among %v", told)
	}
}
