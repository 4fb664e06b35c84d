package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// A session whose commits were deleted is refused with their names, and nothing starts.
func TestAResumeWithoutItsBaseIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.config.Limits.AgentRetries = 0
	sc := simple()
	sc.Gone = map[string]int{"planner": 1}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
	if err := os.RemoveAll(r.storeDir()); err != nil {
		t.Fatal(err)
	}
	_, err := r.host.Run(t.Context(), host.RunSpec{Dir: dir, Config: r.config, Resume: true})
	var missing *work.GoneError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), s.BaseSHA) || !strings.Contains(err.Error(), "--base") {
		t.Fatalf("error %v", err)
	}
	if after := r.state(dir); after.ResumeCount != 0 || !after.Parked() {
		t.Errorf("the session changed: %+v", after)
	}
}

const ownWorkflow = `version: 1
name: own
description: A plan of our own
start: planning
phases:
  - {id: planning, kind: plan, dir: 04_planning, prompt: project/own, next: {accepted: implementing}}
  - {id: implementing, kind: implement, dir: 06_implementation, next: {completed: reviewing}}
  - {id: reviewing, kind: review, dir: 07_review, max_iterations: 0, next: {passed: completing, exhausted: completing}}
  - {id: completing, kind: complete, dir: 08_completion, next: {approved: done, changes_requested: planning}}
`

func own(spec *host.PrepareSpec) { spec.Workflow = "own" }

// Prompts contain what a project writes for them: whole templates, and words for roles and
// commands.
func TestProtocolX1ProjectsWriteTheirOwnPrompts(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.write(".agentmux/workflows/own.yaml", ownWorkflow)
	r.write(".agentmux/prompts/project/own.md", "Plan for [[placeholder:session_dir]].\n\n[[include:requirements.md]]\n[[placeholder:tool_line]]\n")
	r.write(".agentmux/prompts/agents/planner.md", "Plan in rhyme, [[include:/etc/hostname]].\n")
	r.write(".agentmux/prompts/agents/coder.md", "Use tabs.\n")
	r.write(".agentmux/prompts/commands/summary.md", "Be brief.\n")
	r.script(simple())
	dir := r.prepare(own)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	for file, wants := range map[string][]string{
		"04_planning/planner_prompt.md":       {"Plan for " + dir, "Write a greeting.", "agentmux", "Plan in rhyme, [[include:/etc/hostname]]."},
		"06_implementation/coder_prompt_1.md": {"Use tabs."},
		"08_completion/summary_prompt.md":     {"Be brief."},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		for _, want := range wants {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q: %v", file, want, err)
			}
		}
	}
}

// A prompt names the tools as the program of its agent shows them.
func TestPromptsNameTheToolsAsTheirProgramsDo(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "providers: {script: {tool_name: \"own.{tool}\"}}\n")
	r.asClaude()
	r.script(simple())
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	for file, want := range map[string]string{
		"04_planning/planner_prompt.md":       "Tool `mcp__agentmux__submit_plan` (`submit_plan` of the MCP server `agentmux`), parameters: none. The other tools of the server are named alike, as `mcp__agentmux__report_status`.",
		"06_implementation/coder_prompt_1.md": "Tool `own.submit_done` (`submit_done` of the MCP server `agentmux`), parameters: ",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q: %v\n%s", file, want, err, text)
		}
	}
}

// A prompt that cannot be made fails the run with the reason, and no agent is started.
func TestProtocolX2APromptThatCannotBeMadeFailsTheRun(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct{ include, says string }{
		"outside": {"[[include:../../../README.md]]", "README.md"},
		"missing": {"[[include:02_architecting/architecture.md]]", "02_architecting/architecture.md"},
		"a link":  {"[[include:link.md]]", "link.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.write(".agentmux/workflows/own.yaml", ownWorkflow)
			r.write(".agentmux/prompts/project/own.md", "Plan it.\n")
			r.script(simple())
			dir := r.prepare(own) // refuses such a prompt itself
			r.write(".agentmux/prompts/project/own.md", c.include+"\n")
			if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.md")); err != nil {
				t.Fatal(err)
			}
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeFailed, "")
			if !strings.Contains(string(s.Cause), c.says) || r.count(dir, orchestrator.EvAgentStarted) != 0 || r.count(dir, orchestrator.EvEffectFailed) == 0 {
				t.Errorf("cause %q", s.Cause)
			}
		})
	}
}
