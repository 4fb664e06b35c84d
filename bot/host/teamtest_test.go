package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// The test command of a repository is not run before a person allows it; the run continues without
// it. Then a test that fails is a failure of the agent, whose work is on its branch all the same.
func TestProtocolM7TheTestOfAnAgentNeedsToBeAllowed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	ran := filepath.Join(r.root, "ran")
	r.write(".agentmux/config.yaml", "version: 2\nagents: {test_command: [sh, -c, 'cat words.txt >> "+ran+"; pwd; exit 3']}\n")
	c, found := config.Load(config.Sources{UserFile: filepath.Join(r.root, "user.yaml"), Project: os.DirFS(r.project)})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	r.config = c
	file := strings.Replace(twoAgents, "agents:\n", "on_complete: [test]\nagents:\n", 1)
	r.script(scenario{Files: map[string][]string{"words": {"words.txt=hello"}, "greeting": {"greeting.txt=world"}}})
	begin := func(name string) string {
		return r.prepare(func(spec *host.PrepareSpec) {
			spec.Agents, spec.Request, spec.Name = []byte(strings.NewReplacer("greet\n", name+"\n", "feature/", name+"/").Replace(file)), "", name
		})
	}
	if s := r.run(host.RunSpec{Dir: begin("one")}); s.Outcome != orchestrator.OutcomeDone {
		t.Fatalf("outcome %s: %s", s.Outcome, s.Cause)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("a command was run without a yes")
	}
	request, open := project.OpenTest(filepath.Join(r.root, "s"), r.project, c)
	if !open {
		t.Fatal("nothing to allow")
	}
	if err := request.Allow(); err != nil {
		t.Fatal(err)
	}
	if _, open := project.OpenTest(filepath.Join(r.root, "s"), r.project, c); open {
		t.Error("asked again")
	}
	dir := begin("two")
	s := r.run(host.RunSpec{Dir: dir})
	if s.Outcome != orchestrator.OutcomeFailed || !strings.Contains(string(s.Cause), "words (exit 1), greeting (blocked by words)") {
		t.Errorf("outcome %s: %s", s.Outcome, s.Cause)
	}
	if text, err := os.ReadFile(ran); err != nil || string(text) != "hello\n" {
		t.Errorf("the test saw %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "transcripts", "test-words.log")); err != nil || !strings.Contains(string(text), "two-words") {
		t.Errorf("its output %q, %v", text, err)
	}
	if got := r.git("show", "two/words:words.txt"); got != "hello" {
		t.Errorf("two/words holds %q", got)
	}
}
