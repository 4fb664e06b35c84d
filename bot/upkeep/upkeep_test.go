package upkeep_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/upkeep"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// remover notes what it is asked for, and fails for some names.
type remover struct {
	mu        sync.Mutex
	removed   []string
	vacated   []string
	collected int
	fails     string
	looks     []time.Time // at checkpoints
	spared    bool        // that of a session that is claimed
}

func (r *remover) Remove(_ context.Context, dir string, _ *config.Config) (work.Removed, error) {
	if filepath.Base(dir) == r.fails {
		return work.Removed{}, errors.New("the disk is full")
	}
	r.removed = append(r.removed, filepath.Base(dir))
	return work.Removed{}, nil
}

func (r *remover) Vacant(_ string, s *orchestrator.State, _ *config.Config) bool {
	return len(s.Workspaces) == 0
}

func (r *remover) Vacate(_ context.Context, dir string, _ *config.Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.vacated = append(r.vacated, filepath.Base(dir))
	return nil
}

// left are the sessions whose workspaces were removed.
func (r *remover) left() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.vacated)
}

func (r *remover) Collect(context.Context, string, *config.Config) error {
	r.collected++
	return nil
}

func (r *remover) checkpoints(_ context.Context, held func(string) bool) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks = append(r.looks, time.Now())
	r.spared = held("claimed") && !held("free")
	return nil, nil
}

const keep = 30 * 24 * time.Hour

const closedPull = 5

// made makes a session that was changed last some time ago.
func made(t *testing.T, project, name string, ago time.Duration, change func(*orchestrator.State)) {
	t.Helper()
	_, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{
		Project: project, Now: time.Now(), Name: name, Request: "x", Definition: definition,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings()},
	})
	if err != nil {
		t.Fatal(err)
	}
	state, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	state.Phase, state.Outcome = orchestrator.PhaseDone, orchestrator.OutcomeDone
	state.UpdatedAt = time.Now().Add(-ago).UTC().Format(time.RFC3339)
	if change != nil {
		change(state)
	}
	data, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(sess.Dir, session.StateFile), data, 0o600)
	}
	if err = errors.Join(err, sess.Close()); err != nil {
		t.Fatal(err)
	}
}

func once(t *testing.T, project string, keep time.Duration, r *remover) ([]string, error) {
	t.Helper()
	gone, _, err := upkeep.Once(t.Context(), options(project, keep, r))
	return gone, err
}

func options(project string, keep time.Duration, r *remover) upkeep.Options {
	return upkeep.Options{
		Project: project, Config: &config.Config{Session: config.Session{Keep: keep}, Followup: config.Followup{Days: 14}}, Remover: r,
		Closed: func(pull int) bool { return pull == closedPull }, Gone: func([]string) {}, Now: time.Now,
		Claims: func(context.Context) ([]claim.Seen, error) {
			return []claim.Seen{{Claim: claim.Claim{Session: "claimed"}}}, nil
		},
		Checkpoints: r.checkpoints, Log: slog.New(slog.DiscardHandler),
	}
}

func TestWhatEndedLongAgoGoes(t *testing.T) {
	project := t.TempDir()
	made(t, project, "old", keep+time.Hour, nil)
	made(t, project, "failed", keep+time.Hour, func(s *orchestrator.State) { s.Phase = orchestrator.PhaseFailed })
	made(t, project, "new", keep-time.Hour, nil)
	made(t, project, "at-work", keep+time.Hour, func(s *orchestrator.State) { s.Phase, s.Outcome = "implementing", "" })
	made(t, project, "waits-for-a-person", keep+time.Hour, func(s *orchestrator.State) {
		s.Phase, s.Outcome = "implementing", orchestrator.OutcomeNeedsHuman
	})
	made(t, project, "not-shown", keep+time.Hour, func(s *orchestrator.State) { s.Mirror, s.IssueNumber, s.Repo = true, 7, "octo/widgets" })
	r := &remover{}
	gone, err := once(t, project, keep, r)
	slices.Sort(r.removed)
	if err != nil || !slices.Equal(r.removed, []string{"failed", "old"}) || len(gone) != 2 || r.collected != 1 {
		t.Errorf("removed %q, gone %q, collected %d, %v", r.removed, gone, r.collected, err)
	}
}

