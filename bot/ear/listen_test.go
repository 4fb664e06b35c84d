package ear_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
)

// listener is an ear that serves the scene's session alone.
func (s *scene) listener(one ear.One) *ear.Listener {
	s.Helper()
	one.Issue, one.Dir = s.issue, s.sess.Dir
	s.ear = ear.New(ear.Options{Client: s.client, Repo: octoWidgets, Bot: s.bot, Journal: s.journal, Owner: one, Issues: []int{s.issue}, Since: s.Now(), Now: s.Now})
	return &ear.Listener{Ear: s.ear}
}

// look has the listener look, and ear and host do all that follows.
func (s *scene) look(l *ear.Listener) {
	s.Helper()
	if err := l.Look(s.Context()); err != nil {
		s.Fatal(err)
	}
	l.Step(s.Context())
	s.read()
	l.Step(s.Context())
}

// A command that runs one session hears what is said on its issue and its pull request from then
// on, in comments and reviews, and nothing else. Without news a look costs nothing.
func TestAListenerHearsOneIssue(t *testing.T) {
	s := newScene(t)
	s.start()
	before := s.comment("/agentmux stop", "wil")
	other := s.repo.AddIssue(fakehub.IssueSpec{Title: "Other", Author: "rea"})
	s.pass(time.Minute)
	l := s.listener(ear.One{})
	id := s.comment("/agentmux pause", "wil")
	elsewhere := s.repo.Comment(other, "/agentmux stop", "wil")
	s.look(l)
	s.want(id, "eyes +1", "")
	s.want(before, "", "")
	if c, ok := s.journal.Command(fmt.Sprint("comment/", elsewhere)); ok || s.st.Ended() {
		t.Errorf("%+v, outcome %q", c, s.st.Outcome)
	}
	s.look(l) // what the receipts changed
	counted := s.server.Requests(botLogin)
	for range 20 {
		s.look(l)
	}
	if n := s.server.Requests(botLogin) - counted; n != 0 {
		t.Errorf("%d counted requests for no news:\n%s", n, s.server.Transcript())
	}

	// From here on there is a pull request.
	s.review("fine", "wil")
	st := s.st.Clone()
	st.Completion.PRNumber = s.subject.Pull
	s.commit(st)
	onPull := s.repo.Comment(s.subject.Pull, "/agentmux resume", "wil")
	s.look(l)
	if s.st.Paused {
		t.Error("a comment on the pull request was not heard")
	}
	s.pass(time.Minute)
	s.repo.Review(s.subject.Pull, "wil", "COMMENTED", "/agentmux say look")
	s.look(l)
	if got := s.commands(); len(got) != 3 || got[1].SourceID != fmt.Sprint("comment/", onPull) || !strings.HasPrefix(got[2].SourceID, "review/") {
		t.Errorf("commands %+v", got)
	}
	s.look(l)
	s.repo.Review(s.subject.Pull, "wil", "COMMENTED", "/agentmux say once more") // in the second of the last look
	s.pass(15 * time.Second)
	s.look(l)
	if got := s.commands(); len(got) != 4 {
		t.Errorf("after a review of the same second: commands %+v", got)
	}
	counted = s.server.Requests(botLogin)
	for range 20 {
		s.look(l)
	}
	if n := s.server.Requests(botLogin) - counted; n != 0 {
		t.Errorf("%d counted requests for no news:\n%s", n, s.server.Transcript())
	}
}

// After the release the listener takes up where it looked last. What was said before it listened is
// for another session, whatever reads it.
func TestGitHub82AListenerReadsOnceMore(t *testing.T) {
	s := newScene(t)
	standings["parked"](s)
	old := s.comment("/agentmux stop", "wil")
	s.pass(time.Minute)
	l := s.listener(ear.One{})
	s.look(l)
	if news, err := l.News(t.Context()); err != nil || news {
		t.Errorf("news %v, %v", news, err)
	}
	s.comment("chat", "wil")
	counted := s.server.Requests(botLogin)
	if news, err := l.News(t.Context()); err != nil || news {
		t.Errorf("chat: news %v, %v", news, err)
	}
	if n := s.server.Requests(botLogin) - counted; n != 1 {
		t.Errorf("%d requests:\n%s", n, s.server.Transcript())
	}
	id := s.comment("/agentmux changes Otherwise.", "wil")
	if news, err := l.News(t.Context()); err != nil || !news {
		t.Errorf("news %v, %v", news, err)
	}
	s.read()
	l.Settle(t.Context(), s.issue)
	s.want(id, "eyes +1", "")

	// From here on there is a pull request, which no look has seen.
	s.review("fine", "wil")
	st := s.st.Clone()
	st.Completion.PRNumber = s.subject.Pull
	s.commit(st)
	s.repo.Review(s.subject.Pull, "wil", "COMMENTED", "/agentmux help")
	if news, err := l.News(t.Context()); err != nil || !news {
		t.Errorf("a review: news %v, %v", news, err)
	}
	if got := s.receipts(old); got != "" {
		t.Errorf("what was said before has %q", got)
	}
	s.server.Inject(fakehub.Fault{Route: "GET .../issues/comments", Status: 500, Message: "x"})
	if _, err := l.News(t.Context()); err == nil {
		t.Error("comments that cannot be read are no news")
	}
}

