package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/document"
)

// book is a map of a YAML document.
type book map[string]any

// playbook is what the scripted agents of a case do: the change of the fixed
// version, copied from the module cache.
func (c *realCase) playbook(t *testing.T) string {
	t.Helper()
	agents := []book{c.architect(), c.planner(t)}
	index := 0
	for _, group := range c.Groups {
		for _, part := range group {
			index++
			agents = append(agents, c.coder(index, part))
		}
	}
	agents = append(agents, c.fixer(), c.summarist())
	for _, role := range c.Reviewers {
		agents = append(agents, c.reviewers(t, role)...)
	}
	return encode(t, book{"version": 1, "agents": agents})
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := document.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func written(file, text string) book {
	return book{"write": book{"file": "{session}/" + file, "text": text}}
}

func toolCall(tool string, with book) book {
	if with == nil {
		return book{"submit": book{"tool": tool}}
	}
	return book{"submit": book{"tool": tool, "with": with}}
}

// testRun runs tests in the agent's workspace.
func testRun(packages []string, run string, fails bool) book {
	argv := []string{"go", "test"}
	if run != "" {
		argv = append(argv, "-run", run)
	}
	return book{"run": book{"argv": append(argv, packages...), "fails": fails}}
}

func (c *realCase) architect() book {
	return book{"role": "architect", "steps": []book{
		{"expect": c.Told},
		written("02_architecting/architecture.md", c.Architecture),
		toolCall("submit_architecture", book{"reviewers": c.Reviewers}),
	}}
}

func (c *realCase) planner(t *testing.T) book {
	groups, subplans := []book{}, []book{}
	for _, group := range c.Groups {
		plans := []book{}
		for _, part := range group {
			n := len(subplans) + 1
			plans = append(plans, book{"index": n, "name": part.Title})
			sub := book{
				"index": n, "title": part.Title, "scope": part.Scope, "owned_files": part.Owns, "dependencies": "none",
				"implementation_approach": part.Approach, "acceptance_criteria": part.Accept, "tasks": []string{"Write the tests", "Make the change"},
			}
			if part.Rationale != "" {
				sub["isolation_rationale"] = part.Rationale
			}
			subplans = append(subplans, sub)
		}
		mode := "serial"
		if len(plans) > 1 {
			mode = "parallel"
		}
		groups = append(groups, book{"group_id": "g" + string(rune('0'+len(groups)+1)), "mode": mode, "plans": plans})
	}
	plan := encode(t, book{
		"version": 2, "plan_overview": "## Goal\n\n" + c.Groups[0][0].Accept, "needs_design": false, "needs_docs": false, "doc_files": []string{},
		"groups": groups, "subplans": subplans,
	})
	return book{"role": "planner", "steps": []book{written("04_planning/plan.yaml", plan), toolCall("submit_plan", nil)}}
}

// coder makes one part's changes, its tests first.
func (c *realCase) coder(index int, part realPart) book {
	var tests, rest []realChange
	for _, ch := range c.changes {
		switch {
		case !under(part.Owns, ch.path) || c.forgotten(ch.path):
		case strings.HasSuffix(ch.path, "_test.go"):
			tests = append(tests, ch)
		default:
			rest = append(rest, ch)
		}
	}
	packages := part.Packages
	if packages == nil {
		packages = c.Packages
	}
	steps := c.write(tests)
	if part.Run != "" && len(tests) > 0 {
		steps = append(steps, testRun(packages, part.Run, true))
	}
	if !part.Fails {
		steps = append(append(steps, c.write(rest)...), testRun(packages, part.Run, false))
	}
	steps = append(steps, toolCall("submit_done", book{"subplan_index": index}))
	return book{"role": "coder", "phase": "implementing", "task": string(rune('0' + index)), "steps": steps}
}

func (c *realCase) forgotten(path string) bool {
	return c.Review != nil && slices.Contains(c.Review.Forgotten, path)
}

func (c *realCase) write(changes []realChange) []book {
	var steps []book
	for _, ch := range changes {
		if ch.status == 'D' {
			steps = append(steps, book{"remove": ch.path})
			continue
		}
		from := filepath.Join(c.goal, filepath.FromSlash(ch.path))
		steps = append(steps, book{"write": book{"file": ch.path, "from": from}})
	}
	return steps
}

// fixer adds what a coder forgot.
func (c *realCase) fixer() book {
	if c.Review == nil {
		return book{"phase": "fixing", "steps": []book{{"exit": 1}}}
	}
	steps := []book{{"expect": c.Review.Issue}}
	for _, ch := range c.changes {
		if c.forgotten(ch.path) {
			steps = append(steps, c.write([]realChange{ch})...)
		}
	}
	steps = append(steps, testRun(c.Packages, "", false), toolCall("submit_done", book{"subplan_index": 1}))
	return book{"role": "coder", "phase": "fixing", "steps": steps}
}

func (c *realCase) summarist() book {
	part := c.Groups[0][0]
	text := "## What was implemented\n\n" + part.Accept + ", as in " + c.Module + " " + c.Fixed + ".\n\n## Key decisions\n\n" +
		part.Approach + ".\n\n## Deviations from plan\n\nNone.\n"
	return book{"prompt": "summary_prompt.md", "steps": []book{written("08_completion/summary.md", text), toolCall("submit_summary", nil)}}
}

// reviewers are the rounds of one role; the first role of the list finds what is
// missing.
func (c *realCase) reviewers(t *testing.T, role string) []book {
	file := "07_review/review_" + role + ".yaml"
	pass := book{"verdict": "pass", "summary": "The tests pass and show the bug without the change.", "commit_message": c.Commit}
	steps := []book{testRun(c.Packages, "", false), written(file, encode(t, pass)), toolCall("submit_review", book{"role": role})}
	parts := []book{}
	if c.Review != nil && role == c.Reviewers[0] {
		fail := book{"verdict": "fail", "summary": c.Review.Summary, "findings": []book{{
			"location": c.Review.Location, "issue": c.Review.Issue, "severity": "medium", "recommendation": c.Review.Recommendation,
		}}}
		parts = append(parts, book{"role": role, "iteration": 0, "steps": []book{
			written(file, encode(t, fail)), toolCall("submit_review", book{"role": role}),
		}})
	}
	return append(parts, book{"role": role, "steps": steps})
}
