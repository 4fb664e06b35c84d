package skew_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/skew"
)

// server answers a request after a while; its clock and that of the machine are both set by the test.
type server struct {
	local, now time.Time
	takes      time.Duration // on the way there, and as long on the way back
	undated    bool
	away       bool
}

func (s *server) pass(d time.Duration) { s.local, s.now = s.local.Add(d), s.now.Add(d) }

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	s.pass(s.takes)
	h := http.Header{}
	if !s.undated {
		h.Set("Date", s.now.UTC().Format(http.TimeFormat))
	}
	s.pass(s.takes)
	if s.away {
		return nil, errors.New("reset")
	}
	return &http.Response{Header: h, Body: http.NoBody}, nil
}

func newServer(ahead time.Duration) *server {
	now := time.Date(2026, 11, 21, 10, 0, 0, int(400*time.Millisecond), time.UTC)
	return &server{local: now.Add(ahead), now: now, takes: 50 * time.Millisecond}
}

func clockOf(s *server) (clock *skew.Clock, ask func()) {
	clock = skew.New(s, func() time.Time { return s.local })
	return clock, func() {
		if resp, err := clock.RoundTrip(&http.Request{}); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// A machine whose clock is wrong, in either direction and by any time, knows the time of the server after an
// answer, to the second of its header and the time on the way.
func TestTheTimeIsThatOfTheServer(t *testing.T) {
	for _, ahead := range []time.Duration{24 * time.Hour, -24 * time.Hour, time.Minute, -time.Minute, 3 * time.Second, -3 * time.Second} {
		s := newServer(ahead)
		clock, ask := clockOf(s)
		if got := clock.Now(); !got.Equal(s.local) {
			t.Errorf("%s ahead, before an answer: %s, want the time of the machine", ahead, got)
		}
		ask()
		s.pass(7 * time.Hour)
		if off := clock.Now().Sub(s.now).Abs(); off > 1100*time.Millisecond {
			t.Errorf("%s ahead: %s off", ahead, off)
		}
	}
}

// A clock that agrees with the server is not corrected, also by an answer that was half a minute on its way.
func TestAClockThatIsRightIsKept(t *testing.T) {
	for _, takes := range []time.Duration{0, 50 * time.Millisecond, 15 * time.Second} {
		s := newServer(0)
		s.takes = takes
		clock, ask := clockOf(s)
		for range 20 {
			ask()
			s.pass(70 * time.Millisecond)
			if got := clock.Now(); !got.Equal(s.local) {
				t.Fatalf("an answer after %s: %s, want %s", 2*takes, got, s.local)
			}
		}
	}
}

// A clock that is set between two answers is corrected by the next one, as is one that was corrected
// and is right now.
func TestAClockThatIsSetIsCorrected(t *testing.T) {
	s := newServer(0)
	clock, ask := clockOf(s)
	for _, step := range []time.Duration{24 * time.Hour, -48 * time.Hour, 24 * time.Hour} {
		ask()
		s.local = s.local.Add(step)
		ask()
		if off := clock.Now().Sub(s.now).Abs(); off > 1100*time.Millisecond {
			t.Errorf("set by %s: %s off", step, off)
		}
	}
}

// No answer, and one without a date, tell nothing.
func TestAnAnswerWithoutADateTellsNothing(t *testing.T) {
	s := newServer(time.Hour)
	clock, ask := clockOf(s)
	s.undated = true
	ask()
	s.undated, s.away = false, true
	ask()
	if got := clock.Now(); !got.Equal(s.local) {
		t.Errorf("%s, want %s", got, s.local)
	}
}
