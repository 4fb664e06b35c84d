package agents

import "slices"

// Status is how far an agent is.
type Status int

// The statuses. Waiting is the status of an agent that nothing is known of.
const (
	Waiting Status = iota // not started, no marker
	Running               // started, no marker
	Done
	Failed
	Blocked // never started, because a dependency failed or is blocked
)

// String is the word for it.
func (s Status) String() string {
	if words := []string{"waiting", "running", "done", "failed", "blocked"}; s >= 0 && int(s) < len(words) {
		return words[s]
	}
	return "unknown"
}

// Block is an agent that will not start.
type Block struct {
	Agent string
	By    string // the first of its dependencies that failed or is blocked
}

// Ready returns the agents that may start now, in the order of the file: those that wait and
// whose dependencies are all done. At most limit agents run at once; 0 = no limit.
func (t *Team) Ready(of map[string]Status, limit int) (names []string) {
	running := 0
	for i := range t.Agents {
		if of[t.Agents[i].Name] == Running {
			running++
		}
	}
	for i := range t.Agents {
		a := &t.Agents[i]
		if limit > 0 && running+len(names) >= limit {
			break
		}
		if of[a.Name] == Waiting && !slices.ContainsFunc(a.DependsOn, func(d string) bool { return of[d] != Done }) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Blocked returns the agents that wait and will never start, in the order of the file: those
// with a dependency that failed, that is blocked, or that is itself in the result.
func (t *Team) Blocked(of map[string]Status) (blocks []Block) {
	stopped := func(name string) bool { return of[name] == Failed || of[name] == Blocked }
	index := make(map[string]int, len(t.Agents))
	for i := range t.Agents {
		index[t.Agents[i].Name] = i
	}
	blocked := make([]bool, len(t.Agents))
	dependants := t.dependants(index)
	var pass func(i int)
	pass = func(i int) {
		for _, j := range dependants[i] {
			if !blocked[j] && of[t.Agents[j].Name] == Waiting {
				blocked[j] = true
				pass(j)
			}
		}
	}
	for i := range t.Agents {
		if stopped(t.Agents[i].Name) {
			pass(i)
		}
	}
	for i := range t.Agents {
		if a := &t.Agents[i]; blocked[i] {
			by := slices.IndexFunc(a.DependsOn, func(d string) bool { return stopped(d) || blocked[index[d]] })
			blocks = append(blocks, Block{Agent: a.Name, By: a.DependsOn[by]})
		}
	}
	return blocks
}

// dependants lists for each agent those that depend on it.
func (t *Team) dependants(index map[string]int) [][]int {
	out := make([][]int, len(t.Agents))
	for i := range t.Agents {
		for _, d := range t.Agents[i].DependsOn {
			if j, ok := index[d]; ok {
				out[j] = append(out[j], i)
			}
		}
	}
	return out
}

// cycles returns one cycle for each set of agents that depend on one another, as the names
// along it: it begins and ends with the first of them in the file and is as short as one
// through that agent can be.
func (t *Team) cycles() (cycles [][]string) {
	index := make(map[string]int, len(t.Agents))
	for i := range t.Agents {
		if _, ok := index[t.Agents[i].Name]; !ok {
			index[t.Agents[i].Name] = i
		}
	}
	g := &graph{edges: make([][]int, len(t.Agents)), order: make([]int, len(t.Agents)), low: make([]int, len(t.Agents))}
	for i := range t.Agents {
		for _, d := range t.Agents[i].DependsOn {
			if j, ok := index[d]; ok {
				g.edges[i] = append(g.edges[i], j)
			}
		}
	}
	for i := range t.Agents {
		if g.order[i] == 0 {
			g.visit(i)
		}
	}
	slices.SortFunc(g.sets, func(a, b []int) int { return slices.Min(a) - slices.Min(b) })
	for _, set := range g.sets {
		if len(set) > 1 {
			var names []string
			for _, i := range g.shortest(slices.Min(set)) {
				names = append(names, t.Agents[i].Name)
			}
			cycles = append(cycles, names)
		}
	}
	return cycles
}

// graph finds sets of nodes that reach one another, by Tarjan's algorithm.
type graph struct {
	edges  [][]int
	order  []int // when a node was reached, from 1
	low    []int // the earliest open node that is reached from it; closed nodes have none
	open   []int
	closed map[int]bool
	count  int
	sets   [][]int
}

func (g *graph) visit(i int) {
	if g.closed == nil {
		g.closed = map[int]bool{}
	}
	g.count++
	g.order[i], g.low[i] = g.count, g.count
	g.open = append(g.open, i)
	for _, j := range g.edges[i] {
		if g.order[j] == 0 {
			g.visit(j)
		}
		if !g.closed[j] {
			g.low[i] = min(g.low[i], g.low[j])
		}
	}
	if g.low[i] < g.order[i] {
		return
	}
	at := slices.Index(g.open, i)
	set := slices.Clone(g.open[at:])
	g.open = g.open[:at]
	for _, j := range set {
		g.closed[j] = true
	}
	g.sets = append(g.sets, set)
}

// shortest returns the shortest way from a node back to it.
func (g *graph) shortest(start int) []int {
	before := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, j := range g.edges[queue[0]] {
			if j == start {
				way := []int{start}
				for i := queue[0]; i != start; i = before[i] {
					way = append(way, i)
				}
				way = append(way, start)
				slices.Reverse(way)
				return way
			}
			if _, ok := before[j]; !ok {
				before[j] = queue[0]
				queue = append(queue, j)
			}
		}
	}
	return nil
}
