package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// Row is the number of a rule. Tests and metrics name it.
type Row int

const (
	RowSettling    Row = iota // labels that are set together have not all come yet
	RowScope                  // not a repository of this bot, or a read-only one
	RowGone                   // not there any more
	RowAbsent                 // a pull request, closed, or without the request label
	RowFork                   // a fork that the configuration does not name
	RowClaimed                // a host works on it
	RowDecided                // decided before
	RowUnread                 // GitHub did not answer
	RowUnknown                // the history does not say who set the label
	RowDeleted                // the account that asked is deleted
	RowNoPerson               // a bot asked
	RowOwn                    // the program's own account asked
	RowPermission             // who asked may not
	RowWorkflow               // no one workflow that there is
	RowEdited                 // the text changed after it was asked for
	RowUnsandboxed            // a public repository, and agents without a sandbox
	RowIssueDay               // too many starts of this issue
	RowBusy                   // too much at once
	RowStart                  // nothing is against it
	RowBase                   // the base commit has bad settings
	RowMachine                // this machine cannot
)

// rowNames are what metrics and logs call the rows.
var rowNames = [...]string{
	RowSettling: "settling", RowScope: "scope", RowGone: "gone", RowAbsent: "absent", RowFork: "fork", RowClaimed: "claimed", RowDecided: "decided",
	RowUnread: "unread", RowUnknown: "unknown", RowDeleted: "deleted", RowNoPerson: "no_person", RowOwn: "own", RowPermission: "permission",
	RowWorkflow: "workflow", RowEdited: "edited", RowUnsandboxed: "unsandboxed", RowIssueDay: "issue_day", RowBusy: "busy", RowStart: "start",
	RowBase: "base", RowMachine: "machine",
}

func (r Row) String() string {
	if r < 0 || int(r) >= len(rowNames) {
		return fmt.Sprintf("row %d", int(r))
	}
	return rowNames[r]
}

// What is to be done with a request. The zero What starts nothing.
type What string

const (
	Ignore         What = ""                // nothing
	Later          What = "later"           // judge again after a while
	Refuse         What = "refuse"          // take the request label off, and say why in a comment
	RefuseSilently What = "refuse_silently" // take the request label off
	Queue          What = "queue"           // claim, and wait
	Start          What = "start"           // claim, and start
)

// Decision is what the gate says about a request.
type Decision struct {
	Row  Row
	What What
	// Reason is what was found, and Remedy what a person can do next: parts of a sentence
	// without a capital and without a full stop. They hold text of others, so a comment
	// neutralizes them.
	Reason, Remedy string
	// Details are lines below the reason: the problems of a configuration.
	Details []string
	// After is how long to wait before the next try of Later, or of RowMachine.
	After time.Duration
	// Err is what GitHub answered where Later waits for it.
	Err error
	// Asked is what was judged.
	Asked Asked
	// Warnings are for the person at the terminal.
	Warnings []string
	served   bool // by the host that has the issue, which takes the label off
}

// String is what was found and what to do next, for logs and terminals.
func (d Decision) String() string {
	if d.Remedy == "" {
		return d.Reason
	}
	return d.Reason + "; " + d.Remedy
}

// Full is what was found with its details, as a part of a sentence.
func (d Decision) Full() string {
	if len(d.Details) == 0 {
		return d.Reason
	}
	return d.Reason + ": " + strings.Join(d.Details, "; ")
}

// Refused reports whether the request ends here.
func (d Decision) Refused() bool { return d.What == Refuse || d.What == RefuseSilently }

// Accepted reports whether the request is to be claimed.
func (d Decision) Accepted() bool { return d.What == Queue || d.What == Start }

// DropsLabel reports whether a request label that is on the issue has to go: the request is
// refused, or a host works on another one already. An accepted one goes with the state label: were
// it taken off before that is on, an issue whose host is killed in between would have neither.
func (d Decision) DropsLabel() bool {
	return d.Refused() || d.Row == RowClaimed && d.What == Ignore && !d.served
}

// Asked is a request as the gate understood it.
type Asked struct {
	Trigger Trigger
	// With are the triggers of other request labels that were set together with Trigger. They
	// are decided with it.
	With []Trigger
	// Workflow is the one that was asked for; "" for the configured one.
	Workflow string
	// By is who asked. Its level is known from RowPermission on.
	By ghsync.Permission
	// CutOff is when it was asked for: a snapshot takes nothing that was written later.
	CutOff time.Time
}

// Need is what a decision depends on and what costs a request. The zero Need is nothing.
type Need struct {
	Permission string // of this login
	OpenPulls  bool   // how many open pull requests of the program there are
}

func ignore(format string, args ...any) Decision {
	return Decision{What: Ignore, Reason: fmt.Sprintf(format, args...)}
}

func later(after time.Duration, format string, args ...any) Decision {
	return Decision{What: Later, After: after, Reason: fmt.Sprintf(format, args...)}
}

func refuse(remedy, format string, args ...any) Decision {
	return Decision{What: Refuse, Remedy: remedy, Reason: fmt.Sprintf(format, args...)}
}

func silently(format string, args ...any) Decision {
	return Decision{What: RefuseSilently, Reason: fmt.Sprintf(format, args...)}
}

func queue(remedy, format string, args ...any) Decision {
	return Decision{What: Queue, Remedy: remedy, Reason: fmt.Sprintf(format, args...)}
}

// Checkpoint judges a ticket of a session that another host had. refused says why its checkpoint is not continued from;
// empty: it is. The label of a bot and a command at a terminal start over alike.
func Checkpoint(refused string, issue int) Decision {
	if refused == "" {
		return Decision{What: Start}
	}
	return Decision{What: Refuse, Row: RowStart, Reason: refused, Remedy: fmt.Sprintf("set the label again to start over, or agentmux issue %d --new in a clone", issue)}
}
