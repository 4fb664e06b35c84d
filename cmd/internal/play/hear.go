package play

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// hearPause is between two looks for messages.
const hearPause = 200 * time.Millisecond

// listed is the file name of a message in the answer of msg_list.
var listed = regexp.MustCompile(`(?m)^- (\S+\.md): `)

// hear waits for a message that holds the text. It reads those that come before it, too.
func (p *player) hear(ctx context.Context, text string) error {
	tick := time.NewTicker(hearPause)
	defer tick.Stop()
	for {
		list, refused, err := p.callMCP(ctx, "msg_list", map[string]any{"unread": true})
		switch {
		case err != nil:
			return fmt.Errorf("list messages: %w", err)
		case refused:
			return fmt.Errorf("list messages: %s", list)
		}
		for _, file := range listed.FindAllStringSubmatch(list, -1) {
			message, refused, err := p.callMCP(ctx, "msg_read", map[string]any{"file": file[1]})
			switch {
			case err != nil:
				return fmt.Errorf("read %s: %w", file[1], err)
			case refused:
				return fmt.Errorf("read %s: %s", file[1], message)
			}
			fmt.Fprintln(p.options.Out, message)
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
