package exit_test

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// TestSignals sends what timeout(1) sends, and later what a person types who does not want to wait.
func TestSignals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals, returned := make(chan os.Signal), false
		var canceled []os.Signal
		go func() {
			exit.Signals(signals, func(s os.Signal) { canceled = append(canceled, s) })
			returned = true
		}()
		for _, after := range []time.Duration{0, 0, time.Second} {
			time.Sleep(after)
			signals <- syscall.SIGTERM
			synctest.Wait()
			if returned || len(canceled) != 1 {
				t.Fatalf("after %s: returned %v, canceled by %v", after, returned, canceled)
			}
		}
		time.Sleep(time.Millisecond)
		signals <- os.Interrupt
		synctest.Wait()
		if !returned || len(canceled) != 1 {
			t.Errorf("returned %v, canceled by %v", returned, canceled)
		}
	})
}
