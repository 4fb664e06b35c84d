package tools

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Types of parameters.
const (
	TypeText   = "string"
	TypeNumber = "integer"
	TypeFlag   = "boolean"
	TypeList   = "array" // of texts; one text stands for a list of one
)

// Param is one parameter of a tool.
type Param struct {
	Name        string
	Type        string
	Description string
	Required    bool
	Enum        []string
	Max         int // characters of a text, items of a list, highest number; 0 = no limit
	Min         int // lowest number, fewest items
}

// Spec describes a tool for the MCP server and the command line.
type Spec struct {
	Name        string
	Description string
	Params      []Param

	roles []string             // nil: all
	check func(*call) []string // what the parameters' types do not say
}

// Specs lists the tools in the order in which they are shown.
func Specs() []Spec { return slices.Clone(specs) }

func find(name string) (Spec, bool) {
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return specs[i], true
}

func names() []string {
	out := make([]string, len(specs))
	for i, s := range specs {
		out[i] = s.Name
	}
	return out
}

func openNames(def *workflows.Definition, st *orchestrator.State, role string) []string {
	var out []string
	for _, s := range specs {
		if s.Open(def, st, role) {
			out = append(out, s.Name)
		}
	}
	return out
}

// Open reports whether the role may see the tool in this session. A caller
// without a role is a person, who may use all.
func (s Spec) Open(def *workflows.Definition, st *orchestrator.State, role string) bool {
	if role == "" || st.Kind == orchestrator.KindAgents && s.Name == "submit_done" {
		return true
	}
	for _, phase := range def.Phases {
		if phase.Tool == s.Name {
			return phase.Role == role
		}
		if phase.Kind == workflows.KindPlan && s.Name == "submit_plan" {
			return phase.Role == role
		}
		if s.isDispatch() && phase.Research && phase.Role == role {
			return true
		}
		works := phase.Kind == workflows.KindImplement || phase.Kind == workflows.KindFix
		if s.Name == "submit_done" && works && phase.Role == role {
			return true
		}
	}
	return s.roles == nil || slices.Contains(s.roles, role)
}

func (s Spec) isDispatch() bool { return strings.HasPrefix(s.Name, "research_dispatch_") }

func (s Spec) submits() bool { return strings.HasPrefix(s.Name, "submit_") }

