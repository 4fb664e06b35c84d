package ear

import "github.com/agentmux/agentmux/orchestrator"

// standing is what an issue is like for those who give commands.
type standing string

const (
	none   standing = "none"   // nothing was asked for, or what was is gone
	ticket standing = "ticket" // it waits for its turn
	lost   standing = "lost"   // its host is gone, and with it the session
	other  standing = "other"  // it is the pull request of a session that is not the one of the issue here
	live   standing = "live"   // running, paused, at a gate, or with an open question
	parked standing = "parked"
	failed standing = "failed" // or stopped
	done   standing = "done"
	pull   standing = "pull" // done, and the pull request is open
)

// standingOf tells what an issue is like. state is that of the session, nil without one.
func standingOf(s Subject, state *orchestrator.State) standing {
	switch {
	case s.Other:
		return other
	case s.Ticket:
		return ticket
	case state == nil && s.Lost:
		return lost
	case state == nil:
		return none
	case !state.Ended():
		return live
	case state.Parked():
		return parked
	case state.Phase == orchestrator.PhaseFailed:
		return failed
	case s.Open:
		return pull
	}
	return done
}

// deed is what a command leads to.
type deed int

const (
	refuse  deed = iota
	line         // a line for the session, which decides; one that has ended is asked before
	tell         // the status comment is brought up to date
	drop         // the ticket goes
	forsake      // the pull request gets no more rounds
	again        // the gate decides about another try
	revive       // the session continues, if it can and the issue still says the same; else as again
)

// deeds are what commands lead to, by verb and by what the issue is like. What is not in it is
// refused for the reason of whyNot.
var deeds = map[string]map[standing]deed{
	"status":  {none: tell, ticket: tell, lost: tell, live: tell, parked: tell, failed: tell, done: tell, pull: tell},
	"help":    {none: tell, ticket: tell, lost: tell, live: tell, parked: tell, failed: tell, done: tell, pull: tell},
	"stop":    {ticket: drop, lost: drop, live: line, parked: line, failed: line, done: line, pull: forsake},
	"pause":   {live: line, parked: line, failed: line, done: line, pull: line},
	"resume":  {live: line, parked: line, failed: line, done: line, pull: line},
	"retry":   {none: again, lost: again, live: line, parked: revive, failed: revive, done: again, pull: again},
	"approve": {live: line, parked: line, failed: line, done: line, pull: line},
	"changes": {live: line, parked: line, failed: line, pull: line},
	"say":     {live: line, parked: line, failed: line, done: line, pull: line},
	"answer":  {live: line, parked: line, failed: line, done: line, pull: line},
}

// whyNot says why no command but some is possible.
var whyNot = map[standing]string{
	none:   "no session works on this issue: retry begins one",
	ticket: "it waits for its turn: stop takes it out of the queue",
	lost:   "the host of its session is gone: retry begins once more, stop ends it",
	other:  "this pull request is of another session, which cannot be continued here: comment it on the issue",
	done:   "its pull request is not open: write another issue for more work",
}
