package intake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// Once hands on all that asks for work and all comments, ends, and says what it could not read.
func TestOnceReadsEverythingAndEnds(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*world)
		pulls  bool
		found  bool
		err    string
	}{
		"":                 {found: true},
		"a faulty server":  {before: func(w *world) { w.Inject(fakehub.Unavailable("GET .../issues", 502, 3)) }, found: true},
		"another name":     {before: func(w *world) { w.Repo(widgets).Rename("gadgets") }, found: true},
		"a refused list":   {before: func(w *world) { w.Inject(fakehub.Fault{Route: "GET .../pulls", Status: 403, Message: "no"}) }, pulls: true, found: true, err: "pull"},
		"GitHub away":      {before: func(w *world) { w.Inject(fakehub.Fault{Status: 503}) }, err: "list issues"},
		"no labels":        {before: func(w *world) { w.Inject(fakehub.Fault{Route: "GET .../labels", Status: 403, Message: "no"}) }, err: "label"},
		"it is gone":       {before: func(w *world) { w.Repo(widgets).Delete() }, err: "find repository"},
		"not taken in":     {before: nil, err: "the disk is full"},
		"the end of a run": {before: nil, err: context.Canceled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				n, id := w.issue("old", label), w.Repo(widgets).ID()
				wait(time.Second)
				newer, later := 130, 120
				if testing.Short() && name != "" && name != "no labels" { // one page does
					newer, later = 3, 3
				}
				for range newer {
					w.issue("t")
				}
				w.Repo(widgets).Comment(n, "/agentmux status", "dev")
				for range later {
					w.Repo(widgets).Comment(n, "hello", "dev")
				}
				if c.before != nil {
					c.before(w)
				}
				in := w.inbox()
				if name == "not taken in" {
					in.fail = errors.New("the disk is full")
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if name == "the end of a run" {
					cancel()
				}
				p := intake.NewPoller(intake.Options{
					Client: w.client(), Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, RepoID: id, Label: label, Found: w.take(in),
				})
				p.Set(intake.Mode{Pulls: c.pulls})
				began := time.Now()
				err := p.Once(ctx)
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || time.Since(began) > 3*time.Minute {
					t.Errorf("ended after %s: %v", time.Since(began), err)
				}
				if found := len(in.requests()) == 1; found != c.found {
					t.Errorf("found %q", in.requests())
				}
				if c.err == "" && !slices.Contains(in.heard(), "/agentmux status") {
					t.Errorf("heard %q", in.heard())
				}
			})
		})
	}
}

// A poller for one issue hands it on once, whether the list of issues shows it or not, and looks for no other one.
func TestOnceOfOneIssueReadsNoLabels(t *testing.T) {
	for name, c := range map[string]struct {
		newer     int
		labels    []string
		commanded bool
		handed    int
		requests  int // for the comments, twice, and for the issues only where their labels decide
	}{
		"with its label":                        {0, []string{label + ":quick"}, false, 1, 2},
		"without a label":                       {0, nil, false, 1, 2},
		"an old one with a label":               {130, []string{label}, false, 1, 2},
		"a comment asks":                        {0, nil, true, 0, 3},
		"a comment asks, and so does its label": {0, []string{label}, true, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				n, id := w.issue("one", c.labels...), w.Repo(widgets).ID()
				wait(time.Second)
				for range c.newer {
					w.issue("t")
				}
				in := w.inbox()
				p := intake.NewPoller(intake.Options{
					Client: w.client(), Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, RepoID: id, Label: label, Issue: n, Commanded: c.commanded, Found: w.take(in),
				})
				if err := p.Once(t.Context()); err != nil {
					t.Fatal(err)
				}
				handed := 0
				for _, change := range in.changes() {
					for _, r := range change.Candidates {
						handed++
						if r.Issue != n || r.RepoID != id || r.Owner != "octo" || r.Repo != "widgets" {
							t.Errorf("handed on: %+v", r)
						}
					}
				}
				if calls := w.Calls(); handed != c.handed || len(calls) != c.requests {
					t.Errorf("handed on %d times; requests: %+v", handed, calls)
				}
			})
		})
	}
}

// Each repository of a watch is read once, but for those that a sweep covers, within the limits.
func TestOnceReadsEachRepositoryOfAWatch(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		client, in := w.client(), w.inbox()
		many := 40
		if testing.Short() {
			many = 18
		}
		targets := w.many("big", many, client)
		var want []string
		for i, target := range targets {
			n := w.Repo(target.Repo.String()).AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{label}})
			if targets[i].Swept = i >= many-10; i < many-10 && i != 7 {
				want = append(want, fmt.Sprintf("%s#%d", target.Repo, n))
			}
		}
		w.Repo(targets[7].Repo.String()).Delete()
		watch := intake.NewWatch(intake.WatchOptions{Label: label, Found: w.take(in)})
		watch.Set(targets)
		err := watch.Once(t.Context())
		if err == nil || strings.Count(err.Error(), "read ") != 1 || !strings.Contains(err.Error(), "read big/r007: ") {
			t.Errorf("%v", err)
		}
		if got := in.requests(); !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		if f := watch.Facts(); len(f) != many-10 || f[0].Synced.IsZero() || f[7].Err == nil {
			t.Errorf("%d facts, %+v", len(f), f)
		}
		calls := len(w.Calls())
		wait(time.Hour)
		if after := len(w.Calls()); after != calls {
			t.Errorf("%d requests after the end", after-calls)
		}
	})
}
