package follow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
)

func TestGitHub83AReviewAndARedCheckAreOneRound(t *testing.T) {
	for name, change := range map[string]func(*fakehub.Options){"GraphQL": func(*fakehub.Options) {}, "REST": func(o *fakehub.Options) { o.NoGraphQL = true }} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, change)
			d.repo.Require("test")
			d.heard()
			d.pass(time.Minute)
			before := d.hub.Requests("robot")
			check := d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "failure", Log: "--- FAIL: TestRetry\n/agentmux stop\n"})
			d.pass(4 * time.Minute) // a head without checks is read again
			review := d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "Give up after three.", fakehub.InlineComment{Path: "retry.go", Hunk: "@@ -1 +1,2 @@\n a\n+for {", Body: "Forever?"})
			d.heard()
			d.pass(4*time.Minute + 59*time.Second)
			if got := d.rounds(); len(got) != 0 {
				t.Fatalf("before the quiet time is over: %+v", got)
			}
			d.pass(time.Second)
			got := d.rounds()
			if len(got) != 1 || got[0].SourceID != fmt.Sprintf("check/%d/%s,review/%d", check, d.sha, review) || got[0].Name != "changes" || got[0].Actor != "mia" {
				t.Fatalf("rounds %+v", got)
			}
			for _, want := range []string{"@mia requests changes", "> Give up after three.", "At `retry.go`, line 2:", "> +for {", "> Forever?", "The check `test` failed. The end of its log:", "> --- FAIL: TestRetry", "> /agentmux stop"} {
				if !strings.Contains(got[0].Args.Text, want) {
					t.Errorf("%q is not in\n%s", want, got[0].Args.Text)
				}
			}
			if spent := d.hub.Requests("robot") - before; spent > 10 {
				t.Errorf("%d requests for a round:\n%s", spent, d.hub.Transcript())
			} else {
				t.Logf("%d requests for a round", spent)
			}
			for range 3 { // seen again, by this process and the next
				d.heard()
				d.pass(2 * time.Hour)
				d.restart()
			}
			if got := d.rounds(); len(got) != 1 {
				t.Errorf("%d rounds", len(got))
			}
			d.hub.Check(t)
		})
	}
}

func TestGitHub64ThreeRoundsThenAPersonIsAsked(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"on a machine in time": 0, "on a machine a day ahead": 26 * time.Hour, "on a machine a day behind": -26 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.ahead = ahead
			for n := 1; n <= 5; n++ {
				d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", fmt.Sprintf("No %d.", n))
				d.heard()
				d.pass(2 * time.Hour)
				if got := len(d.rounds()); got != min(n, 3) {
					t.Fatalf("review %d: %d rounds", n, got)
				}
				// The figures are of the process, and each review from the third on has one of its own.
				if got, want := counts(d.follow), map[int][2]int{1: {1, 0}, 2: {2, 0}, 3: {3, 0}, 4: {0, 1}}[n]; got != want {
					t.Errorf("review %d: %v are counted, want %v", n, got, want)
				}
				if n >= 3 {
					d.restart()
				}
				d.push()
			}
			if len(d.told) != 1 || !strings.Contains(d.told[0], "3 follow-up rounds are done") {
				t.Errorf("told %q", d.told)
			}
		})
	}
}

// counts are the rounds and the notes to people that a Follow counts.
func counts(f *follow.Follow) [2]int {
	rounds, told := f.Counts()
	return [2]int{rounds, told}
}

func TestGitHub64AFailedCheckUnderClassicProtection(t *testing.T) {
	d := newDesk(t)
	d.repo.Require("must")
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "may", Conclusion: "failure"})
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "must", Conclusion: "success"})
	d.heard()
	d.pass(2 * time.Hour)
	if got := d.rounds(); len(got) != 0 {
		t.Fatalf("a check that is not required: %+v", got)
	}
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "must", Conclusion: "timed_out", Title: "Timed out", Annotations: []fakehub.Annotation{{Path: "a.go", Line: 3, Message: "too slow"}}})
	d.heard()
	d.pass(2 * time.Hour)
	got := d.rounds()
	if len(got) != 1 || got[0].Actor != "checks" || !strings.Contains(got[0].Args.Text, "> Timed out") || !strings.Contains(got[0].Args.Text, "> `a.go`, line 3: too slow") || strings.Contains(got[0].Args.Text, "may") {
		t.Errorf("rounds %+v", got)
	}
}

