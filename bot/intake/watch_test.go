package intake_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A day of an idle repository costs an account nothing, and an App two requests an hour and four for
// the full sync: each token is asked for the lists once.
func TestGitHub12AnIdleDay(t *testing.T) {
	hours := 24
	if testing.Short() {
		hours = 3
	}
	inTime(t, func(t *testing.T, w *world) {
		w.issue("t")
		w.poller(w.inbox(), each(time.Minute))
		wait(2 * time.Hour)
		w.ResetLog()
		wait(time.Duration(hours) * time.Hour)
		if n := w.Requests(robot); n != 0 {
			t.Errorf("%d counted requests in %d hours\n%s", n, hours, w.counted())
		}
	})
	inTime(t, func(t *testing.T, w *world) {
		w.issue("t")
		app := w.AddApp(fakehub.AppSpec{Slug: "amx", Permissions: installation.Permissions(), Repos: []string{widgets}})
		key := filepath.Join(t.TempDir(), "app.pem")
		if err := os.WriteFile(key, app.Key, 0o600); err != nil {
			t.Fatal(err)
		}
		tokens, err := installation.New(installation.Options{APIURL: w.API(), ServerURL: w.URL(), ClientID: app.ClientID, KeyFile: key, Repo: widgets, HTTP: w.wire})
		if err != nil {
			t.Fatal(err)
		}
		p := w.poller(w.inbox(), each(time.Minute), func(o *intake.Options) {
			o.Client, o.Rand = w.clientOf(tokens), func() float64 { return 0.5 }
		})
		wait(2 * time.Hour)
		w.ResetLog()
		wait(time.Duration(hours) * time.Hour)
		if n := w.Requests(app.Login); n > hours*(2+4) || n < hours {
			t.Errorf("%d counted requests of an App in %d hours", n, hours)
		}
		if f := p.Facts(); f.Err != nil {
			t.Errorf("facts %+v", f)
		}
	})
}

// many adds repositories for the robot, and returns them as targets of one client.
func (w *world) many(owner string, n int, client *ghsync.Client) []intake.Target {
	w.t.Helper()
	var all []intake.Target
	for i := range n {
		name := fmt.Sprintf("r%03d", i)
		if err := w.AddRepo(fakehub.RepoSpec{Owner: owner, Name: name, Source: w.Repo(widgets).Dir()}); err != nil {
			w.t.Fatal(err)
		}
		r := w.Repo(owner + "/" + name)
		r.SetRole(robot, fakehub.Write)
		r.SetRole("dev", fakehub.Write)
		all = append(all, intake.Target{Client: client, Repo: ghsync.Repo{Owner: owner, Name: name}, ID: r.ID()})
	}
	return all
}

// A hundred and fifty repositories are polled with half of the requests that there are, in turn;
// calls for sessions are not delayed, and a hook is served even in the rush of the start.
func TestGitHub86ManyRepositories(t *testing.T) {
	// The limit stretches the interval of eighty, too: each is polled once in 69 seconds.
	many, start, period, least := 150, 10*time.Minute, 20*time.Minute, 5
	if testing.Short() {
		many, start, period, least = 80, time.Minute, 6*time.Minute, 4
	}
	inTime(t, func(t *testing.T, w *world) {
		client, in := w.client(), w.inbox()
		var mu sync.Mutex
		var sent []time.Duration
		polled := map[string]int{}
		w.wire.before = func(r *requestOf) {
			mu.Lock()
			defer mu.Unlock()
			if r.Context().Value(forSession) == nil {
				sent = append(sent, time.Since(w.began))
			}
			if strings.Contains(r.URL.RawQuery, "state=all") {
				polled[r.URL.Path]++
			}
		}
		var aged told[time.Duration]
		watch := intake.NewWatch(intake.WatchOptions{
			Label: label, Found: w.take(in), Core: func() transport.Quota { return client.Quotas()["core"] },
			Aged: aged.add,
		})
		targets := w.many("big", many, client)
		watch.Set(targets)
		w.run(watch.Run)
		wait(5 * time.Second)
		last := targets[many-1]
		n := w.Repo(last.Repo.String()).AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{label}})
		if !watch.Wake(last.ID) || watch.Wake(1) {
			t.Error("a hook of one of ours is not told from another one")
		}
		if took := w.until(in, time.Minute, in.has(fmt.Sprintf("%s#%d", last.Repo, n))); took > 10*time.Second {
			t.Errorf("in the rush of the start a hook was served after %s", took)
		}
		wait(10 * time.Second) // its first reading may have found the issue before that of the hook
		if got := aged.all(); len(got) != 1 || got[0] > 10*time.Second {
			t.Errorf("hooks waited %v", got)
		}
		for range 20 {
			began := time.Now()
			if _, err := client.Issue(context.WithValue(t.Context(), forSession, true), last.Repo, n); err != nil || time.Since(began) > 250*time.Millisecond {
				t.Errorf("a call for a session took %s, %v", time.Since(began), err)
			}
			wait(10 * time.Second)
		}
		wait(start)
		mu.Lock()
		clear(polled)
		mu.Unlock()
		wait(period)
		mu.Lock()
		for i := range sent {
			if from := i - 5 - 150; from >= 0 && sent[i]-sent[from] < 59*time.Second {
				t.Fatalf("%d requests in %s", i-from, sent[i]-sent[from])
			}
		}
		if len(polled) != many || slices.Min(slices.Collect(maps.Values(polled))) < least {
			t.Errorf("%d repositories were polled in %s: %v", len(polled), period, polled)
		}
		mu.Unlock()
		facts := watch.Facts()
		if len(facts) != many || facts[0].Repo.Name != "r000" || facts[0].Pace.Slow != intake.ByLimit || facts[0].Synced.IsZero() {
			t.Errorf("%d facts, %+v", len(facts), facts[0])
		}
	})
}

