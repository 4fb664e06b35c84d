package story_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/agents"
)

func TestMembersStandWhereStateAndRecordsSay(t *testing.T) {
	of := func(name string, needs ...string) agents.Agent {
		return agents.Agent{Name: name, Role: agents.RoleBuild, Branch: "b/" + name, DependsOn: needs}
	}
	team := &agents.Team{Agents: []agents.Agent{
		of("done"), of("failed"), of("works", "done"), of("idle"), of("ready", "done"), of("waits", "done", "works"), of("blocked", "failed"), of("again"),
	}}
	s := orchestrator.NewState()
	s.Team = map[string]agents.Progress{
		"done": {Marker: "0", Branch: "b/done-2", Commit: "c1", PRNumber: 3}, "failed": {Marker: "7"}, "blocked": {Marker: "99", BlockedBy: "failed"},
		"again": {Retried: "1.build.again.1"},
	}
	s.Agents = map[orchestrator.AgentKey]orchestrator.Agent{
		"build/done": {LastLaunch: "1.build.done.1"}, "build/works": {LastLaunch: "1.build.works.1"},
		"build/idle": {LastLaunch: "1.build.idle.1", Waiting: "question"}, "build/again": {LastLaunch: "1.build.again.1"},
	}
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	at := func(second int, data orchestrator.Record) orchestrator.Event {
		return orchestrator.Event{TS: orchestrator.At(noon.Add(time.Duration(second) * time.Second)), Data: data}
	}
	records := []orchestrator.Event{
		at(0, orchestrator.AgentStartedRecord{Role: "build", Task: "done", Launch: "1.build.done.1"}),
		at(1, orchestrator.AgentStartedRecord{Role: "build", Task: "works", Launch: "1.build.works.1"}),
		at(2, orchestrator.AgentFailedRecord{Role: "build", Task: "failed", Cause: "tests are red", Tail: "ok\nFAIL"}),
		at(3, orchestrator.AgentFailedRecord{Role: "build", Task: "again", Cause: "exit 1", Tail: "oh"}),
		at(4, orchestrator.AgentStartedRecord{Role: "build", Task: "again", Launch: "1.build.again.2"}),
		at(9, orchestrator.AgentMarkedRecord{Agent: "done", Marker: "0"}),
	}
	for _, c := range []struct {
		running bool
		words   []string
	}{
		{true, []string{"done", "failed (exit 7)", "running", "idle", "no pane", "waiting (works)", "blocked", "no pane"}},
		{false, []string{"done", "failed (exit 7)", "no pane", "no pane", "no pane", "waiting (works)", "blocked", "no pane"}},
	} {
		var words []string
		for _, m := range story.Members(s, team, records, c.running) {
			words = append(words, m.Word())
		}
		if !reflect.DeepEqual(words, c.words) {
			t.Errorf("running %v: %q, want %q", c.running, words, c.words)
		}
	}
	members := story.Members(s, team, records, true)
	done, failed, works, again := members[0], members[1], members[2], members[7]
	later := noon.Add(time.Minute)
	if done.Branch != "b/done-2" || done.PRNumber != 3 || done.Spent(later) != 9*time.Second || !done.Marked() {
		t.Errorf("done: %+v", done)
	}
	if failed.Reason != "tests are red" || failed.Printed != "ok\nFAIL" || failed.Exit != 7 || failed.Spent(later) != 0 {
		t.Errorf("failed: %+v", failed)
	}
	if works.Spent(later) != 59*time.Second || works.Marked() {
		t.Errorf("works: %+v", works)
	}
	if again.Standing != story.Ready || again.Reason+again.Printed != "" {
		t.Errorf("one that gets another try stands at %v, want ready", again.Standing)
	}
}