// What is said by others than people with write, of another head, or taken back, leads to nothing.
func TestSecurity26FollowUpsAreOfPeopleWithWrite(t *testing.T) {
	for name, say := range map[string]func(d *desk){
		"triage":    func(d *desk) { d.repo.Review(d.pull.Number, "tri", "CHANGES_REQUESTED", "x") },
		"read":      func(d *desk) { d.repo.Review(d.pull.Number, "rob", "CHANGES_REQUESTED", "x") },
		"none":      func(d *desk) { d.repo.Review(d.pull.Number, "eve", "CHANGES_REQUESTED", "x") },
		"a bot":     func(d *desk) { d.repo.Review(d.pull.Number, "app[bot]", "CHANGES_REQUESTED", "x") },
		"ourselves": func(d *desk) { d.repo.Review(d.pull.Number, "robot", "CHANGES_REQUESTED", "x") },
		"a comment": func(d *desk) { d.repo.Review(d.pull.Number, "mia", "COMMENTED", "x") },
		"a command": func(d *desk) { d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "/agentmux stop") },
		"taken back": func(d *desk) {
			d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "x")
			d.repo.Review(d.pull.Number, "mia", "APPROVED", "")
		},
		"our own status": func(d *desk) { d.repo.AddStatus(d.sha, "agentmux/review", "failure", "robot") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			say(d)
			d.heard()
			d.pass(24 * time.Hour)
			if got := d.rounds(); len(got) != 0 || len(d.told) != 0 {
				t.Errorf("rounds %+v, told %q", got, d.told)
			}
		})
	}
}

// What happens in the quiet time counts, also if it was not heard.
func TestWhatIsTakenBackInTheQuietTime(t *testing.T) {
	for name, then := range map[string]func(d *desk){
		"dismissed": func(d *desk) { d.repo.DismissReviews(d.pull.Number) },
		"another head": func(d *desk) {
			d.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "by a person", Files: map[string]string{"a": "c"}})
		},
		"merged":   func(d *desk) { d.repo.Merge(d.pull.Number, "ann") },
		"approved": func(d *desk) { d.repo.Review(d.pull.Number, "mia", "APPROVED", "") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "x")
			d.heard()
			d.pass(time.Minute)
			then(d)
			d.pass(24 * time.Hour)
			if got := d.rounds(); len(got) != 0 || len(d.told) != 0 {
				t.Errorf("rounds %+v, told %q", got, d.told)
			}
		})
	}
}

// Everything in the quiet time is one round; the next one begins an hour after it.
func TestWhatComesLaterIsTheNextRound(t *testing.T) {
	d := newDesk(t)
	d.heard()
	names := map[string]string{}
	say := func(name, login string) {
		t.Helper()
		names[fmt.Sprintf("review/%d", d.repo.Review(d.pull.Number, login, "CHANGES_REQUESTED", name))] = name
		d.heard()
	}
	say("one", "mia")
	d.pass(4 * time.Minute)
	say("two", "ann")
	say("stranger", "rob")
	d.pass(4 * time.Minute)
	if got := d.sources(names); got != "" {
		t.Errorf("too early: %s", got)
	}
	d.pass(time.Minute)
	if got := d.sources(names); got != "one+two" {
		t.Fatalf("rounds %s", got)
	}
	d.pull.State = &orchestrator.State{Phase: "planning"}
	d.follow.Wake()
	say("three", "mia")
	d.pass(30 * time.Minute)
	d.pull.State = &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone} // it changed nothing
	d.follow.Wake()
	d.pass(29 * time.Minute)
	if got := d.sources(names); got != "one+two" {
		t.Errorf("within the hour: %s", got)
	}
	d.pass(time.Minute)
	if got := d.sources(names); got != "one+two three" {
		t.Errorf("rounds %s", got)
	}
}

// A person's stop of the session of an open pull request, as the ear notes it, ends the follow-ups.
func TestGitHub84AStopEndsFollowUps(t *testing.T) {
	d := newDesk(t)
	d.must(d.record(d.pull, orchestrator.Payload{Name: "stop", Actor: "mia", Source: "issue", SourceID: "comment/7", State: "done"}))
	d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "x")
	d.heard()
	d.pass(24 * time.Hour)
	if got := d.rounds(); len(got) != 0 || len(d.told) != 0 {
		t.Errorf("rounds %+v, told %q", got, d.told)
	}
}

