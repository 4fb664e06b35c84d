package due_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/due"
)

// What waits for its time is looked at at once when it is hurried; what does not wait is not looked at.
func TestHurry(t *testing.T) {
	looked := make(chan int)
	s := due.New(func(_ context.Context, number int) time.Duration {
		looked <- number
		return 0
	})
	s.Add(7, time.Now().Add(time.Hour))
	s.Hurry(7)
	s.Hurry(8)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.Run(ctx, time.Now)
		close(ended)
	}()
	if n := <-looked; n != 7 {
		t.Errorf("%d is looked at", n)
	}
	stop()
	<-ended
	if !s.Idle() {
		t.Error("something is due")
	}
}
