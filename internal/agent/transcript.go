package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/usage"
)

const (
	// maxTranscripts is of how many sessions of a program a launch's transcripts are read.
	maxTranscripts = 20
	// maxTranscript is how many bytes are read of all of them.
	maxTranscript = 256 << 20
	// maxTranscriptLine is the longest line that is parsed; those with figures are short but for
	// the answer of a model beside them.
	maxTranscriptLine = 8 << 20
)

// transcriptLine is a line of a transcript, as far as it tells of usage (seen with claude 2.1.330,
// codex 0.169.0, copilot 1.0.102, gemini 0.61.0 and qwen 0.15.10).
type transcriptLine struct {
	Type string    `json:"type"`
	At   time.Time `json:"timestamp"`

	// claude: an answer of the model, on as many lines as it has parts
	Message struct {
		ID    string `json:"id"`
		Usage *struct {
			Input      int64 `json:"input_tokens"`
			Output     int64 `json:"output_tokens"`
			CacheRead  int64 `json:"cache_read_input_tokens"`
			CacheWrite int64 `json:"cache_creation_input_tokens"`
			Details    struct {
				Reasoning int64 `json:"thinking_tokens"`
			} `json:"output_tokens_details"`
		} `json:"usage"`
	} `json:"message"`

	// claude: what the session has cost so far
	Session string  `json:"sessionId"`
	Cost    float64 `json:"totalCostUSD"`

	// codex: what the session has used so far; Cached is part of Input, Reasoning of Output
	Payload struct {
		Type string `json:"type"`
		Info *struct {
			Total struct {
				Input     int64 `json:"input_tokens"`
				Cached    int64 `json:"cached_input_tokens"`
				Output    int64 `json:"output_tokens"`
				Reasoning int64 `json:"reasoning_output_tokens"`
			} `json:"total_token_usage"`
		} `json:"info"`
	} `json:"payload"`

	// copilot: what a call of the model used; Cached is part of Input
	Data struct {
		Usage *struct {
			Input  int64 `json:"inputTokens"`
			Output int64 `json:"outputTokens"`
			Cached int64 `json:"cacheReadTokens"`
		} `json:"usage"`
	} `json:"data"`

	// gemini: an answer of the model, written once more with the tools that it uses; Cached is
	// part of Input, Thoughts is beside Output
	ID     string `json:"id"`
	Tokens *struct {
		Input    int64 `json:"input"`
		Output   int64 `json:"output"`
		Cached   int64 `json:"cached"`
		Thoughts int64 `json:"thoughts"`
	} `json:"tokens"`

	// qwen: an answer of the model; Cached is part of Input, Thoughts of Output
	UUID     string `json:"uuid"`
	Metadata *struct {
		Input    int64 `json:"promptTokenCount"`
		Output   int64 `json:"candidatesTokenCount"`
		Cached   int64 `json:"cachedContentTokenCount"`
		Thoughts int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

// answer returns the id of an answer of the model and what it used.
func (l transcriptLine) answer() (id string, used usage.Usage, ok bool) {
	switch u, d, t, m := l.Message.Usage, l.Data.Usage, l.Tokens, l.Metadata; {
	case l.Type == "assistant" && u != nil:
		return l.Message.ID, usage.Usage{
			Cached: u.CacheRead, Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, Reasoning: u.Details.Reasoning, Turns: 1,
		}, true
	case l.Type == "session.usage_record" && d != nil:
		return l.ID, usage.Usage{Cached: d.Cached, Input: d.Input, Output: d.Output, Turns: 1}, true
	case l.Type == "gemini" && t != nil:
		return l.ID, usage.Usage{Cached: t.Cached, Input: t.Input, Output: t.Output + t.Thoughts, Reasoning: t.Thoughts, Turns: 1}, true
	case l.Type == "assistant" && m != nil:
		return l.UUID, usage.Usage{Cached: m.Cached, Input: m.Input, Output: m.Output, Reasoning: m.Thoughts, Turns: 1}, true
	}
	return "", usage.Usage{}, false
}

// countIn counts an answer of the model of this launch, by its id, and reports whether the line is one.
func (l transcriptLine) countIn(answers map[string]usage.Usage, now bool) bool {
	id, used, ok := l.answer()
	if ok && now {
		answers[id] = used.Sane()
	}
	return ok
}

// figures are what is on each line that tells of usage.
var figures = [][]byte{[]byte(`"usage"`), []byte(`"cost-state"`), []byte(`"token_count"`), []byte(`"task_complete"`), []byte(`"tokens"`), []byte(`"usageMetadata"`)}

// readTranscripts takes in what the transcripts of a launch tell. They are looked for below its
// configuration directory, or its home, alone: an agent may name any file. What cannot be read
// tells nothing.
func (t *told) readTranscripts(dir string) {
	l, err := ReadLaunch(dir)
	below := cmp.Or(l.ConfigDir, l.Home)
	if err != nil || below == "" || len(t.transcripts) == 0 {
		return
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return
	}
	defer root.Close()
	left := int64(maxTranscript)
	for _, path := range t.transcripts {
		name, err := filepath.Rel(below, path)
		if err != nil || !filepath.IsLocal(name) {
			continue
		}
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			part := &io.LimitedReader{R: f, N: left}
			t.readTranscript(part, l.PreparedAt)
			left = part.N
		}
		f.Close()
	}
}

// readTranscript takes in the lines of a transcript since a moment. Earlier ones are of other
// launches, whose session this one continues.
func (t *told) readTranscript(r io.Reader, since time.Time) {
	answers := map[string]usage.Usage{} // by the id of the answer; its last line has the whole
	var before, total *usage.Usage      // running totals
	turns := int64(0)                   // that they are of
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := transcriptNext(in)
		var l transcriptLine
		if line == nil || json.Unmarshal(line, &l) != nil {
			l = transcriptLine{}
		}
		now := !l.At.Before(since)
		switch info := l.Payload.Info; {
		case l.countIn(answers, now):
		case l.Type == "cost-state" && len(answers) > 0: // it has no time
			t.total(l.Session, l.Cost)
		case l.Payload.Type == "task_complete" && now:
			turns++
		case l.Payload.Type == "token_count" && info != nil:
			sum := &usage.Usage{Cached: info.Total.Cached, Input: info.Total.Input, Output: info.Total.Output, Reasoning: info.Total.Reasoning}
			if total = sum; !now {
				before = sum
			}
		}
		if err != nil {
			break
		}
	}
	for _, answer := range answers {
		t.turn(answer)
	}
	if total != before {
		used := total.Less(before)
		used.Turns = turns
		t.turn(used)
	}
}

// transcriptNext returns the next line if it tells of usage, else nil. The line that a program
// has not finished is left out.
func transcriptNext(in *bufio.Reader) (line []byte, err error) {
	for {
		var part []byte
		part, err = in.ReadSlice('\n')
		if len(line) <= maxTranscriptLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if err != nil || len(line) > maxTranscriptLine {
		return nil, err
	}
	for _, figure := range figures {
		if bytes.Contains(line, figure) {
			return line, nil
		}
	}
	return nil, nil
}