// Where a head has more checks than are read, the log says so, once for the head.
func TestThatNotAllChecksAreFollowedIsLogged(t *testing.T) {
	d := newDesk(t)
	for i := range 3001 {
		d.repo.AddStatus(d.sha, fmt.Sprint("context ", i), "success", "mia")
	}
	for range 2 {
		d.heard()
		d.pass(time.Minute)
	}
	if n := strings.Count(d.log.String(), "the head has more checks than are read"); n != 1 || !strings.Contains(d.log.String(), "read=3000") {
		t.Errorf("told %d times:\n%s", n, d.log.String())
	}
}

// A log on a host that is not one of the server's is not read; the check's output is used.
func TestGitHub83ALogOnAForeignHost(t *testing.T) {
	d := newDesk(t)
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "failure", Log: "the log", Summary: "the output"})
	d.hub.Inject(fakehub.Redirect("GET /repos/{owner}/{repo}/actions/jobs/{id}/logs", http.StatusFound, "https://evil.example/log"))
	d.heard()
	d.pass(time.Hour)
	got := d.rounds()
	if len(got) != 1 || !strings.Contains(got[0].Args.Text, "> the output") || strings.Contains(got[0].Args.Text, "the log") {
		t.Errorf("rounds %+v", got)
	}
	d.hub.Check(t)
}

// While no pull request of a session is open nothing is asked, and nothing is asked at rest.
func TestNothingIsAskedAtRest(t *testing.T) {
	d := newDesk(t)
	before := len(d.hub.Calls())
	d.pass(24 * time.Hour)
	d.follow.Wake()
	d.pass(time.Hour)
	if got := len(d.hub.Calls()) - before; got != 0 {
		t.Errorf("%d requests without a pull request", got)
	}
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "success"})
	d.repo.Review(d.pull.Number, "rob", "CHANGES_REQUESTED", "x")
	d.heard()
	d.pass(time.Minute)
	before = len(d.hub.Calls())
	d.pass(24 * time.Hour)
	d.follow.Wake()
	d.pass(time.Hour)
	if got := len(d.hub.Calls()) - before; got != 0 {
		t.Errorf("%d requests at rest:\n%s", got, d.hub.Transcript())
	}
	d.gone = true
	d.heard()
	before = len(d.hub.Calls())
	d.pass(time.Hour)
	if got := len(d.hub.Calls()) - before; got != 0 {
		t.Errorf("%d requests for the pull request of somebody else", got)
	}
}

// Checks that are not finished are read each five minutes, and no longer than they are not.
func TestUnfinishedChecksAreReadEachFiveMinutes(t *testing.T) {
	d := newDesk(t)
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test"})
	d.heard()
	d.pass(time.Second)
	before := len(d.hub.Calls())
	d.pass(time.Hour)
	if got := len(d.hub.Calls()) - before; got != 12 {
		t.Errorf("%d readings in an hour", got)
	}
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "success"})
	d.pass(5 * time.Minute)
	before = len(d.hub.Calls())
	d.pass(time.Hour)
	if got := len(d.hub.Calls()) - before; got != 0 {
		t.Errorf("%d readings of a finished check", got)
	}
}

// While the session is at work nothing follows from reviews and checks, so they are read at its end.
func TestASessionAtWorkCostsNothing(t *testing.T) {
	d := newDesk(t)
	d.repo.Require("test")
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "failure"})
	done := d.pull.State
	d.pull.State = &orchestrator.State{Phase: "implement"}
	d.heard()
	before := d.hub.Requests("robot")
	d.pass(time.Hour)
	d.follow.Look()
	d.pass(time.Hour)
	if n := d.hub.Requests("robot") - before; n != 0 {
		t.Errorf("%d requests while the session is at work:\n%s", n, d.hub.Transcript())
	}
	d.pull.State = done
	d.follow.Wake()
	if d.pass(5 * time.Minute); len(d.rounds()) != 1 {
		t.Errorf("rounds %+v", d.rounds())
	}
}

// A webhook about checks has them read at once, whether they were finished or not; many webhooks lead to
// one reading in ten seconds.
func TestAWebhookHasChecksRead(t *testing.T) {
	d := newDesk(t)
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "success"})
	d.heard()
	d.pass(time.Minute)
	before := len(d.hub.Calls())
	d.repo.Require("test")
	d.repo.AddCheck(d.sha, fakehub.CheckSpec{Name: "test", Conclusion: "failure"})
	for range 20 {
		d.follow.Look()
		d.pass(time.Second)
	}
	if got := len(d.hub.Calls()) - before; got < 2 || got > 3 {
		t.Errorf("%d readings in 20 seconds with a webhook each", got)
	}
	d.pass(6 * time.Minute)
	if got := d.rounds(); len(got) != 1 || !strings.Contains(got[0].SourceID, "check/") {
		t.Errorf("rounds %+v", got)
	}
}

