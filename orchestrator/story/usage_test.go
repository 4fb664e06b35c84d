package story_test

import (
	"encoding/json"
	"testing"

	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// exited is the end of a launch that used so many tokens; none: its program told nothing.
func exited(launch orchestrator.Launch, tokens ...int64) orchestrator.AgentExitedRecord {
	parts, _ := launch.Parts()
	r := orchestrator.AgentExitedRecord{Launch: launch, Role: parts.Role, Task: parts.Task}
	for _, n := range tokens {
		r.Usage = &usage.Usage{Input: n, Output: n / 2, Money: float64(n) / 1000, Turns: 1}
	}
	return r
}

func usages(data ...orchestrator.Record) (u story.Usages) {
	for _, e := range at(data...) {
		u.Fold(e)
	}
	return u
}

func TestEachLaunchIsCountedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		records []orchestrator.Record
		want    string
		line    string
	}{
		"no launch":        {nil, "", ""},
		"one that runs":    {[]orchestrator.Record{orchestrator.AgentStartedRecord{Launch: "1.planner.1", Role: "planner"}}, "", ""},
		"nothing is known": {[]orchestrator.Record{exited("1.planner.1"), exited("2.coder.1.1")}, "not known", ""},
		"nothing was used": {[]orchestrator.Record{exited("1.planner.1", 0)}, "0 in, 0 out", "Tokens: 0 in, 0 out"},
		"two ends":         {[]orchestrator.Record{exited("1.planner.1", 100), exited("1.planner.1", 200), exited("1.planner.1")}, "200 in, 100 out, 0.20 USD", "Tokens: 200 in, 100 out, 0.20 USD"},
		"a late figure":    {[]orchestrator.Record{exited("1.planner.1"), exited("1.planner.1", 200)}, "200 in, 100 out, 0.20 USD", "Tokens: 200 in, 100 out, 0.20 USD"},
		"some are known": {
			[]orchestrator.Record{exited("1.planner.1", 100), exited("2.coder.1.1", 1000), exited("2.coder.1.2", 2000), exited("2.coder.2.1"), exited("3.reviewer_logic.1")},
			"3100 in, 1550 out, 3.10 USD (not known of 2 of 5 launches)",
			"Tokens: 3100 in, 1550 out, 3.10 USD (not known of 2 of 5 launches); coder: 3000 in, 1500 out, 3.00 USD (not known of 1 of 3 launches); planner: 100 in, 50 out, 0.10 USD; reviewer_logic: not known",
		},
		"figures that no launch can have": {
			[]orchestrator.Record{orchestrator.AgentExitedRecord{Launch: "1.planner.1", Role: "planner", Usage: &usage.Usage{Input: -5, Output: 1 << 62}}},
			"0 in, 1000000 M out", "Tokens: 0 in, 1000000 M out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sum := usages(c.records...).Sum()
			if got := sum.String(); got != c.want {
				t.Errorf("told as %q, want %q", got, c.want)
			}
			if got := sum.Line(); got != c.line {
				t.Errorf("on the server as %q, want %q", got, c.line)
			}
		})
	}
}

func TestUsageOfATask(t *testing.T) {
	u := usages(exited("1.build.words.1", 100), exited("1.build.words.2", 10), exited("1.review.greeting.1", 1000))
	if got := u.Of("words"); got.Input != 110 || got.Launches != 2 || len(got.Roles) != 1 {
		t.Errorf("%+v", got)
	}
	if got := u.Of("other"); got.Launches != 0 || got.String() != "" {
		t.Errorf("%+v", got)
	}
}

func TestUsageForAScript(t *testing.T) {
	st := story.Tell(&orchestrator.State{}, at(exited("1.planner.1", 100), exited("2.coder.1.1")), story.Facts{})
	got, err := json.Marshal(st.Usage)
	const want = `{"cached":0,"input":100,"money":0.1,"output":50,"reasoning":0,"turns":1,"launches":2,"unknown":1,"roles":[` +
		`{"role":"coder","cached":0,"input":0,"output":0,"reasoning":0,"turns":0,"launches":1,"unknown":1},` +
		`{"role":"planner","cached":0,"input":100,"money":0.1,"output":50,"reasoning":0,"turns":1,"launches":1,"unknown":0}]}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
	if st := story.Tell(&orchestrator.State{}, nil, story.Facts{}); st.Usage != nil {
		t.Errorf("before the first end: %+v", st.Usage)
	}
}
