package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// killer stands for a kill at the n-th write of comments and labels, before or after it is
// applied.
type killer struct {
	mirror.Comments
	mirror.Labels
	left  int
	after bool
}

var errKilled = errors.New("killed")

func (k *killer) step(apply func() error) error {
	k.left--
	switch {
	case k.left > 0:
		return apply()
	case k.left == 0 && k.after:
		return errors.Join(apply(), errKilled)
	}
	return errKilled
}

func (k *killer) Create(ctx context.Context, repo ghsync.Repo, on int, body markdown.Text) (id, author int64, err error) {
	err = k.step(func() error {
		id, author, err = k.Comments.Create(ctx, repo, on, body)
		return err
	})
	return id, author, err
}

func (k *killer) Edit(ctx context.Context, repo ghsync.Repo, id int64, body markdown.Text) error {
	return k.step(func() error { return k.Comments.Edit(ctx, repo, id, body) })
}

func (k *killer) AddLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) (have []string, err error) {
	err = k.step(func() error {
		have, err = k.Labels.AddLabel(ctx, repo, issue, name)
		return err
	})
	return have, err
}

func (k *killer) RemoveLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) error {
	return k.step(func() error { return k.Labels.RemoveLabel(ctx, repo, issue, name) })
}

// writesOf is how many writes the script takes at most, by how the mirror comes to look:
// after each part of it, or when all of it is there and every comment is owed at once.
var writesOf = map[string]int{"in step": 16, "at once": 8}

var paces = map[string]func(*stage){
	"in step": func(*stage) {},
	"at once": func(st *stage) {
		st.script = slices.DeleteFunc(st.script, func(line string) bool { return line == "sync" })
		st.script = append(st.script, "sync")
	},
}

// calmEnds are the ends that were seen: name of a pace -> string.
var calmEnds sync.Map

// calmEnd is what the issue shows when nothing fails.
func calmEnd(t *testing.T, pace string) string {
	t.Helper()
	if end, ok := calmEnds.Load(pace); ok {
		return end.(string)
	}
	calm := newStage(t)
	paces[pace](calm)
	calm.run(calm.mirror(calm.options()))
	end := calm.end()
	if !strings.HasPrefix(end, "### agentmux: done") {
		t.Fatalf("the status is not the first comment:\n%s", end)
	}
	calmEnds.Store(pace, end)
	return end
}

func TestGitHub53KillAtAnyWriteLeavesTheSameEnd(t *testing.T) {
	t.Parallel()
	for name, pace := range paces {
		want := calmEnd(t, name)
		for _, after := range []bool{false, true} {
			for n := 1; n <= writesOf[name]; n++ {
				if testing.Short() && (after != (n%2 == 0) || name == "at once" && n%4 > 1) {
					continue // each write of those in step is one that a mirror is killed at
				}
				t.Run(fmt.Sprintf("%s, write %d, applied %v", name, n, after), func(t *testing.T) {
					t.Parallel()
					st := newStage(t)
					pace(st)
					st.runKilled(n, after)
					if got := st.end(); got != want {
						t.Errorf("end:\n%s\nwant:\n%s", got, want)
					}
				})
			}
		}
	}
}

