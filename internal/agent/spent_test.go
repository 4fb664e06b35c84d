package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
		signal.Render("claude", strings.NewReader(strings.Join(lines, "\n")), io.Discard, func(s signal.Signal) {
			if err := signal.Append(dir, s); err != nil {
				t.Error(err)
			}
		})
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
				got, err := agent.Spent(dir)
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
		nil, // nothing at all
		[]string{`{"type":"result","subtype":"error_during_execution","is_error":true,"result":"API Error: 401"}`},
		[]string{`{"type":"result","subtype":"success","num_turns":1,"usage":{"input_tokens":0,"output_tokens":0}}`},
		[]string{`{"type":"thread.started","thread_id":"t"}`, `{"type":"turn.completed","usage":{"input_tokens":200,"output_tokens":40}}`}, // codex, whose stream is not read
	)
	for i, known := range []bool{false, false, true, false} {
		got, err := agent.Spent(dirs[i])
		if err != nil || (got != nil) != known {
			t.Errorf("launch %d: %+v, %v", i+1, got, err)
		}
	}
	if got, err := agent.Spent(filepath.Join(t.TempDir(), "1.planner.1")); got != nil || err != nil {
		t.Errorf("a launch without signals: %+v, %v", got, err)
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
	got, err := agent.Spent(dir)
	if err != nil || got == nil || got.Input < 0 || got.Output != 8 || got.Money != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// transcribed makes a launch of an agent whose program wrote a transcript, and returns its directory.
// where says where the transcript is, in the program's words, below its configuration directory.
func transcribed(t *testing.T, root string, attempt int, since time.Time, where string) string {
	t.Helper()
	dir := filepath.Join(root, "launches", fmt.Sprintf("3.coder.2.%d", attempt))
	record, err := json.Marshal(agent.Launch{Version: 1, Mark: strings.Repeat("0f", 16), Argv: []string{"claude"}, Launch: filepath.Base(dir), ConfigDir: filepath.Join(root, "config"), PreparedAt: since})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "launch.json"), string(record))
	if err := signal.Append(dir, signal.Signal{Event: "Stop", Kind: signal.KindTurnEnd, Session: "u", Transcript: where}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// claudeAnswer is a line of claude's transcript, and costs the one at the end of its turn.
func claudeAnswer(at time.Time, id string, output int) string {
	return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"sessionId":"u","message":{"id":%q,"role":"assistant","content":[],"usage":{"input_tokens":100,`+
		`"cache_creation_input_tokens":30,"cache_read_input_tokens":400,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":5}}}}`+"\n", at.Format(time.RFC3339Nano), id, output)
}

func costs(total float64) string {
	return fmt.Sprintf(`{"type":"cost-state","sessionId":"u","totalCostUSD":%g,"modelUsage":{}}`+"\n", total)
}

// codexTotal is a line of codex' transcript.
func codexTotal(at time.Time, input, output int) string {
	line := func(payload string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":"event_msg","payload":%s}`+"\n", at.Format(time.RFC3339Nano), payload)
	}
	return line(`{"type":"token_count","info":null}`) +
		line(fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":5},"last_token_usage":{}}}`, input, input/2, output)) +
		line(`{"type":"task_complete","last_agent_message":"ok"}`)
}

// Lines of the transcripts of copilot, gemini and qwen: what an answer of their model used.
func copilotCall(at time.Time, id string) string {
	return fmt.Sprintf(`{"type":"session.usage_record","data":{"usage":{"model":"gpt-5","inputTokens":100,"outputTokens":20,"cacheReadTokens":40,"cacheWriteTokens":0,"cost":0.0}},"id":%q,"timestamp":%q}`+"\n",
		id, at.Format(time.RFC3339Nano))
}

func geminiAnswer(at time.Time, id string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":%q,"type":"gemini","content":"I read.","tokens":{"input":100,"output":20,"cached":40,"thoughts":5,"tool":0,"total":125}}`+"\n", id, at.Format(time.RFC3339Nano))
}

func qwenAnswer(at time.Time, id string) string {
	return fmt.Sprintf(`{"uuid":%q,"timestamp":%q,"type":"assistant","message":{"role":"model","parts":[]},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,`+
		`"thoughtsTokenCount":5,"cachedContentTokenCount":40,"totalTokenCount":120}}`+"\n", id, at.Format(time.RFC3339Nano))
}

// TestSpentInATerminal reads transcripts: claude's has the tokens of each answer, codex' a running total
// of its session. What a session used in earlier launches is theirs.
func TestSpentInATerminal(t *testing.T) {
	since := time.Date(2026, 11, 27, 18, 59, 0, 0, time.UTC)
	early, late := since.Add(-time.Minute), since.Add(time.Minute)
	one := usage.Usage{Cached: 400, Input: 530, Output: 20, Reasoning: 5, Turns: 1}
	priced := one
	priced.Money = 0.75
	for name, c := range map[string]struct {
		text string
		want usage.Usage
	}{
		"claude":             {claudeAnswer(since, "a", 1) + claudeAnswer(late, "a", 20) + costs(0.5) + costs(0.75), priced},
		"claude, two":        {claudeAnswer(late, "a", 20) + claudeAnswer(late, "b", 20), one.Add(one)},
		"claude, resumed":    {claudeAnswer(early, "a", 20) + costs(0.25) + claudeAnswer(late, "b", 20), one},
		"claude, unfinished": {claudeAnswer(late, "a", 20) + strings.TrimSuffix(claudeAnswer(late, "b", 20), "\n"), one},
		"codex":              {codexTotal(late, 100, 20) + codexTotal(late, 300, 40), usage.Usage{Cached: 150, Input: 300, Output: 40, Reasoning: 5, Turns: 2}},
		"codex, resumed":     {codexTotal(early, 100, 20) + codexTotal(late, 300, 40), usage.Usage{Cached: 100, Input: 200, Output: 20, Turns: 1}},
		"codex, lost count":  {codexTotal(early, 1000, 20) + codexTotal(late, 300, 40), usage.Usage{Cached: 150, Input: 300, Output: 40, Reasoning: 5, Turns: 1}},
		"copilot":            {copilotCall(early, "a") + copilotCall(late, "b") + copilotCall(late, "c"), usage.Usage{Cached: 80, Input: 200, Output: 40, Turns: 2}},
		"gemini":             {geminiAnswer(early, "a") + geminiAnswer(late, "b") + geminiAnswer(late, "b"), usage.Usage{Cached: 40, Input: 100, Output: 25, Reasoning: 5, Turns: 1}},
		"qwen":               {qwenAnswer(early, "a") + qwenAnswer(late, "b"), usage.Usage{Cached: 40, Input: 100, Output: 20, Reasoning: 5, Turns: 1}},
		"other words":        {"no JSON\n" + `{"type":"assistant","message":"usage"}` + "\n" + `{"type":"user","message":{"usage":{"input_tokens":7}}}` + "\n" + claudeAnswer(late, "a", 20), one},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, "config", "projects", "p", "u.jsonl")
			put(t, file, c.text)
			got, err := agent.Spent(transcribed(t, root, 1, since, file))
			if err != nil || got == nil || *got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// A program without a configuration directory of its own has its transcripts in the home of the launch.
func TestSpentOfAProgramWithoutAConfigurationDirectory(t *testing.T) {
	since := time.Date(2026, 11, 27, 18, 59, 0, 0, time.UTC)
	root := t.TempDir()
	file := filepath.Join(root, "home", ".gemini", "tmp", "p", "chats", "u.jsonl")
	put(t, file, geminiAnswer(since, "a"))
	dir := transcribed(t, root, 1, since, file)
	for home, known := range map[string]bool{filepath.Join(root, "home"): true, filepath.Join(root, "other"): false, "": false} {
		put(t, filepath.Join(root, "other", "x"), "")
		record, err := json.Marshal(agent.Launch{Version: 1, Mark: strings.Repeat("0f", 16), Argv: []string{"gemini"}, Launch: filepath.Base(dir), Home: home, PreparedAt: since})
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "launch.json"), string(record))
		if got, err := agent.Spent(dir); err != nil || (got != nil) != known {
			t.Errorf("home %q: %+v, %v", home, got, err)
		}
	}
}

// A session that is continued in a headless run tells its whole cost there: what it had cost in a terminal
// is not counted again.
func TestSpentOfASessionThatLeavesItsTerminal(t *testing.T) {
	root, since := t.TempDir(), time.Now()
	file := filepath.Join(root, "config", "u.jsonl")
	put(t, file, claudeAnswer(since, "a", 20)+costs(0.25))
	first := transcribed(t, root, 1, since, file)
	second := transcribed(t, root, 2, since.Add(time.Hour), file)
	signal.Render("claude", strings.NewReader(claudeResult("u", 0.75, 100, 20)), io.Discard, func(s signal.Signal) {
		if err := signal.Append(second, s); err != nil {
			t.Error(err)
		}
	})
	for dir, want := range map[string]float64{first: 0.25, second: 0.5} {
		if got, err := agent.Spent(dir); err != nil || got == nil || got.Money != want {
			t.Errorf("%s: %+v, %v, want %g USD", filepath.Base(dir), got, err, want)
		}
	}
}

// An agent may name any file as its transcript: only one below its configuration directory is read.
func TestOnlyATranscriptOfTheProgramIsRead(t *testing.T) {
	root, since := t.TempDir(), time.Now()
	text := claudeAnswer(since, "a", 20)
	outside, inside := filepath.Join(root, "outside.jsonl"), filepath.Join(root, "config", "inside.jsonl")
	put(t, outside, text)
	put(t, inside, text)
	link, fifo := filepath.Join(root, "config", "link.jsonl"), filepath.Join(root, "config", "fifo.jsonl")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(root, "config", "up")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		where string
		read  bool
	}{
		{inside, true}, {outside, false}, {filepath.Join(root, "config") + "/../outside.jsonl", false}, {link, false}, {filepath.Join(root, "config", "up", "outside.jsonl"), false}, {fifo, false},
		{"inside.jsonl", false}, {"", false}, {filepath.Join(root, "config"), false}, {filepath.Join(root, "config", "none.jsonl"), false},
	} {
		got, err := agent.Spent(transcribed(t, root, i+1, since, c.where))
		if err != nil || (got != nil) != c.read {
			t.Errorf("%q: %+v, %v", c.where, got, err)
		}
	}
}

// TestSpentByOpencode adds up the steps of a launch, each with its own cost, also where a later launch resumes the session.
func TestSpentByOpencode(t *testing.T) {
	const step = `{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","tokens":{"input":100,"output":20,"reasoning":5,"cache":{"write":0,"read":10}},"cost":0.25}}`
	root := t.TempDir()
	for i, n := range []int64{2, 1} {
		dir := filepath.Join(root, fmt.Sprintf("3.coder.2.%d", i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		signal.Render("opencode", strings.NewReader(strings.Repeat(step+"\n", int(n))), io.Discard, func(s signal.Signal) {
			if err := signal.Append(dir, s); err != nil {
				t.Error(err)
			}
		})
		want := usage.Usage{Cached: 10 * n, Input: 110 * n, Money: 0.25 * float64(n), Output: 25 * n, Reasoning: 5 * n, Turns: n}
		if got, err := agent.Spent(dir); err != nil || got == nil || *got != want {
			t.Errorf("launch %d: %+v, %v; want %+v", i+1, got, err, want)
		}
	}
}

// The format of a program's stream is one that is known.
func TestStreamsOfProviders(t *testing.T) {
	n := 0
	for name, p := range providers(t) {
		if p.Stream == "" {
			continue
		}
		if n++; !slices.Contains(signal.Streams(), p.Stream) {
			t.Errorf("%s has the stream %q", name, p.Stream)
		}
	}
	if n < 5 {
		t.Errorf("%d programs have a stream", n)
	}
}
