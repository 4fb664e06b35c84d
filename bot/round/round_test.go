package round_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/bot/round"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// forbidden does not pass, whatever the wait.
var forbidden = &transport.Terminal{Status: 403, Message: "Resource not accessible"}

// set has numbers that were looked at, each of which was refused.
func set(t *testing.T, refused ...int) *due.Set {
	t.Helper()
	var s *due.Set
	s = due.New(func(_ context.Context, number int) time.Duration { return s.Failed(number, forbidden, transport.Later) })
	for _, n := range refused {
		s.Add(n, time.Time{})
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go s.Run(ctx, time.Now)
	for end := time.Now().Add(10 * time.Second); len(s.Refused()) < len(refused); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not looked at")
		}
	}
	return s
}

// A run is over when all was done but what only a person can change, which it names.
func TestARunIsOverWhenNothingElseCanBeDone(t *testing.T) {
	waits := due.New(nil)
	waits.Add(3, time.Now().Add(time.Hour))
	later := &transport.RetryAfter{Wait: time.Minute}
	for name, tc := range map[string]struct {
		parts []round.Part
		busy  bool
		want  string // in the error; "": it is not over
	}{
		"all served":               {parts: []round.Part{{Read: true, Idle: true, Sets: []round.Set{set(t)}}}, want: round.ErrServed.Error()},
		"something is at work":     {parts: []round.Part{{Read: true, Idle: true}}, busy: true},
		"a command is judged":      {parts: []round.Part{{Read: true}}},
		"not read yet":             {parts: []round.Part{{Idle: true}}},
		"read later":               {parts: []round.Part{{Idle: true, Err: later}}},
		"an issue is judged later": {parts: []round.Part{{Idle: true, Read: true, Sets: []round.Set{waits}}}},
		"lists are refused": {parts: []round.Part{{Repo: "acme/widgets", Idle: true, Err: forbidden}, {Read: true, Idle: true}},
			want: "acme/widgets is not served: " + forbidden.Error()},
		"issues are refused": {parts: []round.Part{{Repo: "acme/widgets", Read: true, Idle: true, Sets: []round.Set{set(t, 7, 5)}}},
			want: "acme/widgets#5 is not served: " + forbidden.Error() + "\nacme/widgets#7 is"},
		"one of two is refused": {parts: []round.Part{{Idle: true, Err: forbidden}, {Read: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			looks := 0
			err := round.Wait(ctx, func() ([]round.Part, bool) {
				if looks++; looks == 2 {
					stop()
				}
				return tc.parts, tc.busy
			})
			if tc.want == "" && !errors.Is(err, context.Canceled) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// What was refused and is added again counts as not looked at.
func TestARefusedIssueThatIsMetAgainIsLookedAt(t *testing.T) {
	s := set(t, 7)
	if !s.Idle() {
		t.Error("the refused one keeps it busy")
	}
	s.Add(7, time.Time{})
	if s.Idle() || len(s.Refused()) != 0 {
		t.Errorf("idle %v, refused %v", s.Idle(), s.Refused())
	}
}
