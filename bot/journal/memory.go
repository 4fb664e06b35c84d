package journal

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
)

// key names a trigger: the same one may be met on two issues.
type key struct {
	issue   int
	trigger gate.Trigger
}

// memory is what the records say.
type memory struct {
	decided  map[key]Decided
	told     map[key]bool
	started  map[key]bool
	commands map[string]Command // by source
	heard    []string           // the sources in their order
	seen     map[key]gate.Texts
	starts   log[Started]
	comments log[Told]    // that were written
	given    log[Command] // of those who may give some, when they were first known
}

func newMemory() *memory {
	return &memory{decided: map[key]Decided{}, told: map[key]bool{}, started: map[key]bool{}, commands: map[string]Command{}, seen: map[key]gate.Texts{}}
}

func (r Decided) known(m *memory) bool {
	return !slices.ContainsFunc(r.triggers(), func(t gate.Trigger) bool { return r.decides(m, t) })
}

func (r Decided) fold(m *memory, _ time.Time) {
	for _, t := range r.triggers() {
		if r.decides(m, t) {
			m.decided[key{r.Issue, t}] = r
		}
	}
}

// decides reports whether the decision counts for a trigger. The first one does, but a request
// that was accepted is refused when it gets its slot and its base commit cannot be worked from.
func (r Decided) decides(m *memory, t gate.Trigger) bool {
	before, known := m.decided[key{r.Issue, t}]
	return !known || r.Row == gate.RowBase && r.refused() && !before.refused()
}

func (r Decided) refused() bool { return r.What == gate.Refuse || r.What == gate.RefuseSilently }

func (r Decided) triggers() []gate.Trigger { return append([]gate.Trigger{r.Trigger}, r.With...) }

func (r Told) known(m *memory) bool { return m.told[key{r.Issue, r.Trigger}] }

func (r Told) fold(m *memory, at time.Time) {
	m.told[key{r.Issue, r.Trigger}] = true
	if r.Comment != 0 {
		m.comments.add(r, at)
	}
}

func (r Started) known(m *memory) bool { return m.started[key{r.Issue, r.Trigger}] }

func (r Started) fold(m *memory, at time.Time) {
	m.started[key{r.Issue, r.Trigger}] = true
	m.starts.add(r, at)
}

func (r Command) known(m *memory) bool { return stages[r.State] <= stages[m.commands[r.Source].State] }

func (r Command) fold(m *memory, at time.Time) {
	if m.commands[r.Source].State == "" {
		m.heard = append(m.heard, r.Source)
		if r.Verb != "" {
			m.given.add(r, at)
		}
	}
	m.commands[r.Source] = r
}

func (r Seen) known(m *memory) bool {
	_, known := m.seen[key{r.Issue, r.Trigger}]
	return known
}

func (r Seen) fold(m *memory, _ time.Time) { m.seen[key{r.Issue, r.Trigger}] = r.Texts }

// passed tells the memory that it is now. Nothing can be later than what comes after it, be it
// a record or a question: a time that says otherwise is of a clock that was set back since, and
// becomes now.
func (m *memory) passed(now time.Time) {
	m.starts.passed(now)
	m.comments.passed(now)
	m.given.passed(now)
}

// log is what rates count, in the order of the file. The times never go back.
type log[T any] struct{ entries []entry[T] }

type entry[T any] struct {
	what T
	at   time.Time
}

// add appends an entry. One without a time is as old as the entry before it.
func (l *log[T]) add(what T, at time.Time) {
	if n := len(l.entries); at.IsZero() && n > 0 {
		at = l.entries[n-1].at
	}
	l.entries = append(l.entries, entry[T]{what, at})
}

func (l *log[T]) passed(now time.Time) {
	for i := range slices.Backward(l.entries) {
		if !l.entries[i].at.After(now) {
			return
		}
		l.entries[i].at = now
	}
}

// count counts the entries after a moment.
func (l *log[T]) count(after time.Time, counts func(T) bool) int {
	n := 0
	for _, e := range slices.Backward(l.entries) {
		if !e.at.After(after) {
			break
		}
		if counts(e.what) {
			n++
		}
	}
	return n
}

// owed returns the refusals that were decided and not ended.
func (m *memory) owed() []Decided {
	var out []Decided
	for k, d := range m.decided {
		if d.refused() && k.trigger == d.Trigger && !m.told[k] {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Decided) int {
		return cmp.Or(cmp.Compare(a.Issue, b.Issue), cmp.Compare(a.Trigger.String(), b.Trigger.String()))
	})
	return out
}

// commandsOf returns the commands that match, in the order they came in.
func (m *memory) commandsOf(match func(Command) bool) []Command {
	var out []Command
	for _, source := range m.heard {
		if c := m.commands[source]; match(c) {
			out = append(out, c)
		}
	}
	return out
}
