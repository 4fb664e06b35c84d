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
	"github.com/agentmux/agentmux/workflows"
)

// read takes the parameters into the payload. Unknown ones are dropped with a
// warning; all problems are collected.
func (c *call) read(params map[string]any) {
	values := map[string]any{}
	for _, p := range c.spec.Params {
		v, given := params[p.Name]
		if !given || v == nil {
			if p.Required {
				c.problems = append(c.problems, p.Name+": required")
			}
			continue
		}
		value, problem := p.value(v)
		if problem != "" {
			c.problems = append(c.problems, p.Name+": "+problem)
			continue
		}
		values[p.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.ContainsFunc(c.spec.Params, func(p Param) bool { return p.Name == name }) {
			c.warnings = append(c.warnings, name+": not a parameter of "+c.spec.Name+", dropped")
		}
	}
	c.unread, _ = values["unread"].(bool)
	c.limit, _ = values["limit"].(int)
	delete(values, "unread")
	delete(values, "limit")
	c.fill(values)
}

// fill completes the payload with what follows from the tool and the caller.
func (c *call) fill(values map[string]any) {
	body, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(body, &c.payload)
	}
	if err != nil {
		c.problems = append(c.problems, err.Error())
	}
	switch c.spec.Name {
	case "research_dispatch_code":
		c.payload.ResearchType = "code"
	case "research_dispatch_web":
		c.payload.ResearchType = "web"
	case "submit_research_done":
		if c.payload.Topic == "" {
			c.payload.Topic = c.who.Task
		}
		if c.payload.Type == "" {
			c.payload.Type = strings.TrimSuffix(c.who.Role, "-researcher")
		}
	case "submit_review":
		if c.payload.Role == "" {
			c.payload.Role = c.who.Role
		}
	case "submit_done":
		c.fillIndex()
	}
}

// fillIndex gives a coder its own subplan, and the fixer the one its prompt names.
func (c *call) fillIndex() {
	if c.payload.SubplanIndex != nil || c.who.Role == "" {
		return
	}
	index := orchestrator.Index(strings.TrimPrefix(c.who.Task, "resolve-"))
	if index == "" {
		return
	}
	c.payload.SubplanIndex = &index
}

// value converts what a caller gave; the second result is what is wrong with it.
func (p Param) value(v any) (any, string) {
	switch p.Type {
	case TypeNumber:
		return p.number(v)
	case TypeList:
		return p.list(v)
	case TypeFlag:
		if b, ok := v.(bool); ok {
			return b, ""
		}
		return nil, fmt.Sprintf("expected true or false, found %v", v)
	default:
		return p.text(v)
	}
}

func (p Param) text(v any) (any, string) {
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Sprintf("expected text, found %T", v)
	}
	switch {
	case p.Required && strings.TrimSpace(text) == "":
		return nil, "required, found only white space"
	case p.Max > 0 && utf8.RuneCountInString(text) > p.Max:
		return nil, fmt.Sprintf("longer than %d characters", p.Max)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return nil, "not valid text"
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, text):
		return nil, fmt.Sprintf("expected one of %s, found %q", strings.Join(p.Enum, ", "), text)
	}
	return text, ""
}

func (p Param) number(v any) (any, string) {
	n, ok := whole(v)
	if !ok {
		return nil, fmt.Sprintf("expected a whole number, found %v", v)
	}
	if n < p.Min || p.Max > 0 && n > p.Max {
		return nil, fmt.Sprintf("expected %s, found %d", p.span(), n)
	}
	return n, ""
}

func (p Param) span() string {
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

func (p Param) list(v any) (any, string) {
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
		if utf8.RuneCountInString(item) > maxContext {
			return nil, fmt.Sprintf("item %d: longer than %d characters", i, maxContext)
		}
	}
	return items, ""
}

var topicRule = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

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
