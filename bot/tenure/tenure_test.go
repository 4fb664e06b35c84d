package tenure_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/front"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// TestMain lets the test binary answer as the askpass program.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

const (
	widgets = "octo/widgets"
	repoID  = 1001
	ref     = "refs/agentmux/claims/12"
)

// rig is a session of issue 12 and a server.
type rig struct {
	*fakehub.Server
	t     *testing.T
	dir   string
	home  string
	front string // where git finds the server
	id    claim.HostID
	skew  time.Duration // of the clocks of desks
}

func newRig(t *testing.T) *rig {
	t.Helper()
	_, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: time.Now(), Name: "s", Request: "x", Definition: definition,
		State: orchestrator.State{IssueNumber: 12, Settings: orchestrator.DefaultSettings()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	server := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	})
	at := front.Open(t, server, server.Token("bot"))
	return &rig{Server: server, t: t, dir: sess.Dir, home: t.TempDir(), front: at, id: claim.NewHostID()}
}

func (r *rig) desk(id claim.HostID) claim.Desk {
	r.t.Helper()
	store, err := claim.OpenStore(r.t.Context(), r.home)
	if err != nil {
		r.t.Fatal(err)
	}
	token := r.Token("bot")
	began := time.Now()
	return claim.NewRemote(claim.Options{
		Repo:  remote.Repository{URL: r.front + "/" + widgets + ".git", Secret: func(context.Context) (string, error) { return token, nil }},
		Store: store, RepoID: repoID, Host: id, OneSession: true,
		Clock: claim.Clock{Now: func() time.Time { return time.Now().Add(r.skew) }, Running: func() time.Duration { return time.Since(began) + r.skew }},
	})
}

// claimed is where the server has the claim; empty for nowhere.
func (r *rig) claimed() string { return r.Repo(widgets).Refs()[ref] }

// runner plays the session.
type runner func(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error)

func (f runner) Run(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
	return f(ctx, spec)
}

func (r *rig) spec() tenure.Spec {
	return tenure.Spec{Run: host.RunSpec{Dir: r.dir, Changes: "x"}, Desk: r.desk(r.id), Host: r.id, Log: slog.New(slog.DiscardHandler)}
}

func ended(outcome string) *orchestrator.State {
	return &orchestrator.State{Outcome: orchestrator.Optional(outcome)}
}

func TestASessionRunsUnderItsClaimAndGivesItBack(t *testing.T) {
	r := newRig(t)
	s, err := tenure.Run(t.Context(), runner(func(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
		if r.claimed() == "" {
			t.Error("the session runs without a claim")
		}
		if err := spec.Guard.Check(ctx); err != nil {
			t.Errorf("guard: %v", err)
		}
		note, err := claim.ReadNote(r.dir)
		if err != nil || note.Host != r.id || len(note.Claims) != 1 || note.Claims[0].ID != r.claimed() {
			t.Errorf("claim.json: %+v, %v", note, err)
		}
		return ended(orchestrator.OutcomeNeedsHuman), nil
	}), r.spec())
	if err != nil || s.Outcome != orchestrator.OutcomeNeedsHuman {
		t.Fatalf("%+v, %v", s, err)
	}
	if at := r.claimed(); at != "" {
		t.Errorf("the claim stays at %s", at)
	}
	if note, err := claim.ReadNote(r.dir); err != nil || len(note.Claims) != 0 {
		t.Errorf("claim.json: %+v, %v", note, err)
	}
}

func TestNothingRunsUnderAnotherHostsClaim(t *testing.T) {
	r := newRig(t)
	other := claim.NewHostID()
	if _, err := r.desk(other).Take(t.Context(), claim.Want{Issue: 12, Session: "other", Trigger: "cli/other", State: claim.Running}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*tenure.Spec){
		"":                           func(*tenure.Spec) {},
		"although a person wants it": func(s *tenure.Spec) { s.Steal = true },
		"the end of its loser, which was killed before its agents were stopped": func(s *tenure.Spec) {
			s.Run.Dir = r.ended("lost", orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost, orchestrator.Effect{ID: "1", Type: orchestrator.EffStopAgent})
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := r.spec()
			change(&spec)
			s, err := tenure.Run(t.Context(), runner(func(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
				var lost *claim.LostError
				if err := spec.Guard.Check(ctx); !errors.As(err, &lost) || lost.Host != other || spec.Guard.Holder() != other.String() {
					t.Errorf("guard: %v", err)
				}
				closed(t, spec.Guard.Lost())
				if spec.Changes != "" {
					t.Error("it is asked to continue")
				}
				return ended(orchestrator.OutcomeCanceled), nil
			}), spec)
			if err != nil || s.Outcome != orchestrator.OutcomeCanceled {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	for name, change := range map[string]func(*tenure.Spec){
		"one of this machine's bot": func(s *tenure.Spec) { s.Machine = other },
		"a session that has ended": func(s *tenure.Spec) {
			s.Run.Dir = r.ended("parked", orchestrator.OutcomeNeedsHuman, orchestrator.ReasonQuestion, orchestrator.Effect{ID: "1", Type: orchestrator.EffStopAgent})
		},
		"a loser that has done all": func(s *tenure.Spec) {
			s.Run.Dir = r.ended("left", orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := r.spec()
			change(&spec)
			_, err := tenure.Run(t.Context(), runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
				t.Error("it runs")
				return ended(orchestrator.OutcomeDone), nil
			}), spec)
			var taken *claim.TakenError
			if !errors.As(err, &taken) || taken.Seen.Claim.Host != other {
				t.Errorf("error %v", err)
			}
		})
	}
}

func closed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	default:
		t.Error("the channel is open")
	}
}