// Schema is the JSON schema of the tool's parameters.
func (s Spec) Schema() map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, p := range s.Params {
		properties[p.Name] = p.schema()
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func (p Param) schema() map[string]any {
	m := map[string]any{"type": p.Type, "description": p.Description}
	if p.Type == TypeList {
		m["items"] = map[string]any{"type": TypeText}
	}
	if len(p.Enum) > 0 {
		m["enum"] = p.Enum
	}
	limits := map[string][2]string{
		TypeText: {"minLength", "maxLength"}, TypeNumber: {"minimum", "maximum"}, TypeList: {"minItems", "maxItems"},
	}[p.Type]
	if p.Min > 0 && limits[0] != "" {
		m[limits[0]] = p.Min
	}
	if p.Max > 0 && limits[1] != "" {
		m[limits[1]] = p.Max
	}
	return m
}

// done is what the caller is told once the line is on disk.
func (s Spec) done(c *call) string {
	switch {
	case s.Name == "ask_human":
		return "asked: question " + c.payload.ID + " is recorded. The answer comes as a message; go on with what does not need it, or end your turn."
	case s.isDispatch():
		return "dispatched: research " + c.payload.Topic + " is recorded. Its result comes as a message; end your turn if you cannot go on without it."
	case s.submits():
		return "submitted: " + s.Name + " is recorded. Stop now; the session goes on by itself."
	}
	return "recorded."
}

const (
	maxContext  = 20_000
	maxStatus   = 500
	maxQuestion = 4000
	maxOptions  = 6
	maxTopic    = 60
)

var (
	researchers = []string{workflows.RoleCodeResearcher, workflows.RoleWebResearcher}
	nobody      = []string{}
)

var dispatchParams = []Param{
	{Name: "topic", Type: TypeText, Required: true, Max: maxTopic, Description: "Short name of the topic: lower-case words and digits joined by -"},
	{Name: "context", Type: TypeText, Required: true, Max: maxContext, Description: "What the researcher must know to understand the questions"},
	{Name: "questions", Type: TypeList, Required: true, Min: 1, Max: 50, Description: "Questions to answer, each by itself"},
	{Name: "scope_hints", Type: TypeList, Max: 50, Description: "Where to look: directories, files, sites"},
}

// specs is the table of tools. Tools of author phases name the role that ships
// with them; a workflow may give them to another.
var specs = []Spec{
	{Name: "research_dispatch_code", roles: nobody, check: checkTopic, Params: dispatchParams,
		Description: "Start a researcher that reads the code of this repository and answers your questions."},
	{Name: "research_dispatch_web", roles: nobody, check: checkTopic, Params: dispatchParams,
		Description: "Start a researcher that searches the web and answers your questions."},
	{Name: "submit_research_done", roles: researchers, check: checkResearchDone,
		Description: "Hand in your research: summary.md is written.",
		Params: []Param{
			{Name: "topic", Type: TypeText, Max: maxTopic, Description: "Your topic; default: the one you were started for"},
			{Name: "type", Type: TypeText, Enum: []string{"code", "web"}, Description: "Kind of research; default: yours"},
		}},
	{Name: "submit_pm_done", roles: nobody, Description: "Hand in the requirements: requirements.md is complete."},
	{Name: "submit_architecture", roles: nobody, check: checkReviewers,
		Description: "Hand in the architecture: architecture.md is complete.",
		Params:      []Param{{Name: "reviewers", Type: TypeList, Max: 3, Description: "Roles that should review the work"}}},
	{Name: "submit_plan", roles: nobody, Description: "Hand in the plan: plan.yaml is complete."},
	{Name: "submit_design", roles: nobody, Description: "Hand in the design: design.md is complete."},
	{Name: "submit_done", roles: nobody,
		Description: "Hand in your work: the task is finished and its tests pass.",
		Params:      []Param{{Name: "subplan_index", Type: TypeNumber, Min: 1, Description: "Number of your subplan"}}},
	{Name: "submit_review", roles: workflows.ReviewRoles(), check: checkReviewRole,
		Description: "Hand in your review: the YAML file with verdict and findings is complete.",
		Params:      []Param{{Name: "role", Type: TypeText, Description: "Your role; may be left out"}}},
	{Name: "submit_summary", roles: workflows.ReviewRoles(), Description: "Hand in the summary: summary.md is complete."},
	{Name: "report_status", Description: "Tell people what you are doing. It decides nothing.",
		Params: []Param{
			{Name: "message", Type: TypeText, Required: true, Max: maxStatus, Description: "One line"},
			{Name: "percent", Type: TypeNumber, Max: 100, Description: "How far you are"},
			{Name: "current_task", Type: TypeText, Max: maxStatus, Description: "What you are at"},
		}},
	{Name: "ask_human", Description: "Ask a person. The answer comes later, as a message; ask only where a wrong guess is costly.",
		Params: []Param{
			{Name: "question", Type: TypeText, Required: true, Max: maxQuestion, Description: "The question, with what one must know to answer it"},
			{Name: "options", Type: TypeList, Max: maxOptions, Description: "Answers to choose from"},
		}},
	{Name: "msg_list", Description: "List the messages to you.",
		Params: []Param{
			{Name: "unread", Type: TypeFlag, Description: "Only those you have not read"},
			{Name: "limit", Type: TypeNumber, Min: 1, Max: 200, Description: "The newest so many; default 20"},
		}},
	{Name: "msg_read", Description: "Read a message to you.",
		Params: []Param{{Name: "file", Type: TypeText, Required: true, Max: 300, Description: "File name of the message"}}},
}