// A page of only new comments is not all there is.
func TestAListenerReadsAllThatIsNew(t *testing.T) {
	s := newScene(t)
	s.start()
	l := s.listener(ear.One{})
	id := s.comment("/agentmux pause", "wil")
	for range 250 {
		s.comment("chat", "rea")
	}
	s.look(l)
	s.want(id, "eyes +1", "")
}

func TestTheOwnerOfOneSession(t *testing.T) {
	s := newScene(t)
	standings["gate"](s)
	var asked []string
	one := ear.One{
		MayWrite: func(context.Context) error { asked = append(asked, "write"); return errAway },
		HeldBy: func(_ context.Context, st *orchestrator.State) ([]string, error) {
			asked = append(asked, "held "+st.Gate.Name)
			return []string{"go.mod"}, nil
		},
	}
	l := s.listener(one)
	s.pass(time.Minute)
	s.comment("/agentmux approve", "wil")
	s.look(l)
	if !slices.Contains(asked, "write") || !slices.Contains(asked, "held plan") || s.st.Gate == nil {
		t.Errorf("asked %q, gate %+v", asked, s.st.Gate)
	}
	one.MayWrite = nil
	l = s.listener(one)
	s.command("stop")
	s.end(0)
	id := s.comment("/agentmux retry", "wil")
	s.look(l)
	s.want(id, "-1", "the session has ended; agentmux resume on the machine it ran on continues it")
	if !l.Settle(t.Context(), s.issue) {
		t.Error("something is owed")
	}
	s.look(l) // the session's pull request is nothing of an issue of that number
	one.Issue, one.Dir = s.issue, s.sess.Dir
	if got, err := one.Find(t.Context(), s.issue, true); err != nil || got != (ear.Subject{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// The loop looks every 15 seconds, ends with its context, and wakes when told.
func TestAListenerRuns(t *testing.T) {
	s := newScene(t)
	s.start()
	l := s.listener(ear.One{})
	l.Every = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	id := s.comment("/agentmux status", "wil")
	for s.receipts(id) != "eyes +1" {
		if t.Context().Err() != nil {
			t.Fatal("no receipt")
		}
	}
	stop()
	<-done
}

// A list has the newest first. Of one reading the older command counts before the newer one, though the
// loop runs meanwhile.
func TestALaterCommandDoesNotOvertake(t *testing.T) {
	s := newScene(t)
	s.start()
	l := s.listener(ear.One{})
	for range 10 {
		s.comment("/agentmux status", "wil")
		s.comment("/agentmux pause", "max")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Ear.Run(ctx)
	}()
	if err := l.Look(ctx); err != nil {
		t.Fatal(err)
	}
	for len(s.journal.Commands(s.issue)) < 20 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	stop()
	<-done
	var ids []string
	for _, c := range s.journal.Commands(s.issue) {
		ids = append(ids, c.Source)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("judged in the order %q", ids)
	}
}

// What waits is tried again at its time, and not before it.
func TestTheNextPassIsWhenSomethingIsDue(t *testing.T) {
	s := newScene(t)
	s.start()
	if next := s.ear.Step(t.Context()); next < time.Minute {
		t.Errorf("with nothing to do in %s", next)
	}
	s.server.Inject(fakehub.Fault{Route: "GET .../collaborators/{login}/permission", Status: 500, Message: "x"})
	s.comment("/agentmux pause", "wil")
	s.comment("/agentmux resume", "wil")
	s.poll()
	var waits []time.Duration
	for range 12 {
		next := s.ear.Step(t.Context())
		waits = append(waits, next)
		s.pass(next)
	}
	if waits[0] > 2*time.Second || waits[11] != 2*time.Minute || slices.ContainsFunc(waits, func(d time.Duration) bool { return d < time.Second }) {
		t.Errorf("waits %v", waits)
	}
}

func TestARunThatIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ear.New(ear.Options{Journal: newJournal(t), Owner: &owner{}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.Run(ctx)
		}()
		synctest.Wait()
		e.Hear(ghsync.IssueComment{Comment: ghsync.Comment{Body: "hello", Author: ghsync.Account{Login: "x", Type: "User"}}})
		e.Wake()
		e.Wake()
		synctest.Wait()
		stop()
		<-done
	})
}
