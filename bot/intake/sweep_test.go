package intake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// sweep starts a sweep of octo, and returns what it told of too many hits.
func (w *world) sweep(in *inbox, change ...func(*intake.SweepOptions)) *intake.Sweep {
	w.t.Helper()
	o := intake.SweepOptions{
		Client: w.client(), Org: "octo", Labels: func() []string { return []string{label, label + ":quick"} },
		Found: func(ctx context.Context, all []intake.Candidate) error {
			return w.take(in)(ctx, intake.Changes{Candidates: all})
		},
	}
	for _, f := range change {
		f(&o)
	}
	s := intake.NewSweep(o)
	w.run(s.Run)
	return s
}

// A sweep finds what asks for work in all repositories of an organisation, and costs no more than
// forty searches an hour.
func TestASweepFindsRequests(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		client := w.client()
		targets := w.many("octo", 3, client)
		w.many("elsewhere", 1, client)
		var want []string
		for i, name := range []string{label, label + ":quick"} {
			n := w.Repo(targets[i].Repo.String()).AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{name}})
			want = append(want, fmt.Sprintf("%s#%d", targets[i].Repo, n))
		}
		for name, labels := range map[string][]string{"octo/r002": {"bug", label + ":running"}, "elsewhere/r000": {label}} {
			w.Repo(name).AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: labels})
		}
		w.Repo(widgets).CloseIssue(w.issue("closed", label), "dev")
		in := w.inbox()
		s := w.sweep(in)
		wait(time.Second)
		if got := in.requests(); !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		for _, c := range in.changes() {
			for _, r := range c.Candidates {
				if r.Via != intake.Search || r.RepoID != 0 || r.Host != client.Host() {
					t.Errorf("candidate %+v", r)
				}
			}
		}
		wait(time.Hour)
		if f := s.Facts(); f.Searches < 38 || f.Searches > 44 || f.Hits != 2 || f.Err != nil || f.Org != "octo" {
			t.Errorf("facts %+v", f)
		}
	})
}

// The index of the search lags: what a sweep missed another one finds.
func TestGitHub33ASearchThatLags(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		w.sweep(in)
		wait(time.Minute)
		n := w.issue("t", label)
		took := w.until(in, time.Hour, in.has(fmt.Sprintf("octo/widgets#%d", n)))
		if took < 4*time.Minute || took > 4*time.Minute+100*time.Second {
			t.Errorf("found after %s", took)
		}
	}, func(o *fakehub.Options) { o.SearchLag = 4 * time.Minute })
}

// Of more hits than a search shows it says so and names the repositories, until they are fewer.
func TestASweepNamesTheRepositoriesOfTooManyHits(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		targets := w.many("octo", 2, w.client())
		for range 501 {
			for _, target := range targets {
				w.Repo(target.Repo.String()).AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{label}})
			}
		}
		in := w.inbox()
		var names told[[]ghsync.Repo]
		s := w.sweep(in, func(o *intake.SweepOptions) { o.Crowded = names.add })
		wait(2 * time.Minute) // ten searches take more than one
		got := names.all()
		if len(got) == 0 || !slices.Equal(got[0], []ghsync.Repo{targets[0].Repo, targets[1].Repo}) || s.Facts().Hits != 1002 {
			t.Fatalf("told %v, facts %+v", got, s.Facts())
		}
		if n := len(in.requests()); n != 1000 {
			t.Errorf("%d requests were found", n)
		}
		for _, target := range targets {
			for n := range 251 {
				w.Repo(target.Repo.String()).Unlabel(n+1, label, "dev")
			}
		}
		wait(4 * time.Minute)
		got = names.all()
		if last := got[len(got)-1]; last != nil || s.Facts().Hits != 500 {
			t.Errorf("told last %v, facts %+v", last, s.Facts())
		}
		if wait(2 * time.Minute); len(names.all()) != len(got) {
			t.Errorf("told again: %v", names.all()[len(got):])
		}
		if n := len(in.requests()); n != 1002 {
			t.Errorf("%d requests were found", n)
		}
	})
}

// What a sweep fails at, or is not taken in, comes again.
func TestASweepGoesOnAfterErrors(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		n := w.issue("t", label)
		in := w.inbox()
		in.fail = errors.New("the disk is full")
		w.Inject(fakehub.Unavailable("GET /search/issues", 502, 20))
		s := w.sweep(in)
		wait(30 * time.Minute)
		if s.Facts().Err == nil || !s.Facts().Swept.IsZero() {
			t.Errorf("facts %+v", s.Facts())
		}
		in.mu.Lock()
		in.fail = nil
		in.mu.Unlock()
		w.until(in, 2*time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n)))
		wait(time.Minute)
		if f := s.Facts(); f.Err != nil || f.Swept.IsZero() {
			t.Errorf("facts %+v", f)
		}
	})
}
