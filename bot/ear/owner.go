package ear

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

// Owner is who has the sessions and tickets of the repository. What it is asked to do may be asked
// again after a kill, and is then as once.
type Owner interface {
	// Find returns what an issue has, or a pull request (pull), by its number.
	Find(ctx context.Context, number int, pull bool) (Subject, error)
	// Wake says that a session has a new line or a note. It runs the session if nothing does: a host
	// that reads a note shows it. It does not wait for the run.
	Wake(ctx context.Context, s Subject) error
	// Drop takes a ticket out of the queue, or ends what a host left that is gone. At is when by said so, by the server.
	Drop(ctx context.Context, s Subject, by ghsync.Account, at time.Time) error
	// EndFollowUps has reviews and checks of the session's pull request lead to no more rounds.
	EndFollowUps(ctx context.Context, s Subject, by ghsync.Account) error
	// Retry passes a request for another try to the gate and returns what that decided. A request
	// that was accepted is carried out. It is known by its trigger.
	Retry(ctx context.Context, s Subject, r Retry) (gate.Decision, error)
	// Held lists what the open gate of the session shows that takes maintain permission to approve.
	Held(ctx context.Context, s Subject) ([]string, error)
	// Guard is asked before each receipt on an issue. It allows them while this host holds the claim
	// of the issue, or no host does; an error holds them back.
	Guard(ctx context.Context, issue int) error
}

// Subject is what an issue has. The zero value: a pull request that is not of a session.
type Subject struct {
	Issue  int
	Holder string // another host that works on the issue; its ear hears the commands
	Ticket bool   // a request waits for its turn
	Saved  bool   // it continues a session, which hears what is said once it is here
	Left   bool   // a host that is gone left the issue, and this one may take it
	Lost   bool   // and its session is of no directory here
	Retry  bool   // a command asks for another try: of Options.Recall, which brings only a session that has something left to try
	Dir    string // of the newest session on this machine; empty: there is none
	// Agent is who works for the issue, in a session of an agents file, whose other agents work for others: what is
	// said here is for that agent alone. Empty = the whole session does.
	Agent string
	// Of is the session that a pull request is of, by its name on the server, if this machine does not know the pull
	// request. Other: the one in Dir is another one.
	Of    string
	Other bool
	Pull  int  // the pull request of the session; 0: none yet
	Open  bool // it is open
	// Since is when the session or the ticket was asked for, by the server. What was said before is
	// not for it. Zero: not known.
	Since time.Time
}

// Retry is a command that asks for another try where no session runs.
type Retry struct {
	Trigger gate.Trigger
	By      ghsync.Account
	At      time.Time // by the server
}