// What was found out about a write of unknown fate is not lost by one more kill.
func TestGitHub53KillAtAnySaveAfterAKillLeavesTheSameEnd(t *testing.T) {
	t.Parallel()
	want := calmEnd(t, "in step")
	for n := 1; n <= writesOf["in step"]; n++ {
		for saves := 1; saves <= 3; saves++ {
			if testing.Short() && (n%4 != 1 || saves != n%3+1) {
				continue
			}
			t.Run(fmt.Sprintf("write %d, then save %d", n, saves), func(t *testing.T) {
				t.Parallel()
				st := newStage(t)
				st.dies = func(m *mirror.Mirror) {
					left := saves
					m.OnSave(func(write func() error) error {
						if left--; left < 0 {
							return errKilled
						}
						return errors.Join(write(), map[bool]error{true: errKilled}[left == 0])
					})
				}
				st.runKilled(n, true)
				if got := st.end(); got != want {
					t.Errorf("end:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}

// runKilled plays the script with a mirror that is killed at its n-th write, and with the
// next process's from there. That one dies, too, if st.dies is set.
func (st *stage) runKilled(n int, after bool) {
	st.t.Helper()
	o := st.options()
	first := &killer{Comments: o.Server.Comments, Labels: o.Server.Labels, left: n, after: after}
	o.Server.Comments, o.Server.Labels = first, first
	m := st.mirror(o)
	for lines := range st.parts() {
		st.play(lines...)
		ctx, cancel := context.WithTimeout(st.t.Context(), time.Minute)
		if first != nil && !finishesBeforeKill(ctx, m, first) {
			first = nil
			next := st.options() // of the next process
			if n == 1 {
				next.Pace.Look = 200 * time.Millisecond // the others have to wait for the status
			}
			m = st.mirror(next)
			if st.dies != nil {
				st.dies(m)
				if err := m.Finish(ctx); err != nil && !errors.Is(err, errKilled) {
					st.t.Fatal(err)
				}
				m = st.mirror(next)
			}
		}
		cancel()
		st.finish(m)
	}
	st.finish(st.mirror(st.options()))
}

// finishesBeforeKill lets the mirror work until it is done or the killer has struck.
func finishesBeforeKill(ctx context.Context, m *mirror.Mirror, k *killer) bool {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.Finish(ctx) // killed is what this is about
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			cancel()
			return k.left > 0
		case <-tick.C:
			if m.LastError() != nil {
				cancel()
				<-done
				return false
			}
		}
	}
}

func TestGitHub5And7MirrorSurvivesFaults(t *testing.T) {
	const post, patch = "POST .../issues/{number}/comments", "PATCH .../issues/comments/{id}"
	ends := map[string]string{}
	for name := range paces {
		ends[name] = calmEnd(t, name)
	}
	table := map[string][]fakehub.Fault{
		"post applied, answer lost":      {fakehub.LoseResponse(post)},
		"post applied, 500":              {fakehub.AppliedBut5xx(post, 500)},
		"post reset":                     {fakehub.ResetBefore(post)},
		"post 503 three times":           {fakehub.Unavailable(post, 503, 3)},
		"second post applied, then lost": {{Route: post, From: 2, Times: 1, Drop: fakehub.AfterApplying}},
		"every post applied, 502":        {{Route: post, Times: 3, Status: 502, Apply: true}},
		"patch lost":                     {fakehub.LoseResponse(patch), fakehub.ResetBefore(patch)},
		"label fails":                    {fakehub.ResetBefore("POST .../issues/{number}/labels"), fakehub.Unavailable("DELETE .../issues/{number}/labels/{name}", 500, 2)},
		"all down for a while":           {fakehub.Unavailable("", 503, 30)},
		"limit on a post":                {{Route: post, Times: 1, Status: 429, Header: map[string]string{"Retry-After": "0"}}},
	}
	for i, name := range slices.Sorted(maps.Keys(table)) {
		faults := table[name]
		for pace, set := range paces {
			if testing.Short() && (i%2 == 0) != (pace == "in step") {
				continue // each fault at one pace, at each pace half of them
			}
			t.Run(name+", "+pace, func(t *testing.T) {
				st := newStage(t)
				set(st)
				st.server.Inject(faults...)
				st.run(st.mirror(st.options()))
				if got := st.end(); got != ends[pace] {
					t.Errorf("end:\n%s\nwant:\n%s\n%s", got, ends[pace], st.server.Transcript())
				}
			})
		}
	}
}

func TestGitHub6TwinHiddenByALaggingListIsGoneAtTheEnd(t *testing.T) {
	st := newStage(t)
	st.server.Inject(fakehub.LoseResponse("POST .../issues/{number}/comments"), fakehub.StaleLists("GET .../issues/{number}/comments", time.Minute))
	m := st.mirror(st.options())
	for i, line := range st.script {
		switch {
		case line == "sync":
			st.finish(m)
			if i < 5 && len(st.repo.Comments(12)) < 2 {
				t.Fatal("no twin was made: the test shows nothing")
			}
			st.server.Heal()
		default:
			st.play(line)
		}
	}
	st.finish(m)
	count := 0
	for _, c := range st.repo.Comments(12) {
		if strings.Contains(c.Body, "kind=status") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d status comments:\n%s", count, st.end())
	}
}

// A kill between a comment and its id is as unclear as a lost answer.
func TestGitHub6TwinOfAKilledMirrorIsGoneAtTheEnd(t *testing.T) {
	st := newStage(t)
	killed := st.mirror(st.options())
	killed.OnSave(func(write func() error) error {
		if len(st.repo.Comments(12)) > 0 {
			return errKilled // nothing reaches the disk after the comment
		}
		return write()
	})
	st.play(st.script[0])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := killed.Finish(ctx); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	st.server.Inject(fakehub.StaleLists("GET .../issues/{number}/comments", time.Minute))
	m := st.mirror(st.options())
	st.finish(m)
	if len(st.repo.Comments(12)) < 2 {
		t.Fatal("no twin was made: the test shows nothing")
	}
	st.server.Heal()
	st.script = st.script[1:]
	st.run(m)
	if end := st.end(); strings.Count(end, "### agentmux: ") != 1 {
		t.Errorf("the end:\n%s", end)
	}
}

// A clock that is set by a day, one way or the other, between a comment that was made and the next host
// neither doubles the comment nor delays what follows by a day.
func TestMirrorOverAClockThatIsSet(t *testing.T) {
	const day = 24 * time.Hour
	for name, by := range map[string][2]time.Duration{"forward": {0, day}, "back": {0, -day}, "right again": {day, 0}} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			at := func(by time.Duration) mirror.Options {
				o := st.options()
				o.Now = func() time.Time { return st.clock().Add(by) }
				return o
			}
			killed := st.mirror(at(by[0]))
			killed.OnSave(func(write func() error) error {
				if len(st.repo.Comments(12)) > 0 {
					return errKilled
				}
				return write()
			})
			st.play(st.script[0])
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := killed.Finish(ctx); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if err := st.mirror(at(by[1])).Finish(ctx); err != nil {
				t.Fatal(err)
			}
			if got := st.repo.Comments(12); len(got) != 1 {
				t.Errorf("%d comments", len(got))
			}
		})
	}
}

// A host that is started again may have a token of another account. What that one makes
// without being told is found as its own, and what the first one made stays ours.
func TestMirrorOfAnotherAccountMakesNoTwin(t *testing.T) {
	want := calmEnd(t, "in step")
	st := newStage(t)
	m := st.mirror(st.options())
	for i, line := range st.script {
		if i == len(st.script)/2 {
			o := st.options()
			o.Server = mirror.On(clientOf(t, st.server, "maintain"))
			m = st.mirror(o)
			st.server.Inject(fakehub.LoseResponse("POST .../issues/{number}/comments"))
		}
		if line == "sync" {
			st.finish(m)
			continue
		}
		st.play(line)
	}
	st.finish(m)
	if got := st.end(); got != want || st.server.Hits() == 0 {
		t.Errorf("%d answers lost, end:\n%s\nwant:\n%s", st.server.Hits(), got, want)
	}
	for _, c := range st.server.Calls() {
		if c.Method == http.MethodDelete && strings.Contains(c.Path, "/comments/") {
			t.Errorf("a twin was made until the end: %s", c.Path)
		}
	}
}

// outage is a paper that fails while down is set.
type outage struct {
	*paper
	down atomic.Bool
}

var errDown = &transport.RetryAfter{Scope: "server", Err: errors.New("connection refused")}

func (o *outage) Create(ctx context.Context, repo ghsync.Repo, on int, body markdown.Text) (id, author int64, err error) {
	if o.down.Load() {
		return 0, 0, errDown
	}
	return o.paper.Create(ctx, repo, on, body)
}

func (o *outage) Edit(ctx context.Context, repo ghsync.Repo, id int64, body markdown.Text) error {
	if o.down.Load() {
		return errDown
	}
	return o.paper.Edit(ctx, repo, id, body)
}

func TestGitHub52MirrorIsBackTwoMinutesAfterAnHourWithoutGitHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := newScene(t, nil)
		sink := &outage{paper: &paper{}}
		m := sc.mirror(mirror.Options{Server: serverOf(sink), Mode: mirror.Every})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
		<-time.After(time.Minute)
		synctest.Wait()
		sink.down.Store(true)
		for visit := 2; visit < 22; visit++ {
			sc.play(fmt.Sprintf(`10:07 %d phase_entered {"phase":"implementing","kind":"implement","reason":"x"}`, visit))
			m.Wake()
			<-time.After(3 * time.Minute)
		}
		if m.LastError() == nil || m.CaughtUp(sc.state.Seq) {
			t.Error("the outage was not noticed")
		}
		synctest.Wait()
		sink.down.Store(false)
		before := strings.Count(sink.String(), "=== comment 1 edited")
		back := time.Now()
		for !m.CaughtUp(sc.state.Seq) && time.Since(back) < 2*time.Minute {
			<-time.After(time.Second)
			synctest.Wait()
		}
		t.Logf("caught up after %s", time.Since(back))
		<-time.After(max(0, 2*time.Minute-time.Since(back)))
		synctest.Wait()
		if !m.CaughtUp(sc.state.Seq) || m.LastError() != nil {
			t.Errorf("behind after two minutes: %v", m.LastError())
		}
		if n := strings.Count(sink.String(), "=== comment 1 edited") - before; n != 1 {
			t.Errorf("%d edits to catch up, want 1", n)
		}
		if n := strings.Count(sink.String(), "=== new comment"); n != 22 {
			t.Errorf("%d comments, want the status and one per phase", n)
		}
		cancel()
		<-done
	})
}

