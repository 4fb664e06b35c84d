package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

// right says what the file of a repository may do to a key. Everyone who can write to the
// repository can write that file, so it is not trusted with what protects the person.
type right int

const (
	// hostOnly: the key decides about the machine, the person's credentials or what agents
	// may do without asking. It is an error in a repository's file.
	hostOnly right = iota + 1
	// tighten: a value counts if it is at least as strict as what it would replace.
	tighten
	// extend: the items of the list are added to the ones it has.
	extend
	// choose: the list counts if the files outside the repository, or the defaults, name each of its providers.
	choose
)

// A rule holds for all keys that match its pattern of keys, in which * stands for any
// name. The first rule that matches decides; a key without one is the repository's to set.
type rule struct {
	pattern  string
	right    right
	stricter func(a, b *document.Node) bool // a is at least as strict as b; for tighten
}

// rules is the one table of what a repository may not decide alone.
var rules = []rule{
	{pattern: "sandbox.setup"}, // needs a person's consent, or runs inside the sandbox
	{"sandbox.*", hostOnly, nil},
	{"output", hostOnly, nil},
	{"gate", hostOnly, nil},
	{"bot", hostOnly, nil},
	{"github.host", hostOnly, nil}, // where the token goes
	{"github.auth", hostOnly, nil},
	{"github.app", hostOnly, nil},
	{"github.write_interval", hostOnly, nil},
	{"agents.transport", hostOnly, nil}, // a transport decides whether a CLI asks
	{"agents.linger", hostOnly, nil},    // what a program may still spend
	{"agents.project_config", hostOnly, nil},
	{"providers", hostOnly, nil},
	{"roles.*.args", hostOnly, nil},
	{"roles.*.transport", hostOnly, nil}, // as agents.transport
	{"roles.*.fallback", choose, nil},    // who is paid
	{"checkpoint.remote", hostOnly, nil},
	{"workspace", hostOnly, nil},
	{"session", hostOnly, nil},
	{"log", hostOnly, nil},

	{"github.protected_paths", extend, nil},

	{"defaults.completion.skip_final_approval", tighten, ranked("true", "false")},
	{"github.push", tighten, ranked("true", "false")},
	{"github.ready", tighten, ranked("on_pass", "never")},
	{"approval.*", tighten, ranked("false", "true")},
	{"questions.on_timeout", tighten, ranked("decide", "park")},
	{"review.rerun", tighten, ranked("trust", "failed", "all")},
	{"review.on_exhausted", tighten, ranked("draft_pr", "stop")},
	{"review.timeout", tighten, smaller},
	{"implement.scope_policy", tighten, ranked("report", "fail")},
	{"agents.scope_policy", tighten, ranked("report", "fail")},
	{"msg.routing", tighten, ranked("warn", "enforce")},
	{"limits.*", tighten, smaller},
}

// ranked compares words, the loosest first. Any other word is a mistake that check reports, so
// it passes here.
func ranked(words ...string) func(a, b *document.Node) bool {
	rank := func(n *document.Node) int { return slices.Index(words, strings.ToLower(n.Text)) }
	return func(a, b *document.Node) bool {
		return a.Kind != document.Scalar || rank(a) < 0 || rank(a) >= rank(b)
	}
}

// smaller compares numbers and durations; a duration of 0 means no limit. Anything else is a
// mistake that the decoder reports.
func smaller(a, b *document.Node) bool {
	if !b.IsText() { // a whole number, or a duration of 0
		x, okX := a.Int()
		y, okY := b.Int()
		return !okX || !okY || x <= y
	}
	x, okX := duration(a)
	y, okY := duration(b)
	return !okX || !okY || y == 0 || x != 0 && x <= y
}

func duration(n *document.Node) (time.Duration, bool) {
	if i, ok := n.Int(); ok {
		return 0, i == 0
	}
	d, err := time.ParseDuration(n.Text)
	return d, n.IsText() && err == nil
}

// Overruled is a value that a file gives and that does not count.
type Overruled struct {
	Text  string
	Plain any
	Layer string
	File  string
	Line  int
	Why   string
}

// repository removes from the file of a repository what it may not decide over the layers
// below it. The rest may be merged.
type repository struct {
	under, base *document.Node
	layers      map[string]string // file of a node -> name of its layer
	overruled   map[string][]Overruled
	problems    document.Problems
}

