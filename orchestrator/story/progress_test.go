package story_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// told folds records; all of one visit, the number of which is also in the launches.
func told(visit int, data ...orchestrator.Record) *story.Progress {
	p := new(story.Progress)
	for _, e := range at(data...) {
		e.Visit = visit
		p.Fold(e)
	}
	return p
}

func enter(phase, kind string) orchestrator.Record {
	return orchestrator.PhaseEnteredRecord{Phase: phase, Kind: kind}
}

func event(name string) orchestrator.Record { return orchestrator.EventRecord{Event: name} }

func review(iteration int, roles ...string) orchestrator.Record {
	return orchestrator.ReviewStartedRecord{Iteration: iteration, Roles: roles, Tree: "a1"}
}

func TestProgressKnowsWhatTheSessionIs(t *testing.T) {
	p := told(0, orchestrator.SessionCreatedRecord{
		SessionID: "s1", Identity: "00ff", Workflow: "feature", Repo: "octo/widgets", Issue: 12, Branch: "agentmux/issue-12", ConfigSource: "main",
	})
	want := story.Identity{
		Session: "s1", Public: orchestrator.PublicID("s1", "00ff"), Workflow: "feature", Repo: "octo/widgets", Issue: 12, Config: "main", Started: minute(1),
	}
	if p.Identity != want || p.Result.Branch != "agentmux/issue-12" || p.Seq != 1 {
		t.Errorf("%+v, branch %s, record %d", p.Identity, p.Result.Branch, p.Seq)
	}
}

func TestPhaseAndPauseFollowTheRecords(t *testing.T) {
	for name, c := range map[string]struct {
		records []orchestrator.Record
		phase   string
		paused  bool
		live    bool
	}{
		"entered":              {[]orchestrator.Record{enter("planning", "plan")}, "planning", false, true},
		"paused":               {[]orchestrator.Record{enter("planning", "plan"), orchestrator.PausedRecord{}}, "planning", true, true},
		"unpaused":             {[]orchestrator.Record{enter("planning", "plan"), orchestrator.PausedRecord{}, orchestrator.UnpausedRecord{}}, "planning", false, true},
		"a phase ends a pause": {[]orchestrator.Record{orchestrator.PausedRecord{}, enter("coding", "implement")}, "coding", false, true},
		"done":                 {[]orchestrator.Record{enter("coding", "implement"), orchestrator.DoneRecord{}}, orchestrator.PhaseDone, false, false},
		"failed":               {[]orchestrator.Record{orchestrator.FailedRecord{Cause: "disk"}}, orchestrator.PhaseFailed, false, false},
		"parked":               {[]orchestrator.Record{enter("coding", "implement"), orchestrator.NeedsHumanRecord{}}, "coding", false, false},
		"resumed":              {[]orchestrator.Record{orchestrator.CanceledRecord{Actor: "mia"}, orchestrator.ResumedRecord{To: "coding"}}, "coding", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := told(1, c.records...)
			if p.Phase != c.phase || p.Paused != c.paused || p.Live() != c.live {
				t.Errorf("phase %s, paused %v, live %v", p.Phase, p.Paused, p.Live())
			}
		})
	}
}