// ended is the directory of a session of the issue that has ended, and still has something to do.
func (r *rig) ended(name, outcome, reason string, pending ...orchestrator.Effect) string {
	r.t.Helper()
	dir := filepath.Join(filepath.Dir(r.dir), name)
	if err := os.CopyFS(dir, os.DirFS(r.dir)); err != nil {
		r.t.Fatal(err)
	}
	s, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	state, err := s.ReadState()
	if err != nil {
		r.t.Fatal(err)
	}
	state.Outcome, state.OutcomeReason, state.Pending = orchestrator.Optional(outcome), orchestrator.Optional(reason), pending
	data, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, session.StateFile), data, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// A command that is stopped before anything of its session was begun gives the claim back.
func TestACommandThatIsStoppedAtOnceKeepsNoClaim(t *testing.T) {
	for name, begun := range map[string]bool{"nothing was begun": false, "a workspace is wanted": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if begun {
				r.dir = r.ended("begun", "", "", orchestrator.Effect{ID: "1.1", Key: "workspace/x"})
			}
			ctx, stop := context.WithCancel(t.Context())
			_, err := tenure.Run(ctx, runner(func(ctx context.Context, _ host.RunSpec) (*orchestrator.State, error) {
				stop()
				return nil, ctx.Err()
			}), r.spec())
			if !errors.Is(err, context.Canceled) || (r.claimed() != "") != begun {
				t.Errorf("claim %q, %v", r.claimed(), err)
			}
			if note, err := claim.ReadNote(r.dir); err != nil || (len(note.Claims) > 0) != begun {
				t.Errorf("claim.json: %+v, %v", note, err)
			}
		})
	}
}

// cut is a desk whose answer to a claim does not arrive, as the command is stopped.
type cut struct {
	claim.Desk
	made claim.Desk // of the same host
	stop func()
}

func (d cut) Take(ctx context.Context, want claim.Want) (claim.Held, error) {
	_, err := d.made.Take(ctx, want)
	d.stop()
	return nil, errors.Join(err, ctx.Err())
}

// A command that is stopped while it claims gives back what the server has made of that.
func TestACommandThatIsStoppedWhileItClaimsKeepsNoClaim(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancel(t.Context())
	spec, was := r.spec(), ""
	spec.Desk = cut{spec.Desk, r.desk(r.id), func() { was = r.claimed(); stop() }}
	_, err := tenure.Run(ctx, runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
		t.Error("the session runs")
		return nil, nil
	}), spec)
	if !errors.Is(err, context.Canceled) || was == "" || r.claimed() != "" {
		t.Errorf("claim %q, before %q, %v", r.claimed(), was, err)
	}
}

// A bot that lets go of a session keeps the claim, and the next one of its id continues with it.
func TestTheNextProcessContinuesWithTheClaim(t *testing.T) {
	r := newRig(t)
	ctx, letGo := context.WithCancel(t.Context())
	let := r.spec()
	let.Patient = true
	_, err := tenure.Run(ctx, runner(func(ctx context.Context, _ host.RunSpec) (*orchestrator.State, error) {
		letGo()
		return &orchestrator.State{}, ctx.Err()
	}), let)
	if !errors.Is(err, context.Canceled) || r.claimed() == "" {
		t.Fatalf("claim %q, %v", r.claimed(), err)
	}
	_, err = tenure.Run(t.Context(), runner(func(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
		if err := spec.Guard.Check(ctx); err != nil {
			t.Errorf("guard: %v", err)
		}
		return ended(orchestrator.OutcomeDone), nil
	}), r.spec())
	if err != nil || r.claimed() != "" {
		t.Errorf("claim %q, %v", r.claimed(), err)
	}
}

// A kill behind the push and before the note of it.
func TestAClaimThatWasNotNotedIsFound(t *testing.T) {
	r := newRig(t)
	s, err := session.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	if err := (claim.Note{Host: r.id}).Write(r.dir); err != nil {
		t.Fatal(err)
	}
	want := claim.Want{Issue: 12, Session: orchestrator.PublicID(state.SessionID, state.Identity), Trigger: "cli/s", State: claim.Running}
	if _, err := r.desk(r.id).Take(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	_, err = tenure.Run(t.Context(), runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
		return ended(orchestrator.OutcomeDone), nil
	}), r.spec())
	if err != nil || r.claimed() != "" {
		t.Errorf("claim %q, %v", r.claimed(), err)
	}
}

