package play

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// hearPause is between two looks for messages.
const hearPause = 200 * time.Millisecond

// listed is the file name of a message in the answer of msg_list.
var listed = regexp.MustCompile(`(?m)^- (\S+\.md): `)

// early is in the answer about a message whose file the host is writing: it is listed before it can be read.
const early = "the host is writing it"

// caller calls a tool of the session.
type caller func(ctx context.Context, tool string, params map[string]any) (answer string, refused bool, err error)

// hear waits for a message that holds the text. It reads those that come before it, too, and writes them to out.
func hear(ctx context.Context, call caller, out io.Writer, text string) error {
	tick := time.NewTicker(hearPause)
	defer tick.Stop()
	for {
		list, refused, err := call(ctx, "msg_list", map[string]any{"unread": true})
		switch {
		case err != nil:
			return fmt.Errorf("list messages: %w", err)
		case refused:
			return fmt.Errorf("list messages: %s", list)
		}
		for _, file := range listed.FindAllStringSubmatch(list, -1) {
			message, refused, err := call(ctx, "msg_read", map[string]any{"file": file[1]})
			if refused && strings.Contains(message, early) {
				break // those behind it wait, too
			}
			switch {
			case err != nil:
				return fmt.Errorf("read %s: %w", file[1], err)
			case refused:
				return fmt.Errorf("read %s: %s", file[1], message)
			}
			fmt.Fprintln(out, message)
			if strings.Contains(message, text) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
