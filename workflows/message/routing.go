package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

const (
	maxRouting = 1 << 20
	// maxProblems bounds what a hostile table makes us say.
	maxProblems = 1000
)

// Routing says which agent of a mesh may send what to whom: for an agent and the status of its
// message the agents it may go to, each with a word on why. An agent without a row may write
// to all.
type Routing struct {
	Mesh string
	rows Rows
}

// Rows are the rows of a table: writer, status, reader, and why.
type Rows map[string]map[string]map[string]string

// Rows returns the rows of the table, which are not to be changed; none of a nil table.
func (r *Routing) Rows() Rows {
	if r == nil {
		return nil
	}
	return r.rows
}

// Table returns the table with these rows; without any it is nil, which allows all.
func (rows Rows) Table() *Routing {
	if len(rows) == 0 {
		return nil
	}
	return &Routing{rows: rows}
}

// Clone returns a copy that shares nothing with rows.
func (rows Rows) Clone() Rows {
	if rows == nil {
		return nil
	}
	out := make(Rows, len(rows))
	for from, statuses := range rows {
		out[from] = make(map[string]map[string]string, len(statuses))
		for status, targets := range statuses {
			out[from][status] = maps.Clone(targets)
		}
	}
	return out
}

// Rules say who may write what to whom in a session, and what becomes of any other message.
type Rules struct {
	Rows Rows `json:"rows,omitempty"` // none = all to all
	Warn bool `json:"warn,omitempty"` // it is delivered all the same
	Max  int  `json:"max,omitempty"`  // how often a message may go the same way of a circle; 0 = always
}

// RoutingFile is where the table of a mesh lies in a project.
func RoutingFile(mesh string) string { return "meshes/mesh-configs/" + mesh + ".json" }

// ParseRouting reads the table of a mesh, a JSON file. agents are those of the mesh; nil = any.
// The routing is nil when a problem is an error; problems come in the order of their lines, all
// of them.
func ParseRouting(file string, data []byte, mesh string, agents []string) (*Routing, document.Problems) {
	if len(data) > maxRouting {
		return nil, document.Problems{{File: file, Text: "larger than 1 MiB"}}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// What is not JSON might still be YAML, which the reader of documents takes, too.
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		at := min(int(syntax.Offset), len(data))
		return nil, document.Problems{{File: file, Line: bytes.Count(data[:at], []byte("\n")) + 1, Text: "not valid JSON: " + syntax.Error()}}
	}
	root, problems := document.Parse(file, data)
	if root == nil {
		return nil, problems
	}
	return decodeRouting(routingChecker{root: root, agents: agents, problems: problems}, mesh)
}

// RoutingOf reads the table that a document has at a path, as ParseRouting does that of a file. An empty map
// returns nil. An empty mesh allows the table of any.
func RoutingOf(n *document.Node, path, mesh string, agents []string) (*Routing, document.Problems) {
	if n == nil || n.Kind == document.Null || n.Kind == document.Map && len(n.Fields) == 0 {
		return nil, nil
	}
	return decodeRouting(routingChecker{root: n, path: path, agents: agents}, mesh)
}

func decodeRouting(c routingChecker, mesh string) (*Routing, document.Problems) {
	var raw rawRouting
	c.problems = append(c.problems, document.Decode(c.root, &raw, document.Options{Path: c.path})...)
	if raw.Mesh != "" && mesh != "" && raw.Mesh != mesh {
		c.problem("mesh", "expected %q, found %q", mesh, cut(raw.Mesh))
	}
	for _, from := range sorted(raw.Routing) {
		c.row(from, raw.Routing[from])
	}
	c.problems.Sort()
	if c.problems.Err() != nil {
		return nil, c.problems
	}
	return &Routing{Mesh: raw.Mesh, rows: raw.Routing}, c.problems
}

type rawRouting struct {
	Mesh    string                                  `doc:"mesh,required"`
	Routing map[string]map[string]map[string]string `doc:"routing,required"`
}

type routingChecker struct {
	root     *document.Node
	path     string // of root in its document
	agents   []string
	problems document.Problems
}

func (c *routingChecker) problem(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		p := c.root.Problem(path, format, args...)
		if c.path != "" {
			p.Path = c.path + "." + p.Path
		}
		c.problems = append(c.problems, p)
	}
}

func (c *routingChecker) row(from string, statuses map[string]map[string]string) {
	at := document.Key("routing", from)
	c.agent(at, from, false)
	for _, status := range sorted(statuses) {
		at := document.Key(at, status)
		if !statusRule().MatchString(status) {
			c.problem(at, "expected a status of lower case letters, digits and -, found %q", cut(status))
		}
		for _, to := range sorted(statuses[status]) {
			c.agent(document.Key(at, to), to, true)
		}
	}
}

// agent checks that a name is one of the mesh. The person can only be written to.
func (c *routingChecker) agent(at, name string, person bool) {
	if c.agents == nil || slices.Contains(c.agents, name) || person && name == Person.Agent {
		return
	}
	text := "no agent is called \"" + cut(name) + "\""
	if near := document.Nearest(name, c.agents); near != "" {
		text += ", did you mean \"" + near + "\"?"
	}
	c.problem(at, "%s", text)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Refused says what is wrong with a message of an agent that goes to another one of its mesh,
// or to the person as core: "" if nothing is, else what is allowed. A nil table allows all.
func (r *Routing) Refused(from, status, to string) string {
	if r == nil || r.rows[from] == nil {
		return ""
	}
	if _, ok := r.rows[from][status][to]; ok {
		return ""
	}
	var allowed []string
	for _, s := range sorted(r.rows[from]) {
		for _, t := range sorted(r.rows[from][s]) {
			allowed = append(allowed, s+" to "+t)
		}
	}
	text := from + " may not send " + cut(status) + " to " + cut(to) + ", only "
	if len(allowed) == 0 {
		return text + "nothing"
	}
	return text + strings.Join(allowed, ", ")
}

// Cycles reports whether a message that goes this way may come back to its sender along the
// table. Such an edge can be passed again and again.
func (r *Routing) Cycles(from, status, to string) bool {
	if r == nil {
		return false
	}
	if _, ok := r.rows[from][status][to]; !ok {
		return false
	}
	seen := map[string]bool{to: true}
	for queue := []string{to}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == from {
			return true
		}
		for _, targets := range r.rows[queue[0]] {
			for next := range targets {
				if !seen[next] {
					seen[next] = true
					queue = append(queue, next)
				}
			}
		}
	}
	return false
}