// Errors of the server, of the account and of the owner delay a round and lose none.
func TestErrorsDelayARound(t *testing.T) {
	for name, fail := range map[string]func(d *desk){
		"permission": func(d *desk) {
			d.hub.Inject(fakehub.Unavailable("GET .../collaborators/{login}/permission", http.StatusBadGateway, 35))
		},
		"checks": func(d *desk) { d.hub.Inject(fakehub.Unavailable("POST /graphql", http.StatusBadGateway, 30)) },
		"comments": func(d *desk) {
			d.hub.Inject(fakehub.Unavailable("GET .../reviews/{id}/comments", http.StatusBadGateway, 9))
		},
		"delivery": func(d *desk) { d.fails = errors.New("the disk is full") },
		"fault":    func(d *desk) { d.fails = errFault },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			fail(d)
			d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "x", fakehub.InlineComment{Path: "a", Body: "inline"})
			d.heard()
			d.pass(6 * time.Minute)
			if got := d.rounds(); name != "comments" && len(got) != 0 {
				t.Errorf("rounds %+v", got)
			}
			d.fails = nil
			d.pass(time.Hour)
			if got := d.rounds(); len(got) != 1 || !strings.Contains(got[0].Args.Text, "> inline") {
				t.Errorf("rounds %+v", got)
			}
		})
	}
}

func TestPastIsWhatTheCommandsSay(t *testing.T) {
	d := newDesk(t)
	for _, p := range []orchestrator.Payload{
		{Name: "changes", Source: "issue", SourceID: "review/5,check/7/abc", Origin: "follow-up"},
		{Name: "changes", Source: "issue", SourceID: "review/6"}, // a command in a review
		{Name: "stop", Source: "issue", SourceID: "comment/8"},   // of a session at work
		{Name: "stop", Source: "issue", SourceID: "comment/9", State: "refused"},
		{Name: "changes", Source: "issue", SourceID: "review/10", State: "refused"},
	} {
		d.must(d.record(d.pull, p))
		d.now = d.now.Add(time.Minute)
	}
	p, err := follow.PastOf(d.pull.Dir)
	d.must(err)
	if p.Rounds != 1 || p.Stopped || p.Told || !p.Last.Equal(noon) || !p.Sources["review/5"] || !p.Sources["check/7/abc"] || !p.Sources["review/6"] || p.Sources["review/10"] {
		t.Errorf("%+v", p)
	}
}

// Reviews by many strangers cost a bounded number of requests and keep nobody else from being heard.
func TestStrangersCostLittle(t *testing.T) {
	d := newDesk(t, func(o *fakehub.Options) {
		for n := range 60 {
			o.Users = append(o.Users, fakehub.UserSpec{Login: fmt.Sprintf("stranger%d", n)})
		}
	})
	for n := range 60 {
		d.repo.Review(d.pull.Number, fmt.Sprintf("stranger%d", n), "CHANGES_REQUESTED", "x")
	}
	d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "by mia")
	d.heard()
	d.pass(59 * time.Minute)
	asked := 0
	for _, c := range d.hub.Calls() {
		if strings.HasSuffix(c.Route, "/permission") {
			asked++
		}
	}
	if asked != 50 {
		t.Errorf("%d permissions were asked for", asked)
	}
	d.pass(2 * time.Hour)
	if got := d.rounds(); len(got) != 1 || !strings.Contains(got[0].Args.Text, "> by mia") || strings.Contains(got[0].Args.Text, "stranger") {
		t.Errorf("rounds %+v", got)
	}
}

// Run looks whenever something is heard, and ends with its context.
func TestRunLooksWhenItHears(t *testing.T) {
	d := newDesk(t)
	d.pull.Rules.Quiet = 0
	d.given = make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.follow.Run(ctx)
	}()
	id := d.repo.Review(d.pull.Number, "mia", "CHANGES_REQUESTED", "x")
	d.heard()
	if got := <-d.given; got != fmt.Sprintf("review/%d", id) {
		t.Errorf("source %s", got)
	}
	cancel()
	<-ended
}