// A session whose process has its lock is not claimed by a second one.
func TestALockedSessionLosesNoClaimToASecondProcess(t *testing.T) {
	r := newRig(t)
	_, err := tenure.Run(t.Context(), runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
		return nil, &session.LockedError{Name: "s"}
	}), r.spec())
	if !errors.As(err, new(*session.LockedError)) || r.claimed() != "" {
		t.Errorf("claim %q, %v", r.claimed(), err)
	}
}

// GitHub 82: what is said while the claim is given back leads to another tenure.
func TestGitHub82WhatIsSaidDuringTheReleaseIsHeard(t *testing.T) {
	r := newRig(t)
	spec, runs, asked := r.spec(), 0, 0
	spec.News = func(context.Context) (bool, error) {
		asked++
		if r.claimed() != "" {
			t.Error("the comments are read before the release")
		}
		return asked == 1, nil
	}
	s, err := tenure.Run(t.Context(), runner(func(_ context.Context, spec host.RunSpec) (*orchestrator.State, error) {
		runs++
		if r.claimed() == "" {
			t.Error("it runs without a claim")
		}
		if runs == 2 {
			if spec.Changes != "" || spec.Resume {
				t.Errorf("the second run repeats the request: %+v", spec)
			}
			return ended(orchestrator.OutcomeDone), nil
		}
		return ended(orchestrator.OutcomeNeedsHuman), nil
	}), spec)
	if err != nil || s.Outcome != orchestrator.OutcomeDone || runs != 2 || asked != 2 || r.claimed() != "" {
		t.Errorf("outcome %q, %d runs, %d asked, claim %q, %v", s.Outcome, runs, asked, r.claimed(), err)
	}
}

// The loser of a claim removes nothing of the winner's.
func TestTheLoserLeavesTheClaimOfTheWinner(t *testing.T) {
	r := newRig(t)
	winner := r.desk(claim.NewHostID())
	s, err := tenure.Run(t.Context(), runner(func(ctx context.Context, spec host.RunSpec) (*orchestrator.State, error) {
		if _, err := winner.Look(ctx); err != nil {
			t.Fatal(err)
		}
		r.skew = 11 * time.Minute
		all, err := winner.Look(ctx)
		if err != nil || len(all) != 1 {
			t.Fatalf("claims %v, %v", all, err)
		}
		if _, err := winner.Steal(ctx, all[0], claim.Want{Issue: 12, Session: "winner", Trigger: "cli/winner", State: claim.Running}); err != nil {
			t.Fatal(err)
		}
		if err := spec.Guard.Check(ctx); !errors.As(err, new(*claim.LostError)) {
			t.Errorf("guard: %v", err)
		}
		s := ended(orchestrator.OutcomeCanceled)
		s.OutcomeReason = orchestrator.ReasonClaimLost
		return s, nil
	}), r.spec())
	if err != nil || s.OutcomeReason != orchestrator.ReasonClaimLost {
		t.Errorf("%+v, %v", s, err)
	}
	if r.claimed() == "" {
		t.Error("the winner's claim is gone")
	}
}

// A person takes the issue of a host that is silent.
func TestAPersonTakesTheIssueOfAHostThatIsGone(t *testing.T) {
	r := newRig(t)
	if _, err := r.desk(claim.NewHostID()).Take(t.Context(), claim.Want{Issue: 12, Session: "other", Trigger: "cli/other", State: claim.Running}); err != nil {
		t.Fatal(err)
	}
	spec := r.spec()
	if _, err := spec.Desk.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.skew = 11 * time.Minute
	done := runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
		return ended(orchestrator.OutcomeDone), nil
	})
	at := r.claimed()
	if _, err := tenure.Run(t.Context(), done, spec); err != nil || r.claimed() != at {
		t.Fatalf("without being asked: claim %q, %v", r.claimed(), err)
	}
	spec.Steal = true
	if _, err := tenure.Run(t.Context(), done, spec); err != nil || r.claimed() != "" {
		t.Errorf("claim %q, %v", r.claimed(), err)
	}
}

func TestWithoutADeskNothingIsClaimed(t *testing.T) {
	r := newRig(t)
	spec := r.spec()
	spec.Desk = nil
	_, err := tenure.Run(t.Context(), runner(func(_ context.Context, spec host.RunSpec) (*orchestrator.State, error) {
		if spec.Guard != nil {
			t.Error("there is a guard")
		}
		return ended(orchestrator.OutcomeDone), nil
	}), spec)
	if _, noteErr := claim.ReadNote(r.dir); err != nil || !errors.Is(noteErr, fs.ErrNotExist) {
		t.Errorf("%v, claim.json %v", err, noteErr)
	}
}
