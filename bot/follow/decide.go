package follow

import (
	"fmt"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// What follows from the objections to a pull request.
type What string

const (
	Nothing What = "nothing" // until something changes
	Wait    What = "wait"    // look again at a time, or when the session ends
	Round   What = "round"   // the session is asked for changes
	Tell    What = "tell"    // a person is told, once, that no round follows
)

// Decision is what follows from the objections to a pull request, and why.
type Decision struct {
	What       What
	Until      time.Time // of Wait; zero: until something changes
	Objections []Objection
	Reason     string
}

const (
	// between is the least time between two rounds of a session.
	between = time.Hour
	// unknownPause is the time until a permission that was not answered is asked for again.
	unknownPause = time.Minute
	// lagTime is how long the server may show the head before a push of ours. After it another head is
	// a person's.
	lagTime = 2 * time.Minute
	day     = 24 * time.Hour
)

// Decide says what follows from the facts. It is pure.
func Decide(f Facts) Decision {
	if f.Rules.Rounds <= 0 || f.Rules.Days <= 0 {
		return Decision{What: Nothing, Reason: "follow-ups are off"}
	}
	if f.Past.Stopped {
		return Decision{What: Nothing, Reason: "a person stopped the follow-ups"}
	}
	if !f.Head.Open {
		return Decision{What: Nothing, Reason: "the pull request is not open"}
	}
	if lag := f.PushedAt.Add(lagTime); f.Pushed != "" && f.Head.SHA != f.Pushed && f.Now.Before(lag) {
		return Decision{What: Wait, Until: lag, Reason: "the last push may not be shown yet"}
	}
	all, unknown := f.admitted(f.Objections())
	if unknown != "" {
		return Decision{What: Wait, Until: f.Now.Add(unknownPause), Reason: unknown}
	}
	if len(all) == 0 {
		return Decision{What: Nothing, Reason: "no objection"}
	}
	if reason := notNow(f.State, all); reason != "" {
		return Decision{What: Wait, Objections: all, Reason: reason}
	}
	if reason := f.over(); reason != "" {
		if f.Past.Told {
			return Decision{What: Nothing, Reason: reason}
		}
		return Decision{What: Tell, Objections: all, Reason: reason}
	}
	if due, reason := f.due(all); f.Now.Before(due) {
		return Decision{What: Wait, Until: due, Objections: all, Reason: reason}
	}
	return Decision{What: Round, Objections: all}
}

// notNow says why the session takes no change request now; empty if it does. One that waits for a
// person's decision is left alone by checks alone.
func notNow(s *orchestrator.State, all []Objection) string {
	switch {
	case !s.Ended():
		return "the session is at work"
	case s.Phase == orchestrator.PhaseDone:
		return ""
	case s.Parked() && len(Authors(all)) > 0:
		return ""
	case s.Parked():
		return "the session waits for a person"
	}
	return "the session has failed or was stopped"
}

// over says which bound is reached; empty if none is.
func (f Facts) over() string {
	switch {
	case f.Past.Rounds >= f.Rules.Rounds:
		return fmt.Sprintf("%d follow-up rounds are done, as many as followup.rounds allows", f.Past.Rounds)
	case !f.Head.OpenedAt.IsZero() && f.Now.Sub(f.Head.OpenedAt) >= time.Duration(f.Rules.Days)*day:
		return fmt.Sprintf("the pull request is open for more than %d days, the time of followup.days", f.Rules.Days)
	}
	return ""
}

// due is when the round may begin: the newest objection has had its quiet time, and the round before
// is an hour ago.
func (f Facts) due(all []Objection) (at time.Time, reason string) {
	at, reason = all[len(all)-1].At.Add(f.Rules.Quiet), "more may be said"
	if f.Past.Last.IsZero() {
		return at, reason
	}
	if next := f.Past.Last.Add(between); next.After(at) {
		return next, "the round before began less than an hour ago"
	}
	return at, reason
}
