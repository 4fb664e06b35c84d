package main

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// storms are what may be wrong with a GitHub for as long as a story takes, and how long it is away in
// the middle of its first chapter.
var storms = map[string]struct {
	faults []fakehub.Fault
	away   time.Duration
}{
	"a tenth fails":    {faults: tenPercent()},
	"answers are lost": {faults: []fakehub.Fault{{Probability: .1, Drop: fakehub.AfterApplying}}},
	"limits": {faults: []fakehub.Fault{
		{Probability: .04, Status: 403, Message: "You have exceeded a secondary rate limit.", Header: map[string]string{"Retry-After": "1"}},
		{Probability: .04, Status: 429, Message: "You have exceeded a secondary rate limit.", Header: map[string]string{"Retry-After": "1"}},
	}},
	"lists are late": {faults: []fakehub.Fault{{Stale: 4 * time.Second}}},
	"away":           {away: 8 * time.Second},
}

// TestBotThroughStorms plays the story of the bot on a GitHub that fails in some way: nothing is lost
// and nothing doubled, the end is that of a story without faults. AGENTMUX_BOT_STORMS is in
// how many of them (default 1).
func TestBotThroughStorms(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	whole := newBotStory(t)
	whole.lead(0)
	want := whole.ending()
	names := slices.Sorted(maps.Keys(storms))
	for _, name := range names[:min(len(names), numberOf("AGENTMUX_BOT_STORMS", 1))] {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBotStory(t)
			storm := storms[name]
			s.github.Inject(storm.faults...)
			if storm.away > 0 {
				s.running = func(*exec.Cmd) {
					var back *time.Timer
					time.AfterFunc(2*time.Second, func() {
						s.github.Inject(fakehub.Unavailable("", 503, 0))
						back = time.AfterFunc(storm.away, s.github.Heal)
					})
					t.Cleanup(func() {
						if back != nil {
							back.Stop()
						}
					})
				}
			}
			s.lead(0)
			hits := s.github.Hits()
			s.github.Heal()
			if got := s.ending(); got != want {
				t.Errorf("%d requests failed:\n%s\nwithout:\n%s\n%s", hits, got, want, s.out.String())
			}
			if hits == 0 && storm.away == 0 {
				t.Error("no request failed")
			}
		})
	}
}

// TestBotsRaceForIssues has several bots of separate state homes on one repository, and people who type
// agentmux issue on some of the same issues: each issue is worked on once, and none is forgotten.
// AGENTMUX_BOT_RACE is how many issues (default 4); there is a bot for each two, but at most mostBots.
func TestBotsRaceForIssues(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	issues := numberOf("AGENTMUX_BOT_RACE", 4)
	manyRequests := fakehub.Options{Enterprise: issues > 50} // it counts none, and all the bots have one account
	o := rigOptions{playbook: quickPlaybook, unlabel: true, github: manyRequests, config: unpaced +
		"gate: {public_unsandboxed: true, user_hour: 1000, repo_running: 1000, open_prs: 1000}\nbot: {status_addr: \"\", poll_interval: 5s}\n"}
	first := newRig(t, o)
	repo := first.github.Repo(rigRepo)
	for n := 2; n <= issues; n++ {
		repo.AddIssue(fakehub.IssueSpec{Title: fmt.Sprintf("Say two, %d", n), Body: "It should say two.\n", Author: rigOwner})
	}
	rigs := []*rig{first}
	for len(rigs) < min(max(2, issues/2), mostBots) {
		rigs = append(rigs, first.elsewhere(o))
	}
	var bots []*background
	for _, r := range rigs {
		bots = append(bots, r.background("bot", "--max", "2"))
	}
	for n := range issues {
		repo.Label(n+1, "agentmux:quick", rigOwner)
	}
	person := first.elsewhere(o)
	var typed sync.WaitGroup
	hands := make(chan struct{}, mostBots)
	for n := 1; n <= issues; n += 3 {
		typed.Go(func() {
			hands <- struct{}{}
			_ = person.command("issue", fmt.Sprint(n), "--workflow", "quick", "--headless").Run()
			<-hands
		})
	}
	typed.Wait()
	told := func() string {
		var b strings.Builder
		for _, bot := range bots {
			b.WriteString(bot.out.String())
		}
		return b.String()
	}
	limit := time.Now().Add(max(storyLimit, time.Duration(issues)*raceLimit))
	for !allDone(first, issues) && time.Now().Before(limit) {
		<-time.After(100 * time.Millisecond)
	}
	for _, bot := range bots {
		if code := bot.exit(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	sessions := map[int]int{}
	count := func(r *rig, entries []session.Entry) {
		for _, e := range entries {
			r.sound(e)
			if e.State.OutcomeReason == orchestrator.ReasonClaimLost && !launched(e.State) {
				continue // another host had the claim before an agent of this session began
			}
			if e.State.Outcome != orchestrator.OutcomeDone {
				t.Errorf("issue %d: %s %s", e.State.IssueNumber, e.State.Outcome, e.State.OutcomeReason)
			}
			sessions[e.State.IssueNumber]++
		}
	}
	for _, r := range rigs {
		count(r, r.served(rigRepo))
	}
	count(person, person.sessions())
	for n := 1; n <= issues; n++ {
		if sessions[n] != 1 {
			t.Errorf("issue %d has %d sessions and the labels %v", n, sessions[n], repo.Issue(n).Labels)
		}
	}
	if n := len(repo.Pulls()); n != issues {
		t.Errorf("%d pull requests for %d issues", n, issues)
	}
	first.github.Check(t)
	if t.Failed() {
		t.Log(told())
	}
}

// mostBots bounds the bots that race, and the people beside them; raceLimit is for each of their issues, on a
// machine that has much else to do.
const mostBots, raceLimit = 10, 20 * time.Second

// launched reports whether an agent of a session was started.
func launched(s *orchestrator.State) bool {
	for _, a := range s.Agents {
		if a.Launch != "" {
			return true
		}
	}
	return false
}

// allDone reports whether the sessions of so many issues ended with a pull request, on the server.
func allDone(r *rig, issues int) bool {
	for n := 1; n <= issues; n++ {
		if !r.isDone(rigRepo, n) {
			return false
		}
	}
	return true
}
