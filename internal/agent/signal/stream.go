package signal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// maxStreamLine is the longest line of a stream that is parsed. Of a longer one only the
// length is shown.
const maxStreamLine = 8 << 20

// streamEvent is one line of claude's stream-json output, as far as it is used.
type streamEvent struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Model   string `json:"model"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	IsError bool    `json:"is_error"`
	Result  string  `json:"result"`
	Cost    float64 `json:"total_cost_usd"`
	Turns   int64   `json:"num_turns"`
	Usage   *struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
		Details    struct {
			Reasoning int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// block is one part of a message.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// Render shows the stream of a headless program for people and emits a signal for the end of
// the run. It reads to the end of r in any case, so that the program never blocks on it.
func Render(r io.Reader, w io.Writer, emit func(Signal)) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, size, err := readLine(in)
		switch {
		case size > maxStreamLine:
			fmt.Fprintf(w, "[a line of %d bytes]\r\n", size)
		case len(line) > 0:
			renderLine(line, w, emit)
		}
		if err != nil {
			return
		}
	}
}

// readLine reads to the next line break and keeps at most maxStreamLine bytes.
func readLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if len(line) < maxStreamLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}

func renderLine(line []byte, w io.Writer, emit func(Signal)) {
	var e streamEvent
	if json.Unmarshal(line, &e) != nil || e.Type == "" {
		show(w, "", string(line))
		return
	}
	switch e.Type {
	case "system":
		if e.Subtype == "init" {
			show(w, "* ", "session "+e.Session+" "+e.Model)
		}
	case "assistant", "user":
		for _, b := range blocks(e.Message.Content) {
			b.show(w)
		}
	case "result":
		show(w, "* ", fmt.Sprintf("%s after %d turns, $%.4f", e.Subtype, e.Turns, e.Cost))
		if e.IsError {
			show(w, "! ", e.Result)
		}
		emit(e.signal())
	}
}

// signal returns the signal for the end of the run.
func (e streamEvent) signal() Signal {
	s := Signal{At: time.Now().UTC(), Event: "result/" + e.Subtype, Kind: KindResult, Session: e.Session}
	if u := e.Usage; u != nil {
		s.Usage = &Usage{
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			Reasoning: u.Details.Reasoning, USD: e.Cost, Turns: e.Turns,
		}
	}
	if e.IsError {
		s.Text = cmp.Or(e.Result, e.Subtype)
		if strings.Contains(e.Result, "429") || strings.Contains(e.Result, "529") || strings.Contains(strings.ToLower(e.Result), "limit reached") {
			s.Kind = KindRateLimit
		}
	}
	return s
}

// blocks parses the content of a message, which may also be plain text.
func blocks(content json.RawMessage) []block {
	var list []block
	if json.Unmarshal(content, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	return nil
}

func (b block) show(w io.Writer) {
	switch b.Type {
	case "text":
		show(w, "", b.Text)
	case "tool_use":
		show(w, "> ", b.Name+" "+shorten(string(b.Input), 160))
	case "tool_result":
		mark := "< "
		if b.IsError {
			mark = "! "
		}
		for _, part := range blocks(b.Content) {
			show(w, mark, shorten(part.Text, 400))
		}
	}
}

// show prints text line by line, each behind mark, without control characters: what a model
// writes must not control the terminal of the person who watches.
func show(w io.Writer, mark, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		clean := strings.Map(func(r rune) rune {
			switch {
			case r == '\t':
				return ' '
			case r < 0x20 || r >= 0x7f && r < 0xa0:
				return -1
			}
			return r
		}, line)
		fmt.Fprint(w, mark, clean, "\r\n")
	}
}

func shorten(text string, limit int) string {
	r := []rune(text)
	if len(r) <= limit {
		return text
	}
	return string(r[:limit]) + " …"
}
