package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/modeltest"
)

// seenTable is what a full run saw of the programs, for the page about providers. The
// page is written when the tests of one function have ended, by a full run only.
type seenTable struct {
	mu   sync.Mutex
	rows map[string]map[string]bool // provider -> column
}

const (
	seenPage  = "../../docs/providers.md"
	seenBegin = "<!-- seen: written by make test-agents FULL=1 -->\n"
	seenEnd   = "<!-- end of seen -->\n"
)

// seenColumns are the columns behind program and version, by what a test calls them.
func seenColumns() [][2]string {
	return [][2]string{
		{string(agent.Headless), "headless"}, {string(agent.TUI), "in its terminal"}, {string(modeltest.Unauthorized), "refused login named"},
		{string(modeltest.RateLimited), "limit named"}, {string(modeltest.Broken), "outage named"},
	}
}

func newSeenTable(t *testing.T) *seenTable {
	s := &seenTable{rows: map[string]map[string]bool{}}
	if os.Getenv(modeltest.Enable) == "1" && fullAgents() {
		t.Cleanup(func() {
			if err := s.write(); err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

// saw notes what a test has shown, unless it failed.
func (s *seenTable) saw(t *testing.T, provider, column string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[provider] == nil {
		s.rows[provider] = map[string]bool{}
	}
	s.rows[provider][column] = !t.Failed()
}

// write replaces the table of the page; a cell of which this run says nothing stays.
func (s *seenTable) write() error {
	page, err := os.ReadFile(filepath.FromSlash(seenPage))
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(page), seenBegin)
	old, tail, both := strings.Cut(rest, seenEnd)
	if !ok || !both {
		return fmt.Errorf("%s has no place for the table", seenPage)
	}
	return os.WriteFile(filepath.FromSlash(seenPage), []byte(head+seenBegin+s.render(old, time.Now())+seenEnd+tail), 0o644)
}

func (s *seenTable) render(old string, now time.Time) string {
	before := map[string][]string{}
	for line := range strings.Lines(old) {
		cells := strings.Split(strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "|")), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		before[cells[0]] = cells
	}
	columns := seenColumns()
	var b strings.Builder
	b.WriteString("| program | version |")
	for _, c := range columns {
		b.WriteString(" " + c[1] + " |")
	}
	b.WriteString(" seen |\n|" + strings.Repeat("---|", len(columns)+3) + "\n")
	releases := modeltest.Releases()
	for _, name := range slices.Sorted(maps.Keys(releases)) {
		cells := before["`"+name+"`"]
		if len(cells) != len(columns)+3 || cells[1] != releases[name].Version {
			cells = make([]string, len(columns)+3) // another version was another program
		}
		cells[0], cells[1] = "`"+name+"`", releases[name].Version
		for i, c := range columns {
			if good, ran := s.rows[name][c[0]]; ran {
				cells[i+2], cells[len(cells)-1] = map[bool]string{true: "yes", false: "no"}[good], now.UTC().Format(time.DateOnly)
			}
			if cells[i+2] == "" {
				cells[i+2] = "not run"
			}
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

func TestSeenTableKeepsWhatARunSaysNothingOf(t *testing.T) {
	s := &seenTable{rows: map[string]map[string]bool{"claude": {"headless": true, "401": false}}}
	first := s.render("", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	version := modeltest.Releases()["claude"].Version
	if want := "| `claude` | " + version + " | yes | not run | no | not run | not run | 2026-01-02 |\n"; !strings.Contains(first, want) {
		t.Errorf("the table lacks %q:\n%s", want, first)
	}
	s = &seenTable{rows: map[string]map[string]bool{"claude": {"tui": true}}}
	second := s.render(first, time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))
	if want := "| `claude` | " + version + " | yes | yes | no | not run | not run | 2026-01-03 |\n"; !strings.Contains(second, want) {
		t.Errorf("the table lacks %q:\n%s", want, second)
	}
}