// What ends Run must not reach Finish, however late it comes: on one processor, what
// follows the end of a context waits until the one who ended it waits.
func TestEndOfRunDoesNotReachFinish(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		sc := newScene(t, nil)
		sink := &outage{paper: &paper{}}
		sink.down.Store(true)
		m := sc.mirror(mirror.Options{Server: serverOf(sink), Pace: mirror.Pace{Debounce: 1, Backoff: time.Hour}})
		sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
		if err := m.Step(t.Context()); err != nil || m.LastError() == nil {
			t.Fatalf("%v; last error: %v", err, m.LastError())
		}
		sink.down.Store(false)
		if err := m.Run(ended); err != nil {
			t.Fatal(err)
		}
		sc.finish(m)
	}
}

// stuck are labels that are put on and never taken off.
type stuck struct{ mirror.Labels }

func (stuck) RemoveLabel(context.Context, ghsync.Repo, int, string) error { return errKilled }

// A kill between the new label and the old one, and then a state that has the old one again.
func TestGitHub53HalfAChangeOfLabelsIsFinished(t *testing.T) {
	st := newStage(t)
	st.openPR()
	st.run(st.mirror(st.options()))
	calm := st.repo.Issue(12).Labels

	o := st.options()
	o.Server.Labels = stuck{o.Server.Labels}
	killed := st.mirror(o)
	st.play(`11:00 6 resumed {"reason":"changes","changes":true}`)
	if err := killed.Step(t.Context()); err != nil || len(st.repo.Issue(12).Labels) != len(calm)+1 {
		t.Fatalf("labels %q, %v", st.repo.Issue(12).Labels, err)
	}
	st.play(`11:05 6 done {"outcome":"done","commit":"b07d3e9000000000000000000000000000000000","pr_url":"","seconds":1}`)
	st.finish(st.mirror(st.options()))
	if got := st.repo.Issue(12).Labels; !slices.Equal(got, calm) {
		t.Errorf("labels %q, want %q", got, calm)
	}
}
