package signal

import (
	"cmp"
	"time"
)

// State is what a program is doing.
type State string

// The states.
const (
	Starting          State = "starting"
	Ready             State = "ready"
	Working           State = "working"
	WaitingPermission State = "waiting-permission"
	WaitingAnswer     State = "waiting-answer"
	Idle              State = "idle"
	RateLimited       State = "rate-limited"
	Exited            State = "exited"
)

// Status is what the signals of one launch add up to. The zero value belongs to a launch
// without signals.
type Status struct {
	State      State // "" and Starting are the same
	Since      time.Time
	Session    string // the program's own id of its session
	Transcript string
	TurnEnds   int         // turns that ended and were not continued
	Ended      []time.Time // when each of them did
	Prompts    int         // lines the program took
	Prompt     string      // the beginning of the last one
	Lines      []Line      // all of them
	Failure    string      // why the last turn failed; "" when it did not
	Answered   time.Time   // when the service of its model was last seen to answer
	Messages   []string
}

// Line is the beginning of a line that the program took, and in which of its turns, from 1.
type Line struct {
	Turn int
	Text string
}

// Apply returns the status after one more signal.
func (t Status) Apply(s Signal) Status {
	if s.Session != "" {
		t.Session = s.Session
	}
	if s.Transcript != "" {
		t.Transcript = s.Transcript
	}
	if s.Message != "" {
		t.Messages = append(t.Messages[:len(t.Messages):len(t.Messages)], s.Message)
	}
	if answers(s) {
		t.Answered = s.At
	}
	state := t.State
	switch s.Kind {
	case KindReady:
		state = Ready
	case KindPrompt:
		state, t.Prompt, t.Failure = Working, s.Text, ""
		t.Prompts++
		t.Lines = append(t.Lines[:len(t.Lines):len(t.Lines)], Line{t.TurnEnds + 1, s.Text})
	case KindWorking:
		state, t.Failure = Working, ""
	case KindPermission:
		state = WaitingPermission
	case KindQuestion:
		state = WaitingAnswer
	case KindIdle:
		state = idleAfter(state)
	case KindTurnEnd, KindTurnFailed, KindRateLimit:
		state = t.turnEnded(s)
	case KindResult:
		t.Failure = s.Text
	case KindEnd:
		state = Exited
	}
	if state != t.State {
		t.State, t.Since = state, s.At
	}
	return t
}

// answers reports whether a signal follows an answer of the model's service.
func answers(s Signal) bool {
	return s.Kind == KindWorking || s.Kind == KindTurnEnd || s.Kind == KindResult && s.Text == ""
}

// idleAfter keeps a state that says more than that the program waits.
func idleAfter(state State) State {
	if state == RateLimited || state == WaitingPermission || state == WaitingAnswer || state == Exited {
		return state
	}
	return Idle
}

func (t *Status) turnEnded(s Signal) State {
	t.Failure = ""
	switch {
	case s.Continued:
		return Working
	case s.Kind == KindRateLimit:
		t.Failure = cmp.Or(s.Text, "rate limit")
		return RateLimited
	case s.Kind == KindTurnFailed:
		t.Failure = cmp.Or(s.Text, "failed")
	}
	t.TurnEnds++
	t.Ended = append(t.Ended[:len(t.Ended):len(t.Ended)], s.At)
	return Idle
}
