package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/claim/claimtest"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/orchestrator"
)

// besides is a repository whose issues a bot and jobs work on.
type besides struct {
	*testing.T
	hub *claimtest.Hub
	now time.Time

	mu       sync.Mutex
	labelled map[int]bool         // has its request label
	running  map[int]claim.HostID // a session is at work
	sessions map[int]string       // which session an issue has
	done     map[int]bool
}

const besideIssues = 100

// lookout is what a host knows of the claims of others. Every session has a checkpoint.
func (w *besides) lookout(host claim.HostID, issue int) *orphan.Lookout {
	return orphan.New(orphan.Options{
		Desk: w.hub.Desk(host), Own: host, Issue: issue, Found: func(int) {}, Room: func(context.Context) bool { return true },
		Saved: func(context.Context, string) (bool, error) { return true, nil }, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler),
	})
}

// serve is what a host does about an issue: one that asks for work, or that a host which is gone has left, is claimed and run.
func (w *besides) serve(host claim.HostID, l *orphan.Lookout, issue int) {
	holder, left, err := l.Holder(w.Context(), issue)
	if err != nil || holder != "" {
		return
	}
	w.mu.Lock()
	asks := w.labelled[issue] || left != nil
	w.mu.Unlock()
	if !asks {
		return
	}
	session := orchestrator.PublicID(fmt.Sprintf("20261125-100000-issue-%d-x", issue), fmt.Sprintf("%016x", rand.Uint64()))
	if left != nil {
		session = left.Seen.Claim.Session
	}
	_, err = l.Take(w.Context(), claim.Want{Issue: issue, Session: session, Trigger: "label/agentmux/2026-11-25T10:00:00Z/9", State: claim.Running}, left)
	if errors.As(err, new(*claim.TakenError)) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.Errorf("issue %d: %v", issue, err)
	case w.running[issue] != "":
		w.Errorf("issue %d runs on %s and on %s", issue, w.running[issue], host)
	case w.done[issue]:
		w.Errorf("issue %d is done and begins on %s", issue, host)
	case w.sessions[issue] != "" && w.sessions[issue] != session:
		w.Errorf("issue %d had the session %s and has %s", issue, w.sessions[issue], session)
	}
	w.running[issue], w.sessions[issue], w.labelled[issue] = host, session, false
}

// settle ends what runs: a job that dies leaves its claim, everything else ends and gives it back.
func (w *besides) settle(dies func(claim.HostID) bool) {
	for issue, host := range w.running {
		delete(w.running, issue)
		if dies(host) {
			w.hub.Kill(host)
			continue
		}
		held, err := w.hub.Desk(host).Adopt(w.hub.Of(issue))
		if err == nil {
			err = held.Release(w.Context())
		}
		if err != nil {
			w.Fatal(err)
		}
		w.done[issue] = true
	}
	w.now = w.now.Add(time.Hour)
}

// swept are the issues that the sweep starts a job for.
func (w *besides) swept() map[int]bool {
	asked := map[int]bool{}
	for issue := range w.labelled {
		asked[issue] = w.labelled[issue]
	}
	unknown := func(issue int, err error) { w.Errorf("issue %d: %v", issue, err) }
	unlisted := func(context.Context) (map[int64]int, error) { return nil, errors.New("no list") }
	if err := job.LeftClaims(w.Context(), w.hub.Desk("a_1_1"), unlisted, asked, unknown); err != nil {
		w.Fatal(err)
	}
	return asked
}

// TestGitHub90ABotAndJobsBesideEachOther is part of row 90 of github section 15: of a hundred issues that a bot and jobs meet at
// once, while jobs die, none has two sessions, and once jobs live none is forgotten within two sweeps.
func TestGitHub90ABotAndJobsBesideEachOther(t *testing.T) {
	for name, withBot := range map[string]bool{"a bot and jobs": true, "jobs alone": false} {
		t.Run(name, func(t *testing.T) {
			w := &besides{
				T: t, hub: claimtest.NewHub(), now: time.Unix(0, 0), labelled: map[int]bool{}, running: map[int]claim.HostID{}, sessions: map[int]string{}, done: map[int]bool{},
			}
			chance := rand.New(rand.NewPCG(1, 2))
			for issue := 1; issue <= besideIssues; issue++ {
				w.labelled[issue] = issue%10 != 0 // the others ask for nothing
			}
			bot := claim.NewHostID()
			of, run := w.lookout(bot, 0), int64(1)
			for round := range 6 {
				var hosts sync.WaitGroup
				for issue, asked := range w.swept() {
					for range 2 { // the event of the label, and the sweep
						if run++; asked {
							host := claim.JobHostID(run, 1)
							hosts.Go(func() { w.serve(host, w.lookout(host, issue), issue) })
						}
					}
					if withBot && issue%3 == 0 {
						hosts.Go(func() { w.serve(bot, of, issue) })
					}
				}
				hosts.Wait()
				w.settle(func(host claim.HostID) bool {
					_, _, isJob := host.Job()
					return isJob && round < 4 && chance.IntN(3) > 0
				})
				if round == 3 && len(w.done) == besideIssues*9/10 {
					t.Error("no job died")
				}
			}
			for issue := 1; issue <= besideIssues; issue++ {
				if w.done[issue] != (issue%10 != 0) || w.hub.Of(issue).ID != "" {
					t.Errorf("issue %d: done %v, claim %+v", issue, w.done[issue], w.hub.Of(issue))
				}
			}
		})
	}
}