// Workspaces go with the pull request, or when no round can follow any more; the session stays.
func TestWorkspacesGoWithThePullRequest(t *testing.T) {
	project := t.TempDir()
	has := func(pull int, change ...func(*orchestrator.State)) func(*orchestrator.State) {
		return func(s *orchestrator.State) {
			s.Completion.PRNumber = pull
			s.Workspaces = map[string]orchestrator.Workspace{"plan-1": {}}
			for _, c := range change {
				c(s)
			}
		}
	}
	made(t, project, "closed", time.Hour, has(closedPull))
	made(t, project, "open", time.Hour, has(6))
	made(t, project, "open-for-long", 15*24*time.Hour, has(7))
	made(t, project, "failed-long-ago", 15*24*time.Hour, has(0, func(s *orchestrator.State) { s.Phase = orchestrator.PhaseFailed }))
	made(t, project, "has-none", time.Hour, has(closedPull, func(s *orchestrator.State) { s.Workspaces = nil }))
	made(t, project, "at-work", time.Hour, has(closedPull, func(s *orchestrator.State) { s.Phase, s.Outcome = "implementing", "" }))
	made(t, project, "owes", time.Hour, has(closedPull, func(s *orchestrator.State) { s.Mirror, s.IssueNumber, s.Repo = true, 7, "octo/widgets" }))
	r := &remover{}
	gone, err := once(t, project, keep, r)
	slices.Sort(r.vacated)
	if err != nil || !slices.Equal(r.vacated, []string{"closed", "failed-long-ago", "open-for-long"}) || len(r.removed)+len(gone)+r.collected > 0 {
		t.Errorf("vacated %q, removed %q, collected %d, %v", r.vacated, r.removed, r.collected, err)
	}
}

// A merge that comes while the session is under way has its workspaces removed soon after its end, not
// a day later.
func TestTheLookFollowsTheEndOfTheSession(t *testing.T) {
	project := t.TempDir()
	made(t, project, "merged", time.Hour, func(s *orchestrator.State) {
		s.Completion.PRNumber, s.Workspaces = closedPull, map[string]orchestrator.Workspace{"plan-1": {}}
	})
	held, err := session.Open(filepath.Join(session.Dir(project), "merged"))
	if err == nil {
		err = held.Lock(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := &remover{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go upkeep.New(options(project, keep, r)).Run(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if left := r.left(); len(left) > 0 {
			t.Errorf("vacated %q while it is under way", left)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if left := r.left(); !slices.Equal(left, []string{"merged"}) {
			t.Errorf("vacated %q after its end", left)
		}
	})
}

// The job that an answer starts looks at old checkpoints while it judges the answer: that of its session stays.
func TestAJobKeepsTheCheckpointsOfItsIssue(t *testing.T) {
	project := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o, kept := options(project, keep, &remover{}), map[string]bool{}
		o.Issue = 12
		o.Checkpoints = func(_ context.Context, held func(string) bool) ([]string, error) {
			for _, name := range []string{
				"20260102-030405-issue-12-fix-it-0123456789abcdef", "20260102-030405-issue-12-0123456789abcdef",
				"20260102-030405-issue-123-fix-it-0123456789abcdef", "20260102-030405-fix-issue-12-0123456789abcdef",
			} {
				kept[name] = held(name)
			}
			return nil, nil
		}
		go upkeep.New(o).Run(ctx)
		synctest.Wait()
		for name, is := range kept {
			if want := strings.HasPrefix(name, "20260102-030405-issue-12-"); is != want {
				t.Errorf("%s: kept %t", name, is)
			}
		}
		if len(kept) != 4 {
			t.Errorf("asked for %v", kept)
		}
	})
}

func TestWhatCannotBeRemovedStays(t *testing.T) {
	project := t.TempDir()
	made(t, project, "first", keep+time.Hour, nil)
	made(t, project, "second", keep+time.Hour, nil)
	r := &remover{fails: "first"}
	gone, err := once(t, project, keep, r)
	if err == nil || len(gone) != 1 || filepath.Base(gone[0]) != "second" {
		t.Errorf("gone %q, %v", gone, err)
	}
}

func TestZeroKeepsEverything(t *testing.T) {
	project := t.TempDir()
	made(t, project, "old", 100*keep, nil)
	r := &remover{}
	if gone, err := once(t, project, 0, r); err != nil || len(gone) > 0 || r.collected > 0 {
		t.Errorf("gone %q, %v", gone, err)
	}
}

// Checkpoints on the server are looked at once a day, however often sessions are.
func TestCheckpointsAreLookedAtOnceADay(t *testing.T) {
	project := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &remover{}
		u := upkeep.New(options(project, keep, r))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { u.Run(ctx); close(ended) }()
		for range 3 {
			synctest.Wait()
			u.Look()
		}
		time.Sleep(49 * time.Hour)
		cancel()
		<-ended
		if len(r.looks) != 3 || r.looks[2].Sub(r.looks[0]) != 48*time.Hour || !r.spared {
			t.Errorf("looked at %v, claims are seen: %v", r.looks, r.spared)
		}
	})
}
