package bot_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux/bot"
)

// A panic in what serves a repository is told and counted, and ends neither the bot nor what met it.
func TestGitHub89APanicOfALoopEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		runs := 0
		panics := bot.Loop(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), func() {
			if runs++; runs < 3 {
				panic("a fault")
			}
		})
		if runs != 3 || panics != 2 || !strings.Contains(log.String(), "a fault") || !strings.Contains(log.String(), "loop_test.go") {
			t.Errorf("%d runs, %d panics\n%s", runs, panics, log.String())
		}
	})
}
