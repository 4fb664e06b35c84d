package postbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
)

// File adds messages that have ended to the log of a session. A lost tail of it costs no more than
// what is told of them.
func File(log string, ended []orchestrator.Message) error {
	if len(ended) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for i := range ended {
		line, err := json.Marshal(&ended[i])
		if err != nil {
			return fmt.Errorf("file message: %w", err)
		}
		lines.Write(append(line, '\n'))
	}
	return durable.Log(log, lines.Bytes())
}

// filed names a message of the log. After a kill between the log and the state it is there twice.
type filed struct {
	seq  int
	file string
}

// Ended returns the messages in the log of a session, in the order in which they ended, each once. A
// line that is not one is passed over, and a missing log is an empty one.
func Ended(log string) ([]orchestrator.Message, error) {
	f, err := os.OpenFile(log, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ended messages: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read ended messages: %s is not a regular file", log)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read ended messages: %w", err)
	}
	var list []orchestrator.Message
	seen := map[filed]bool{}
	for line := range bytes.Lines(data) {
		var m orchestrator.Message
		if json.Unmarshal(line, &m) != nil || m.File == "" {
			continue
		}
		if key := (filed{m.Seq, m.File}); !seen[key] {
			seen[key] = true
			list = append(list, m)
		}
	}
	return list, nil
}
