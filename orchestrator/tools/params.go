package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Params are the parameters of a call as they arrive: a decoded JSON object that was not
// checked yet.
type Params map[string]any

// An argument is a parameter that has the type its tool wants.
type argument struct {
	kind   toolset.Type
	text   string
	number int
	flag   bool
	list   []string
}

// MarshalJSON writes the value alone.
func (a argument) MarshalJSON() ([]byte, error) {
	switch a.kind {
	case toolset.TypeNumber:
		return json.Marshal(a.number)
	case toolset.TypeFlag:
		return json.Marshal(a.flag)
	case toolset.TypeList:
		return json.Marshal(a.list)
	}
	return json.Marshal(a.text)
}

// read takes the parameters into the payload. Unknown ones are dropped with a
// warning; all problems are collected.
func (c *call) read(params Params) {
	values := map[string]argument{}
	for _, p := range c.tool.Params {
		v, given := params[p.Name]
		if !given || v == nil {
			if p.Required {
				c.problems = append(c.problems, p.Name+": required")
			}
			continue
		}
		arg, problem := argumentOf(p, v)
		if problem != "" {
			c.problems = append(c.problems, p.Name+": "+problem)
			continue
		}
		values[p.Name] = arg
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.ContainsFunc(c.tool.Params, func(p toolset.Param) bool { return p.Name == name }) {
			c.warnings = append(c.warnings, name+": not a parameter of "+c.tool.Name+", dropped")
		}
	}
	if c.tool.Name == toolset.MsgSend {
		c.draft = values
		return
	}
	c.unread = values["unread"].flag
	c.limit = values["limit"].number
	delete(values, "unread")
	delete(values, "limit")
	c.fill(values)
}

// fill fills the payload from the parameters, the tool and the caller.
func (c *call) fill(values map[string]argument) {
	body, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(body, &c.payload)
	}
	if err != nil {
		c.problems = append(c.problems, err.Error())
	}
	c.payload.ResearchType = c.tool.Research
	switch c.tool.Name {
	case toolset.SubmitResearchDone:
		if c.payload.Topic == "" {
			c.payload.Topic = c.who.Task
		}
		if c.payload.Type == "" {
			c.payload.Type, _ = duty.ResearchKind(c.who.Role)
		}
	case toolset.SubmitReview:
		if c.payload.Role == "" {
			c.payload.Role = c.who.Role
		}
	case toolset.SubmitDone:
		c.fillIndex()
	}
}

// fillIndex gives a coder its own subplan, and the fixer the one its prompt names. An agent of an
// agents file has none.
func (c *call) fillIndex() {
	if c.payload.SubplanIndex != nil || c.who.Role == "" {
		return
	}
	index := orchestrator.Index(duty.SubplanOf(c.who.Task))
	if _, err := strconv.Atoi(string(index)); err != nil {
		return
	}
	c.payload.SubplanIndex = &index
}

// argumentOf converts the value v of parameter p; the second result is what is wrong with v.
func argumentOf(p toolset.Param, v any) (argument, string) {
	out := argument{kind: p.Type}
	var problem string
	switch p.Type {
	case toolset.TypeNumber:
		out.number, problem = numberOf(p, v)
	case toolset.TypeList:
		out.list, problem = listOf(p, v)
	case toolset.TypeFlag:
		var ok bool
		if out.flag, ok = v.(bool); !ok {
			problem = fmt.Sprintf("expected true or false, found %v", v)
		}
	default:
		out.text, problem = textOf(p, v)
	}
	return out, problem
}

func textOf(p toolset.Param, v any) (string, string) {
	text, ok := v.(string)
	if !ok {
		return "", fmt.Sprintf("expected text, found %T", v)
	}
	switch {
	case p.Required && strings.TrimSpace(text) == "":
		return "", "required, found only white space"
	case p.Max > 0 && utf8.RuneCountInString(text) > p.Max:
		return "", fmt.Sprintf("longer than %d characters", p.Max)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", "not valid text"
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, text):
		return "", fmt.Sprintf("expected one of %s, found %q", strings.Join(p.Enum, ", "), text)
	}
	return text, ""
}

func numberOf(p toolset.Param, v any) (int, string) {
	n, ok := whole(v)
	if !ok {
		return 0, fmt.Sprintf("expected a whole number, found %v", v)
	}
	if n < p.Min || p.Max > 0 && n > p.Max {
		return 0, fmt.Sprintf("expected %s, found %d", span(p), n)
	}
	return n, ""
}

func span(p toolset.Param) string {
	if p.Max > 0 {
		return fmt.Sprintf("%d to %d", p.Min, p.Max)
	}
	return fmt.Sprintf("at least %d", p.Min)
}

func whole(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), n == math.Trunc(n) && math.Abs(n) < 1<<31
	case json.Number:
		i, err := strconv.Atoi(n.String())
		return i, err == nil
	case string:
		i, err := strconv.Atoi(strings.TrimSpace(n))
		return i, err == nil
	}
	return 0, false
}

func listOf(p toolset.Param, v any) ([]string, string) {
	var items []string
	switch l := v.(type) {
	case string:
		items = []string{l}
	case []string:
		items = l
	case []any:
		for i, item := range l {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Sprintf("item %d: expected text, found %v", i, item)
			}
			items = append(items, text)
		}
	default:
		return nil, fmt.Sprintf("expected a list of texts, found %T", v)
	}
	items = slices.DeleteFunc(slices.Clone(items), func(s string) bool { return strings.TrimSpace(s) == "" })
	switch {
	case len(items) < p.Min:
		return nil, fmt.Sprintf("expected at least %d, found %d", p.Min, len(items))
	case p.Max > 0 && len(items) > p.Max:
		return nil, fmt.Sprintf("expected at most %d, found %d", p.Max, len(items))
	}
	for i, item := range items {
		if utf8.RuneCountInString(item) > toolset.MaxItem {
			return nil, fmt.Sprintf("item %d: longer than %d characters", i, toolset.MaxItem)
		}
	}
	return items, ""
}

var topicRule = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checks find what the types of the parameters do not say.
var checks = map[string]func(*call) []string{
	toolset.DispatchCode:             checkTopic,
	toolset.DispatchWeb:              checkTopic,
	toolset.SubmitResearchDone:       checkResearchDone,
	workflows.ToolSubmitArchitecture: checkReviewers,
	toolset.SubmitReview:             checkReviewRole,
}

func checkTopic(c *call) []string {
	if t := c.payload.Topic; t != "" && !topicRule.MatchString(t) {
		return []string{fmt.Sprintf("topic: expected lower-case words and digits joined by -, found %q", t)}
	}
	return nil
}

func checkResearchDone(c *call) []string {
	var problems []string
	if c.payload.Topic == "" {
		problems = append(problems, "topic: required")
	}
	if c.payload.Type != "code" && c.payload.Type != "web" {
		problems = append(problems, "type: expected code or web")
	}
	return append(problems, checkTopic(c)...)
}

func checkReviewers(c *call) []string {
	review, ok := c.def.Kind(workflows.KindReview)
	if !ok {
		return nil
	}
	var problems []string
	for i, role := range c.payload.Reviewers {
		if !slices.Contains(review.Roles, role) {
			problems = append(problems, fmt.Sprintf("reviewers[%d]: expected one of %s, found %q", i, strings.Join(review.Roles, ", "), role))
		}
	}
	return problems
}

func checkReviewRole(c *call) []string {
	if c.payload.Role == "" {
		return []string{"role: required without a caller's role"}
	}
	return nil
}
