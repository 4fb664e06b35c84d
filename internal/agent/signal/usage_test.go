package signal_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/internal/usage"
)

// claudeResult is a line of claude's stream as version 2.1.330 writes it, without what is not read.
func claudeResult(session string, total float64, input, output int) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","num_turns":2,"total_cost_usd":%g,"session_id":%q,`+
		`"usage":{"input_tokens":%d,"cache_creation_input_tokens":30,"cache_read_input_tokens":400,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":5}}}`,
		total, session, input, output)
}

// launched has launches tell the streams, in their order, and returns their directories.
func launched(t *testing.T, streams ...[]string) (dirs []string) {
	t.Helper()
	root := t.TempDir()
	for i, lines := range streams {
		dir := filepath.Join(root, fmt.Sprintf("3.coder.2.%d", i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_, signals := render(strings.Join(lines, "\n"))
		for _, s := range signals {
			if err := signal.Append(dir, s); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// TestSpentByClaude follows what the real program tells: each result has the tokens of its turn
// and the cost of its session so far, which a launch that resumes the session continues.
func TestSpentByClaude(t *testing.T) {
	one := usage.Usage{Cached: 400, Input: 530, Money: 0.25, Output: 20, Reasoning: 5, Turns: 2}
	spent := func(money float64, turns int64) usage.Usage {
		return usage.Usage{Cached: one.Cached * turns, Input: one.Input * turns, Money: money, Output: one.Output * turns, Reasoning: one.Reasoning * turns, Turns: one.Turns * turns}
	}
	result := func(session string, total float64) string { return claudeResult(session, total, 100, 20) }
	for name, c := range map[string]struct {
		streams [][]string
		want    []usage.Usage
	}{
		"one turn":    {[][]string{{result("u", 0.25)}}, []usage.Usage{one}},
		"three turns": {[][]string{{result("u", 0.25), result("u", 0.5), result("u", 1)}}, []usage.Usage{spent(1, 3)}},
		"resumed":     {[][]string{{result("u", 0.25)}, {result("u", 1), result("u", 1.5)}, {result("u", 1.75)}}, []usage.Usage{one, spent(1.25, 2), one}},
		"resumed after a launch that told nothing": {[][]string{{result("u", 0.25)}, {}, {result("u", 0.5)}}, []usage.Usage{one, {}, one}},
		"another session":                          {[][]string{{result("u", 0.5)}, {result("v", 0.25)}}, []usage.Usage{spent(0.5, 1), one}},
		"a session that lost count":                {[][]string{{result("u", 0.5)}, {result("u", 0.25)}}, []usage.Usage{spent(0.5, 1), one}},
		"no money":                                 {[][]string{{result("u", 0), result("u", 0)}}, []usage.Usage{spent(0, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, dir := range launched(t, c.streams...) {
				got, err := signal.Spent(dir)
				if err != nil {
					t.Fatal(err)
				}
				if c.want[i] == (usage.Usage{}) {
					if got != nil {
						t.Errorf("launch %d used %+v, which nothing told", i+1, *got)
					}
					continue
				}
				if got == nil {
					t.Fatalf("launch %d: the usage is not known", i+1)
				}
				got.Money = math.Round(got.Money*1e9) / 1e9
				if *got != c.want[i] {
					t.Errorf("launch %d used %+v, want %+v", i+1, *got, c.want[i])
				}
			}
		})
	}
}

// TestSpentIsNotKnown holds apart what a program does not tell from what it did not use.
func TestSpentIsNotKnown(t *testing.T) {
	dirs := launched(t,
		nil, // in its terminal no program tells its usage
		[]string{`{"type":"result","subtype":"error_during_execution","is_error":true,"result":"API Error: 401"}`},
		[]string{`{"type":"result","subtype":"success","num_turns":1,"usage":{"input_tokens":0,"output_tokens":0}}`},
		[]string{`{"type":"thread.started","thread_id":"t"}`, `{"type":"turn.completed","usage":{"input_tokens":200,"output_tokens":40}}`}, // codex
	)
	for i, known := range []bool{false, false, true, false} {
		got, err := signal.Spent(dirs[i])
		if err != nil || (got != nil) != known {
			t.Errorf("launch %d: %+v, %v", i+1, got, err)
		}
	}
	if got, err := signal.Spent(filepath.Join(t.TempDir(), "1.planner.1")); got != nil || err != nil {
		t.Errorf("a launch without signals: %+v, %v", got, err)
	}
}

// TestSpentOnlyByStreams notes which programs tell their usage: a provider whose stream is read
// from now on gets its own rows in TestSpentByClaude.
func TestSpentOnlyByStreams(t *testing.T) {
	known, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for name, p := range known {
		if (p.Stream != "") != (name == "claude") {
			t.Errorf("the stream of %s is %q", name, p.Stream)
		}
	}
}

// TestSpentOfFiguresThatAreNotTrue has an agent write to its own signals.
func TestSpentOfFiguresThatAreNotTrue(t *testing.T) {
	dir := launched(t, []string{claudeResult("u", 1, 7, 8)})[0]
	for range 3 {
		s := signal.Signal{Kind: signal.KindResult, Session: "u", Usage: &signal.Usage{Input: math.MaxInt64, CacheRead: math.MaxInt64, Output: -5, USD: -3}}
		if err := signal.Append(dir, s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := signal.Spent(dir)
	if err != nil || got == nil || got.Input < 0 || got.Output != 8 || got.Money != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
