package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// A repository that was renamed or transferred is found by its id, also where another one has its
// name now, and is watched as the same one.
func TestGitHub87ARepositoryIsFoundByItsID(t *testing.T) {
	for name, c := range map[string]struct {
		move   func(*testing.T, *world)
		now    string
		within time.Duration
	}{
		"renamed":     {func(_ *testing.T, w *world) { w.Repo(widgets).Rename("gadgets") }, "octo/gadgets", time.Minute},
		"transferred": {func(_ *testing.T, w *world) { w.Repo(widgets).MoveTo("acme") }, "acme/widgets", time.Minute},
		"both, and the name taken": {func(t *testing.T, w *world) {
			r := w.Repo(widgets)
			r.Rename("gadgets")
			r.MoveTo("acme")
			if err := w.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
				t.Fatal(err)
			}
			w.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "of another one", Author: "dev"})
		}, "acme/gadgets", 35 * time.Minute}, // a session lives, so the full sync asks
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				r, in := w.Repo(widgets), w.inbox()
				old := w.issue("asked before", label)
				var moves told[string]
				p := w.poller(in, func(o *intake.Options) {
					o.Moved = func(former, now ghsync.Repo) { moves.add(former.String() + " " + now.String()) }
				})
				p.Set(intake.Mode{Live: true})
				wait(time.Minute)
				c.move(t, w)
				wait(c.within)
				in.clear()
				n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{label}})
				r.Comment(n, "/agentmux status", "dev")
				w.until(in, time.Minute, func() bool {
					return slices.Contains(in.requests(), fmt.Sprintf("%s#%d", c.now, n)) && slices.Contains(in.heard(), "/agentmux status")
				})
				in.clear()
				wait(40 * time.Minute)
				if got := in.requests(); !slices.Equal(got, []string{fmt.Sprintf("%s#%d", c.now, old), fmt.Sprintf("%s#%d", c.now, n)}) {
					t.Errorf("a full sync finds %q", got)
				}
				if got := moves.all(); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], " "+c.now) || p.Facts().Repo.String() != c.now || p.Facts().RepoID != r.ID() {
					t.Errorf("told %q, facts %+v", got, p.Facts())
				}
				w.ResetLog()
				wait(10 * time.Minute)
				for _, call := range w.Calls() {
					if !strings.Contains(call.Path, "/"+c.now+"/") && !strings.HasPrefix(call.Path, "/repositories/") {
						t.Errorf("%s -> %d", call.Path, call.Status)
					}
				}
			})
		})
	}
}

// What another repository showed under the former name does not count as seen.
func TestGitHub87WhatAnotherRepositoryShowedIsForgotten(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		r, in := w.Repo(widgets), w.inbox()
		n := w.issue("of a session")
		p := w.poller(in)
		p.Set(intake.Mode{Live: true})
		wait(time.Minute)
		r.Rename("gadgets")
		if err := w.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
			t.Fatal(err)
		}
		r.CloseIssue(n, "dev")
		for i := range 110 {
			r.Comment(n, fmt.Sprint("ours ", i), "dev")
		}
		wait(15 * time.Minute)
		other := w.Repo(widgets)
		if got := other.AddIssue(fakehub.IssueSpec{Title: "of another one", Author: "dev"}); got != n {
			t.Fatalf("issue %d", got)
		}
		other.Comment(n, "foreign", "dev")
		wait(30 * time.Minute)
		closed := slices.ContainsFunc(in.changes(), func(c taken) bool {
			return slices.ContainsFunc(c.Issues, func(i ghsync.Issue) bool { return i.Number == n && i.Closed })
		})
		if heard := in.heard(); !closed || len(heard) != 111 || p.Facts().Repo.Name != "gadgets" {
			t.Errorf("closed %t, %d comments, facts %+v", closed, len(heard), p.Facts())
		}
	})
}

// A repository that was deleted is asked for now and then, and that is told.
func TestGitHub87ADeletedRepositoryIsTold(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.poller(w.inbox())
		wait(time.Minute)
		w.Repo(widgets).Delete()
		wait(2 * time.Hour)
		w.ResetLog()
		wait(2 * time.Hour)
		if f := p.Facts(); !f.Missing || f.Err == nil || f.Failing.IsZero() {
			t.Errorf("facts %+v", f)
		}
		if n := len(w.Calls()); n > 8*2*4 || n < 8 {
			t.Errorf("%d requests in two hours", n)
		}
	})
}

// Issues that were switched off and on again are an error as long as that lasts.
func TestARepositoryThatIsHiddenForATimeComesBack(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		p := w.poller(in)
		wait(time.Minute)
		w.Inject(fakehub.Fault{Status: 404, Message: "Not Found"})
		wait(3 * time.Hour)
		if f := p.Facts(); !f.Missing {
			t.Errorf("facts %+v", f)
		}
		w.Heal()
		n := w.issue("t", label)
		w.until(in, 20*time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n)))
		wait(20 * time.Minute)
		if f := p.Facts(); f.Missing || f.Err != nil {
			t.Errorf("facts %+v", f)
		}
	})
}