// Two identities do not share their limits: one whose quota is used up delays no other one.
func TestGitHub86AnotherIdentityIsNotDelayed(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.AddUser(fakehub.UserSpec{Login: "other"})
		other := intake.NewWatch(intake.WatchOptions{Label: label, Found: w.take(w.inbox())})
		in := w.inbox()
		mine := intake.NewWatch(intake.WatchOptions{Label: label, Found: w.take(in)})
		r := w.Repo(widgets)
		at := transport.Addresses{API: w.API(), GraphQL: w.GraphQL(), Server: w.URL()}
		others := w.clientOf(transport.StaticToken(transport.ModeToken, secretOf(w.Token("other")), at))
		repo := ghsync.Repo{Owner: "octo", Name: "widgets"}
		other.Set([]intake.Target{{Client: others, Repo: repo, ID: r.ID()}})
		mine.Set([]intake.Target{{Client: w.client(), Repo: repo, ID: r.ID()}})
		w.SetRemaining("other", "core", 0)
		w.run(other.Run)
		w.run(mine.Run)
		wait(10 * time.Minute)
		if f := other.Facts()[0]; f.Err == nil || !f.Polled.IsZero() {
			t.Errorf("facts of the one at its limit %+v", f)
		}
		n := w.issue("t", label)
		if took := w.until(in, time.Minute, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 17*time.Second {
			t.Errorf("seen after %s", took)
		}
	})
}

// A hook for a repository whose poller was not started yet is one like any other.
func TestAHookBeforeThePollerRunsIsServed(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		in := w.inbox()
		watch := intake.NewWatch(intake.WatchOptions{Label: label, Every: time.Hour, Found: w.take(in)})
		watch.Set([]intake.Target{{Client: w.client(), Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, ID: w.Repo(widgets).ID()}})
		wait(time.Hour)
		w.Inject(fakehub.StaleLists("GET .../issues", 5*time.Second))
		n := w.issue("t", label)
		if !watch.Wake(w.Repo(widgets).ID()) {
			t.Error("the hook is not of one of ours")
		}
		w.run(watch.Run)
		if took := w.until(in, time.Hour, in.has(fmt.Sprintf("octo/widgets#%d", n))); took > 11*time.Second {
			t.Errorf("seen after %s", took)
		}
	})
}

// The repositories of a sweep are polled only while they have something of ours, or after a hook.
func TestIdleRepositoriesOfASweepAreNotPolled(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		client, in := w.client(), w.inbox()
		watch := intake.NewWatch(intake.WatchOptions{Label: label, Found: w.take(in)})
		targets := w.many("org", 4, client)
		for i := range targets {
			targets[i].Swept = true
		}
		targets[1].Busy, targets[2].Live = true, true
		watch.Set(targets)
		w.run(watch.Run)
		wait(time.Minute)
		names := func() (all []string) {
			for _, f := range watch.Facts() {
				all = append(all, f.Repo.Name)
			}
			return all
		}
		if got := names(); !slices.Equal(got, []string{"r001", "r002"}) {
			t.Errorf("polled: %q", got)
		}
		n := w.Repo("org/r003").AddIssue(fakehub.IssueSpec{Title: "t", Author: "dev", Labels: []string{label}})
		w.Inject(fakehub.Fault{Route: "GET .../issues", Stale: 5 * time.Second})
		if !watch.Wake(targets[3].ID) {
			t.Error("the hook is not of one of ours")
		}
		if took := w.until(in, time.Minute, in.has(fmt.Sprintf("org/r003#%d", n))); took > 10*time.Second {
			t.Errorf("a hook was served after %s", took)
		}
		wait(5 * time.Minute)
		if got := names(); !slices.Equal(got, []string{"r001", "r002", "r003"}) {
			t.Errorf("polled after the hook: %q", got)
		}
		targets[2].Live = false
		watch.Set(targets)
		wait(6 * time.Minute)
		if got := names(); !slices.Equal(got, []string{"r001"}) {
			t.Errorf("polled later: %q", got)
		}
		w.ResetLog()
		wait(time.Hour)
		for _, r := range w.Calls() {
			if !strings.Contains(r.Path, "r001") {
				t.Errorf("a request of an idle repository: %s", r.Path)
			}
		}
	})
}
