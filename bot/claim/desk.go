package claim

import (
	"context"
	"errors"
	"fmt"
)

// Desk is where one host claims the issues of one repository. It is safe for concurrent use.
type Desk interface {
	// Take claims an issue that is free. The error is *TakenError if it is claimed already, also
	// by this host: what an earlier process of it left is adopted or released.
	Take(ctx context.Context, want Want) (Held, error)
	// Steal takes the claim that was seen away from its host. The error is *TakenError if that
	// host is not stale, or if the claim is another one by now. One that was given back is free.
	Steal(ctx context.Context, seen Seen, want Want) (Held, error)
	// Adopt holds a claim of this host id that an earlier process left. It asks nothing.
	Adopt(seen Seen) (Held, error)
	// Look returns all claims of the repository, by issue.
	Look(ctx context.Context) ([]Seen, error)
	// Stale tells why a claim may be taken from its host; "" if it may not. An error says that
	// it is not known, and then it may not either.
	Stale(ctx context.Context, seen Seen) (Stale, error)
	// Leftovers returns the claims of this host id that this desk does not hold: those of an earlier
	// process, and one whose push arrived after Take gave it up. What was handed over is not ours.
	Leftovers(ctx context.Context) ([]Seen, error)
	// Run keeps what is held until ctx ends.
	Run(ctx context.Context) error
}

// Held is a claim that was ours when it was made. It is safe for concurrent use.
type Held interface {
	// Seen is the claim as it was pushed last.
	Seen() Seen
	// Check is asked before each write to the outside. It returns nil if the claim is still
	// ours, *LostError if it is not, ErrReleased if it was let go. Any other error says that it
	// is not known now: hold the write back and ask again.
	Check(ctx context.Context) error
	// Lost is closed when the claim was found to be lost. Holder is the id of the host that has it
	// then; empty before, and if that is not known.
	Lost() <-chan struct{}
	Holder() string
	// Mark changes the state of the claim: Queued to Running when the session gets its slot;
	// Handover lets it go for another host. After an error that is not *LostError, call it again.
	Mark(ctx context.Context, to State) error
	// Release removes the claim. From the call on Check returns ErrReleased. After an error that
	// is not *LostError, call it again.
	Release(ctx context.Context) error
}

// Shared is what a claim on a server has beside [Held]; others see it.
type Shared interface {
	// Pass reports whether the holder may push something that is no claim: now or never, or, for the last
	// push of a session, as soon as the pace of the repository allows.
	Pass(ctx context.Context, last bool) (bool, error)
	// Reread is Check that asks the server whatever the last beat says: something of the session was seen that
	// another host did.
	Reread(ctx context.Context) error
}

// Want is what a host wants to claim an issue for.
type Want struct {
	Issue   int
	Session string
	Trigger string
	State   State // Queued or Running
	// Only, with Steal: a claim that is not there any more is not taken, because what it was for has ended.
	Only bool
}

// Seen is a claim as it was read.
type Seen struct {
	Issue int
	ID    string // of its commit; empty for a lock of this machine
	Claim Claim
	// Problem says why the claim cannot be read; Claim is empty then. It holds the issue all
	// the same, and no host takes it away: a person removes the ref.
	Problem error
	// Unproven says that this process saw no new beat of the host yet: it may be gone. Only Look sets it.
	Unproven bool
}

// Stale says why a claim may be taken from its host.
type Stale string

const (
	NotStale Stale = ""
	Silent   Stale = "silent"   // no beat for ten minutes
	RunEnded Stale = "ended"    // the run of the job is over, deleted or at a later attempt
	LetGo    Stale = "handover" // its host marked it Handover
	// Waiting is a claim that was Queued for a minute. A host takes it if it has a slot free
	// and starts at once; else two hosts would take it from each other in turn.
	Waiting Stale = "waiting"
)

// TakenError says that a host holds the claim of an issue.
type TakenError struct{ Seen Seen }

func (e *TakenError) Error() string {
	if e.Seen.ID == "" && e.Seen.Claim.Host == "" && e.Seen.Problem == nil {
		return fmt.Sprintf("the claim of issue %d was given back", e.Seen.Issue)
	}
	if e.Seen.Problem != nil {
		return fmt.Sprintf("issue %d is claimed, and the claim cannot be read: %v; if no host works on it, remove %s", e.Seen.Issue, e.Seen.Problem, claimRef(e.Seen.Issue))
	}
	return fmt.Sprintf("issue %d is claimed by host %s for session %s", e.Seen.Issue, e.Seen.Claim.Host, e.Seen.Claim.Session)
}

// LostError says that a claim that was held belongs to another host, or to none.
type LostError struct {
	Issue int
	Host  HostID // empty if the claim was removed or cannot be read
}

func (e *LostError) Error() string {
	if e.Host == "" {
		return fmt.Sprintf("the claim of issue %d is lost: it was removed, or is one that cannot be read", e.Issue)
	}
	return fmt.Sprintf("the claim of issue %d is lost: host %s took over", e.Issue, e.Host)
}

// holder is empty for a nil error.
func (e *LostError) holder() string {
	if e == nil {
		return ""
	}
	return e.Host.String()
}

// RefusedError says that the server takes no refs below refs/agentmux/. Text is the server's.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string {
	return "the server refuses refs/agentmux/*, by which hosts share the issues of a repository: " + e.Text +
		"; if this machine alone works on it, set bot.single_host: true in your own configuration"
}

// ErrReleased says that a claim was released or handed over by this host.
var ErrReleased = errors.New("the claim was released")

// ErrTwin says that another process beats with the id of this host.
var ErrTwin = errors.New("another process uses the id of this host; was its state directory copied? remove the file host_id in one of them")
