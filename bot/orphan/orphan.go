// Package orphan finds the requests that wait in the queue of another host and that this host may take
// over without a person: those of a host that is gone, and those that have waited for a minute while
// this host could begin at once. The other host took the request label off when it claimed the issue,
// so no list of issues shows such a request any more: the claim alone tells of it.
//
// A Lookout reads the claims of a repository. It answers which host has an issue, and names the issues
// that may be taken when it is begun with and then every few minutes. It takes a claim when its caller
// says so, after the gate has judged the request once more, by compare-and-swap. It stores nothing.
//
// A session that has begun is continued from its checkpoint on the server. Where it has none, what its agents
// did is on the machine of its host, and a bot leaves it alone. A job takes it all the same from a job whose run is
// over, and from a host that let it go, because the sweep starts a job for nothing else: another session
// begins, and the comment of the former one says so.
//
// So is a claim of this host read whose files are not on its machine any more: a request is judged once
// more, and of a session that had begun the issue is told that it ends. The claim is held meanwhile: no list
// of issues shows such a request, so a process that is killed finds it by its claim again. The claim of a session that
// cannot be read, because a newer agentmux made it or its files are damaged, is kept for it until it can, or is gone.
package orphan

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Request is one that waits in the queue of another host, or whose session that host has left.
type Request struct {
	Seen    claim.Seen
	Trigger gate.Trigger
	// Live says that its host is not gone. The request is taken only by a host on which it begins at
	// once: two hosts that both let it wait would take it from each other in turn.
	Live bool
	// Begun says that there was a session, whose files are on the machine of its host.
	Begun bool
	// Mislaid says that it is one of this host, which lost the files of it.
	Mislaid bool
	// Saved, with Begun: it can be continued from its checkpoint on the server.
	Saved bool
	// Said is what a person said to the session, for which its host had claimed the issue.
	Said Said
	// Name and Identity are those of the session that it became or was to become.
	Name, Identity string
}

// Said is what became of a comment or a review for which a host had claimed the issue of a session that it then left. See
// recall.Reviews.Left.
type Said struct {
	Ask     *gate.Ask            // who said it; nil: it is not there any more, or was not looked for
	Comment *ghsync.IssueComment // nil: it was a review, or is not there any more
	Pull    int                  // the pull request of the session; 0: none
	Unheard bool                 // the session rests, and did not get it
}

// Of reads the request of a claim that may be taken from its host by a bot. ok is false for a session
// that has begun, and for what no label asked for.
func Of(seen claim.Seen, why claim.Stale) (q Request, ok bool) {
	if seen.Claim.State != claim.Queued || why != claim.Silent && why != claim.RunEnded && why != claim.Waiting {
		return q, false
	}
	q, ok = of(seen, why)
	return q, ok && q.Trigger.Kind == gate.Label
}

// ForJob is Of for a job, and for the sweep that starts it. A job takes what a bot takes, and all that
// a job has left whose run is over, or that its host let go of.
func ForJob(seen claim.Seen, why claim.Stale) (q Request, ok bool) {
	if why != claim.RunEnded && why != claim.LetGo {
		return Of(seen, why)
	}
	return of(seen, why)
}

// Mislaid is Of for a claim of this host, whose ticket or session is not on this machine any more.
func Mislaid(seen claim.Seen) (q Request, ok bool) {
	q, ok = of(seen, claim.LetGo)
	q.Mislaid = true
	return q, ok
}

func of(seen claim.Seen, why claim.Stale) (q Request, ok bool) {
	c := seen.Claim
	trigger, err := gate.ParseTrigger(c.Trigger)
	if err != nil {
		return q, false
	}
	name, identity := c.Session, ""
	if i := strings.LastIndexByte(c.Session, '-'); i >= 0 {
		name, identity = c.Session[:i], c.Session[i+1:]
	}
	if !session.ValidName(name) || !session.ValidIdentity(identity) || orchestrator.PublicID(name, identity) != c.Session {
		return q, false
	}
	return Request{Seen: seen, Trigger: trigger, Live: why == claim.Waiting, Begun: c.State != claim.Queued, Name: name, Identity: identity}, true
}

// Judged returns the facts by which the request is judged once more: with the labels that it was made
// by or the comment that asked for it, and without the decision to queue it, which this host may have
// made before another one took it.
func (q Request) Judged(f gate.Facts, j *journal.Journal) gate.Facts {
	f.Ask = q.Said.Ask
	for _, c := range f.Record.Comments {
		if q.Trigger == gate.CommentTrigger(c.ID) {
			f.Ask = &gate.Ask{Trigger: q.Trigger, By: c.Author, At: c.CreatedAt}
		}
	}
	f.Record, f.History = f.Record.AsRequested(f.Rules.Bot.Label, q.Trigger.At), history{j, q}
	return f
}

// Follows reports whether anything follows from the decision about a request here. What a live host
// has in its queue is refused or begun by that host, unless it begins here at once. q may be nil.
func (q *Request) Follows(d gate.Decision) bool { return q == nil || !q.Live || d.What == gate.Start }

// Ends reports whether the request of a host that is gone does not hold any more by a decision about
// it. q may be nil.
func (q *Request) Ends(d gate.Decision) bool {
	return q != nil && !q.Live && (d.Refused() || d.What == gate.Ignore)
}

type history struct {
	*journal.Journal
	request Request
}

func (h history) Decided(issue int, t gate.Trigger) bool {
	d, known := h.Decision(issue, t)
	return known && (issue != h.request.Seen.Issue || t != h.request.Trigger || d.What != gate.Queue)
}

// Hand makes a ticket the one of the request: it becomes the same session with the same comment,
// unless this machine had that session before. One that had begun is continued from its checkpoint, or followed
// by another session. That of no request stays as it is.
func (q *Request) Hand(project string, t ticket.Ticket) ticket.Ticket {
	if q == nil {
		return t
	}
	if q.Saved {
		t.Session, t.Identity, t.Taken, t.Saved, t.Claimed = q.Name, q.Identity, true, true, q.Seen.Claim.At
		return t
	}
	if q.Begun {
		t.Former = &ticket.Former{Session: q.Name, Identity: q.Identity, Claimed: q.Seen.Claim.At, Why: q.why() + ", and what it did is not here: it begins once more"}
		return t
	}
	if ticket.IsFree(project, q.Name) {
		t.Session, t.Identity, t.Taken, t.Claimed = q.Name, q.Identity, true, q.Seen.Claim.At
	}
	return t
}

// Lost returns a ticket that ends the request, in the words of its comment. That was changed after the
// claim was made, which is how far back it is looked for.
func (q Request) Lost(repo ghsync.Repo, repoID int64, why string) ticket.Ticket {
	issue := q.Seen.Issue
	return ticket.Ticket{
		Repo: repo, RepoID: repoID, Issue: issue, Session: q.Name, Identity: q.Identity, Trigger: q.Trigger, Made: q.Seen.Claim.At,
		Snapshot: &ghsync.Snapshot{Issue: issue}, Taken: true, Lost: q.Begun, Dropped: q.why() + ", and " + why,
	}
}

// why says what became of the host.
func (q Request) why() string {
	if q.Mislaid {
		return "its files on the machine of the bot are gone"
	}
	if q.Seen.Claim.State == claim.Handover {
		return fmt.Sprintf("host %s let it go", q.Seen.Claim.Host)
	}
	return fmt.Sprintf("its host %s is gone", q.Seen.Claim.Host)
}