func TestTheEndSaysWhy(t *testing.T) {
	created := orchestrator.SessionCreatedRecord{SessionID: "s1"}
	for name, c := range map[string]struct {
		end      orchestrator.Record
		want     story.End
		cause    string
		byPerson bool
	}{
		"parked": {orchestrator.NeedsHumanRecord{Reason: "push_rejected", Text: "no", Next: "resume"},
			story.End{Outcome: orchestrator.OutcomeNeedsHuman, Text: "no", Reason: "push_rejected", Next: "resume"}, "no", false},
		"parked without a text": {orchestrator.NeedsHumanRecord{Reason: "push_rejected"},
			story.End{Outcome: orchestrator.OutcomeNeedsHuman, Reason: "push_rejected"}, "push_rejected", false},
		"failed": {orchestrator.FailedRecord{Cause: "disk", Next: "resume"}, story.End{Outcome: orchestrator.OutcomeFailed, Text: "disk", Next: "resume"}, "disk", false},
		"canceled by a person": {orchestrator.CanceledRecord{Actor: "mia", Cause: "cli"},
			story.End{Outcome: orchestrator.OutcomeCanceled, Text: "cli", Actor: "mia"}, "cli", true},
		"canceled by a signal": {orchestrator.CanceledRecord{Actor: "signal", Cause: "SIGTERM"},
			story.End{Outcome: orchestrator.OutcomeCanceled, Text: "SIGTERM", Actor: "signal"}, "SIGTERM", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.At, c.want.Seconds = minute(2), 60
			got := told(1, created, c.end).End
			if got != c.want || got.Cause() != c.cause || got.ByPerson() != c.byPerson || got.LastReviewFailed() {
				t.Errorf("%+v, cause %q", got, got.Cause())
			}
		})
	}
	t.Run("done after a failed review", func(t *testing.T) {
		got := told(1, created, orchestrator.DoneRecord{Outcome: orchestrator.OutcomeNeedsHuman, Seconds: 7}).End
		if !got.LastReviewFailed() || got.Cause() != "the last review failed and no fix round was left" || got.Seconds != 7 {
			t.Errorf("%+v, cause %q", got, got.Cause())
		}
	})
	t.Run("resumed", func(t *testing.T) {
		if got := told(1, created, orchestrator.FailedRecord{Cause: "disk"}, orchestrator.ResumedRecord{To: "coding"}).End; got != (story.End{}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestAVisitKnowsWhoWorksInIt(t *testing.T) {
	starts := func(launch orchestrator.Launch) orchestrator.Record {
		return orchestrator.AgentStartedRecord{Role: "planner", Provider: "claude", Launch: launch}
	}
	for name, c := range map[string]struct {
		records []orchestrator.Record
		role    string
	}{
		"started in it":        {[]orchestrator.Record{enter("planning", "plan"), starts("3.planner.1")}, "planner"},
		"of an earlier visit":  {[]orchestrator.Record{enter("planning", "plan"), starts("2.planner.1")}, ""},
		"a review has several": {[]orchestrator.Record{enter("reviewing", "review"), starts("3.planner.1")}, ""},
		"the phase was left":   {[]orchestrator.Record{enter("planning", "plan"), orchestrator.PhaseLeftRecord{Phase: "planning"}, starts("3.planner.1")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := told(3, c.records...).Visits.Current(); got.Role != c.role {
				t.Errorf("%q works in it, want %q", got.Role, c.role)
			}
		})
	}
	if told(3, starts("3.planner.1")).Visits.Current() != nil {
		t.Error("an agent is not a visit")
	}
}

// A phase that is begun again in the same visit keeps its first time and its one row.
func TestAVisitThatBeginsAgainIsOneVisit(t *testing.T) {
	visits := told(1, enter("planning", "plan"), enter("planning", "plan")).Visits
	if len(visits) != 1 || !visits[0].Began.Equal(minute(1)) || visits[0].Left {
		t.Errorf("%+v", visits)
	}
}

func TestSubplansAreCountedUntilTheVisitIsLeft(t *testing.T) {
	implement := []orchestrator.Record{
		orchestrator.ArtifactAcceptedRecord{Artifact: "plan.yaml", Role: "planner", SHA256: "c0ffee"}, orchestrator.ScheduleRecord{Subplans: 2},
		enter("coding", "implement"), orchestrator.SubplanDoneRecord{ID: "1"}, orchestrator.SubplanDoneRecord{ID: "1"},
	}
	p := told(1, implement...)
	if got := p.Plan.Count(*p.Visits.Current()); got != (story.Subplans{Done: 1, Total: 2}) || p.Plan.SHA256 != "c0ffee" {
		t.Errorf("%+v of plan %s", got, p.Plan.SHA256)
	}
	p = told(1, append(implement, orchestrator.PhaseLeftRecord{Phase: "coding"}, orchestrator.SubplanDoneRecord{ID: "2"})...)
	if got := p.Visits.Current(); got.Subplans.Done != 1 || !got.Left {
		t.Errorf("after it was left: %+v", got)
	}
	if got := p.Plan.Count(story.Visit{Kind: "fix"}); got != (story.Subplans{}) {
		t.Errorf("of a fix: %+v", got)
	}
}

func TestRoundsHoldTheVerdicts(t *testing.T) {
	p := told(1,
		review(0, "logic", "tests"),
		orchestrator.ArtifactAcceptedRecord{Role: "tests", SHA256: "bee"},
		orchestrator.VerdictRecord{Role: "tests", Verdict: "fail", Findings: 2, Path: "07_review/tests.yaml"},
		orchestrator.VerdictRecord{Role: "logic", Verdict: "pass"},
		review(0, "docs"), // joins the round
		event(orchestrator.LastReviewFailed),
		orchestrator.FixRoundRecord{Iteration: 1, Cap: 3},
		enter("fixing", "fix"),
		review(1, "logic"),
	)
	r := p.Reviews
	if len(r.Rounds) != 2 || len(r.Decided()) != 1 || r.Fix != 1 || r.Limit != 3 || !r.LimitTold || p.Fixes() != 1 {
		t.Fatalf("%+v", r)
	}
	first := r.Rounds[0]
	if want := []string{"tests", "logic", "docs"}; !slices.Equal(first.FailedFirst(), want) || first.Passed {
		t.Errorf("%q, want %q", first.FailedFirst(), want)
	}
	want := story.Verdict{Role: "tests", Verdict: "fail", SHA256: "bee", Path: "07_review/tests.yaml", Findings: 2}
	if first.Verdicts["tests"] != want || r.Current().Number != 2 {
		t.Errorf("%+v, then round %d", first.Verdicts["tests"], r.Current().Number)
	}
	if p.Visits.Current().Round != 1 {
		t.Errorf("fix %d", p.Visits.Current().Round)
	}
}

// A reviewer that is asked again has no verdict until it gives one.
func TestAReviewerAskedAgainHasNoVerdict(t *testing.T) {
	r := told(1, review(0, "logic"), orchestrator.VerdictRecord{Role: "logic", Verdict: "pass"}, review(0, "logic")).Reviews
	if len(r.Rounds) != 1 || len(r.Current().Verdicts) != 0 || len(r.Current().Roles) != 1 {
		t.Errorf("%+v", r.Current())
	}
}

func TestChangesBeginTheCountOfFixesAgain(t *testing.T) {
	mia := "mia"
	p := told(1, review(0, "logic"), event(orchestrator.LastReviewFailed), orchestrator.FixRoundRecord{Iteration: 1, Cap: 1}, orchestrator.ReviewExhaustedRecord{Cap: 1},
		orchestrator.EventRecord{Event: orchestrator.LastChanges, Text: "louder", Actor: &mia})
	if p.Reviews.Fix != 0 || !p.Reviews.Exhausted {
		t.Errorf("%+v", p.Reviews)
	}
	if want := []story.Request{{At: minute(5), Actor: "mia", Text: "louder"}}; !reflect.DeepEqual(p.Requests, want) {
		t.Errorf("%+v", p.Requests)
	}
	p.Fold(orchestrator.Event{Seq: 9, Data: orchestrator.ScheduleRecord{Subplans: 1}})
	if p.Reviews.Exhausted {
		t.Error("exhausted after a new plan")
	}
}

func TestTheGateIsOpenUntilItIsClosed(t *testing.T) {
	opened := orchestrator.GateOpenedRecord{Gate: orchestrator.GateCompletion, Digest: "d1", Reason: orchestrator.GateBlocked, Findings: []string{"a token"}}
	p := told(1, opened)
	if want := (story.Gate{Name: orchestrator.GateCompletion, Digest: "d1", Reason: orchestrator.GateBlocked, Findings: []string{"a token"}}); !reflect.DeepEqual(p.Gate, want) || !p.Waits() {
		t.Errorf("%+v", p.Gate)
	}
	p = told(1, opened, orchestrator.GateClosedRecord{Gate: orchestrator.GateCompletion, Action: "approve", Actor: "mia"})
	if p.Waits() || p.Gate.Findings != nil || len(p.Decisions) != 1 || p.Decisions[0].Actor != "mia" {
		t.Errorf("%+v, decisions %+v", p.Gate, p.Decisions)
	}
}

func TestTheResultIsWhatWasPushed(t *testing.T) {
	for name, c := range map[string]struct {
		records []orchestrator.Record
		want    story.Result
	}{
		"a commit": {[]orchestrator.Record{orchestrator.CommitCreatedRecord{SHA: "c1"}}, story.Result{Commit: "c1"}},
		"pushed": {[]orchestrator.Record{orchestrator.CommitCreatedRecord{SHA: "c1"}, orchestrator.BranchPushedRecord{Branch: "b"}},
			story.Result{Branch: "b", Commit: "c1", Pushed: true, Head: "c1"}},
		"left out": {[]orchestrator.Record{orchestrator.BranchPushedRecord{Branch: "b", SHA: "c1", Skipped: "github.push is off"}},
			story.Result{Branch: "b", Commit: "c1", Withheld: orchestrator.PushOff}},
		"a newer commit": {[]orchestrator.Record{orchestrator.BranchPushedRecord{SHA: "c1"}, orchestrator.CommitCreatedRecord{SHA: "c2"}},
			story.Result{Commit: "c2", Pushed: true, Head: "c1"}},
		"a draft": {[]orchestrator.Record{orchestrator.PROpenedRecord{Number: 7, Draft: true}}, story.Result{Pull: 7, Draft: true}},
		"done":    {[]orchestrator.Record{orchestrator.DoneRecord{Commit: "c3"}}, story.Result{Commit: "c3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := told(1, c.records...).Result; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
