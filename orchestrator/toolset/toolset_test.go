package toolset_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

func TestEveryToolIsDescribed(t *testing.T) {
	for _, tool := range toolset.All() {
		t.Run(tool.Name, func(t *testing.T) {
			if tool.Description == "" || tool.Command.Short == "" || tool.Recorded() && tool.Done == "" {
				t.Errorf("a text is missing: %+v", tool)
			}
			if !strings.HasPrefix(tool.Command.Example, tool.Command.Words+" ") {
				t.Errorf("the example is %q, the command %q", tool.Command.Example, tool.Command.Words)
			}
			if duty.KnownTool(tool.Name) != tool.Recorded() {
				t.Errorf("the session knows a line of it: %t", !tool.Recorded())
			}
			for _, p := range tool.Params {
				if p.Description == "" || p.Flag != "" && p.Usage == "" {
					t.Errorf("%s is not described", p.Name)
				}
			}
		})
	}
	names := toolset.Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != len(toolset.All()) {
		t.Errorf("two tools have one name: %v", names)
	}
}

func TestToolsOfARole(t *testing.T) {
	def, _, problems := workflows.Load("feature", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	all := []string{"report_status", "ask_human", "msg_send", "msg_list", "msg_read"}
	for role, own := range map[string][]string{
		"architect":       {"research_dispatch_code", "research_dispatch_web", "submit_architecture"},
		"coder":           {"submit_done"},
		"designer":        {"submit_design"},
		"reviewer_expert": {"submit_review", "submit_summary"},
		"web-researcher":  {"submit_research_done"},
	} {
		t.Run(role, func(t *testing.T) {
			var open []string
			for _, tool := range toolset.All() {
				if tool.Open(def, role) {
					open = append(open, tool.Name)
				}
			}
			if !slices.Equal(open, append(own, all...)) {
				t.Errorf("%s sees %v", role, open)
			}
		})
	}
}

// A definition may name exactly the tools of author phases that the table has.
func TestAuthorToolsAreThoseOfDefinitions(t *testing.T) {
	var authors []string
	for _, tool := range toolset.All() {
		if tool.When == toolset.InAuthorPhase {
			authors = append(authors, tool.Name)
		}
	}
	if want := workflows.AuthorTools(); !slices.Equal(authors, want) {
		t.Errorf("the table has %v, definitions may name %v", authors, want)
	}
}

func TestEndingOfAPhase(t *testing.T) {
	for _, c := range []struct {
		name    string
		phase   workflows.Phase
		summary bool
		want    string
	}{
		{"author", workflows.Phase{Kind: workflows.KindAuthor, Tool: "submit_design"}, false, "submit_design"},
		{"plan", workflows.Phase{Kind: workflows.KindPlan}, false, "submit_plan"},
		{"implement", workflows.Phase{Kind: workflows.KindImplement}, false, "submit_done"},
		{"fix while a summary is due", workflows.Phase{Kind: workflows.KindFix}, true, "submit_done"},
		{"review", workflows.Phase{Kind: workflows.KindReview}, false, "submit_review"},
		{"summary", workflows.Phase{Kind: workflows.KindReview}, true, "submit_summary"},
		{"complete", workflows.Phase{Kind: workflows.KindComplete}, false, ""},
		{"no phase", workflows.Phase{}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if tool, ok := toolset.Ending(c.phase, c.summary); tool.Name != c.want || ok != (c.want != "") {
				t.Errorf("the tool is %q, want %q", tool.Name, c.want)
			}
		})
	}
}

func TestHandIn(t *testing.T) {
	for _, c := range []struct {
		name, tool   string
		given        map[string]string
		params, call string
	}{
		{"without parameters", "submit_plan", nil, "none", "submit plan"},
		{"number", "submit_done", map[string]string{"subplan_index": "2"}, "`subplan_index` 2", "submit done 2"},
		{"texts", "submit_research_done", map[string]string{"topic": "auth", "type": "web"}, "`topic` \"auth\", `type` \"web\"", "submit research auth --type web"},
		{"told", "submit_architecture", nil, "`reviewers`, a list of review roles, may be left out", "submit architecture"},
		{"left out", "submit_review", nil, "none", "submit review"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool, _ := toolset.Find(c.tool)
			if params, words := tool.HandIn(c.given); params != c.params || strings.Join(words, " ") != c.call {
				t.Errorf("%s / %v", params, words)
			}
		})
	}
}

func TestAnswerNamesWhatWasRecorded(t *testing.T) {
	for _, c := range []struct{ tool, want string }{
		{"submit_plan", "submitted: submit_plan is recorded."},
		{"research_dispatch_web", "dispatched: research auth is recorded."},
		{"ask_human", "asked: question q1 is recorded."},
		{"report_status", "recorded."},
	} {
		t.Run(c.tool, func(t *testing.T) {
			tool, _ := toolset.Find(c.tool)
			if got := tool.Answer("auth", "q1"); !strings.HasPrefix(got, c.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	for _, c := range []struct{ tool, want string }{
		{"submit_plan", `{"properties":{},"required":[],"type":"object"}`},
		{"submit_done", `{"properties":{"subplan_index":{"description":"Number of your subplan","minimum":1,"type":"integer"}},"required":[],"type":"object"}`},
		{"msg_list", `{"properties":{"limit":{"description":"The newest so many; default 20","maximum":200,"minimum":1,"type":"integer"},` +
			`"unread":{"description":"Only those you have not read","type":"boolean"}},"required":[],"type":"object"}`},
		{"ask_human", `{"properties":{"options":{"description":"Answers to choose from","items":{"type":"string"},"maxItems":6,"type":"array"},` +
			`"question":{"description":"The question, with what one must know to answer it","maxLength":4000,"type":"string"}},"required":["question"],"type":"object"}`},
	} {
		t.Run(c.tool, func(t *testing.T) {
			tool, _ := toolset.Find(c.tool)
			if got, err := json.Marshal(tool.Schema()); err != nil || string(got) != c.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// What prompts call a tool is in the table.
func TestPromptsNameToolsOfTheTable(t *testing.T) {
	prompts := os.DirFS("../../workflows/prompt/prompts")
	word := regexp.MustCompile("`((?:submit|research_dispatch|report|msg)_[a-z_]+|ask_human)`")
	named := 0
	err := fs.WalkDir(prompts, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".md" {
			return err
		}
		text, err := fs.ReadFile(prompts, file)
		for _, m := range word.FindAllSubmatch(text, -1) {
			named++
			if _, ok := toolset.Find(string(m[1])); !ok {
				t.Errorf("%s names %s", file, m[1])
			}
		}
		return err
	})
	if err != nil || named == 0 {
		t.Errorf("%d tools are named, %v", named, err)
	}
}