func (r *repository) restrict(n *document.Node) *document.Node {
	decided := map[string]bool{}
	for _, rule := range rules {
		for _, path := range find(n, strings.Split(rule.pattern, ".")) {
			key := pathText(path)
			if decided[key] {
				continue
			}
			decided[key] = true
			switch rule.right {
			case hostOnly:
				r.problems = append(r.problems, n.Problem(key, "only a configuration file outside the repository may set this"))
			case choose:
				n = r.choose(n, path)
			case tighten:
				n = r.tighten(n, path, rule)
			case extend:
				n = replaced(n, path, extended(r.value(r.under, path), at(n, path)))
			}
		}
	}
	return n
}

// tighten removes the value at path from n if it would loosen the value so far.
func (r *repository) tighten(n *document.Node, path []string, rule rule) *document.Node {
	value, current := r.value(n, path), r.value(r.under, path)
	if value == nil || current == nil || rule.stricter(value, current) {
		return n
	}
	return r.overrule(n, path, fmt.Sprintf("a repository only tightens this, and %s (%s) is stricter", flow(current), r.layers[current.File]))
}

// choose removes the list at path from n if it names a provider that is not named outside the repository.
func (r *repository) choose(n *document.Node, path []string) *document.Node {
	chosen := named(r.under)
	for _, item := range at(n, path).Items {
		if item.IsText() && !slices.Contains(chosen, item.Text) {
			return r.overrule(n, path, fmt.Sprintf("a repository only chooses among the providers that are configured outside of it, and %s is not", item.Text))
		}
	}
	return n
}

// named lists the providers that a configuration names as its own or for a role.
func named(n *document.Node) (names []string) {
	for _, pattern := range []string{"defaults.provider", "roles.*.provider", "roles.*.fallback"} {
		for _, path := range find(n, strings.Split(pattern, ".")) {
			v := at(n, path)
			for _, item := range append(slices.Clone(v.Items), v) {
				if item.IsText() {
					names = append(names, item.Text)
				}
			}
		}
	}
	for _, path := range find(n, []string{"providers", "*"}) {
		names = append(names, path[len(path)-1])
	}
	return names
}

// overrule removes the value at path from n and warns why.
func (r *repository) overrule(n *document.Node, path []string, why string) *document.Node {
	key, written := pathText(path), at(n, path)
	place := n.Problem(key, "")
	r.overruled[key] = append(r.overruled[key], Overruled{
		Text: flow(written), Plain: written.Plain(), Layer: LayerProject, File: place.File, Line: place.Line, Why: why,
	})
	warning := n.Problem(key, "%s does not count: %s; your own configuration file may set it", flow(written), why)
	warning.Warning = true
	r.problems = append(r.problems, warning)
	return without(n, path)
}

// value returns the value of n at path. An empty value means the default.
func (r *repository) value(n *document.Node, path []string) *document.Node {
	v := at(n, path)
	if v == nil || v.Kind == document.Null {
		v = at(r.base, path)
	}
	return v
}

// extended returns the items of under and the new ones of over. Each keeps its file and line.
func extended(under, over *document.Node) *document.Node {
	switch {
	case over.Kind == document.Null:
		return under // nothing to add
	case under == nil || under.Kind != document.List || over.Kind != document.List:
		return over
	}
	out := *over
	out.Items = slices.Clone(under.Items)
	for _, item := range over.Items {
		if !slices.ContainsFunc(under.Items, func(n *document.Node) bool { return n.Text == item.Text && n.Kind == item.Kind }) {
			out.Items = append(out.Items, item)
		}
	}
	return &out
}

func at(n *document.Node, path []string) *document.Node {
	for _, key := range path {
		n = n.Field(key)
	}
	return n
}

// replaced returns a copy of n with another value at path, which exists.
func replaced(n *document.Node, path []string, value *document.Node) *document.Node {
	if len(path) == 0 {
		return value
	}
	out := *n
	out.Fields = slices.Clone(n.Fields)
	for i, f := range out.Fields {
		if f.Key == path[0] {
			out.Fields[i].Value = replaced(f.Value, path[1:], value)
		}
	}
	return &out
}
