package follow

import (
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
)

// Pulls knows which pull requests were seen to be open, and which were seen to be not: in the list of open ones, which is
// short, and in that of issues, which shows what was closed since. The zero value has seen none. It
// is safe for concurrent use.
type Pulls struct {
	mu     sync.Mutex
	open   map[int]ghsync.OpenPull // as the list had them last, by number
	left   map[int]bool            // those that are not open any more
	unsure map[int]bool            // of sessions, and GitHub has to be asked about them
	read   due.Settling            // the reviews of those that changed
}

// Opened notes what the list of open pull requests has.
func (p *Pulls) Opened(pull ghsync.OpenPull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[int]ghsync.OpenPull{}
	}
	p.open[pull.Number] = pull
	delete(p.left, pull.Number)
	delete(p.unsure, pull.Number)
}

// Closed notes what the list has no more, or what is known to be closed.
func (p *Pulls) Closed(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == nil {
		p.left = map[int]bool{}
	}
	p.left[number] = true
	delete(p.open, number)
	delete(p.unsure, number)
	p.read.Drop(number)
}

// Reopened notes that a pull request is not closed any more.
func (p *Pulls) Reopened(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, number)
}

// Listed returns an open pull request as the list had it last.
func (p *Pulls) Listed(number int) (pull ghsync.OpenPull, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pull, open = p.open[number]
	return pull, open
}

// Unlisted says what follows for the pull request of a session which the list of open ones does not have: it is closed, or
// GitHub has to be asked, for one that ended in the time in which it is followed. whole: the list has all that are open; but it
// may be older than a pull request that was just made.
func (p *Pulls) Unlisted(s *orchestrator.State, whole bool, followed time.Duration, now time.Time) (closed, ask bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	number := s.Completion.PRNumber
	_, open := p.open[number]
	if number == 0 || open || p.left[number] || !s.Ended() {
		return false, false
	}
	age := now.Sub(s.PhaseEnteredAt.Time)
	closed, ask = whole && age >= lagTime, age < followed
	if closed || !ask {
		return closed, false
	}
	if p.unsure == nil {
		p.unsure = map[int]bool{}
	}
	p.unsure[number] = true
	return false, true
}

// Unsure reports whether GitHub has to be asked whether a pull request is open.
func (p *Pulls) Unsure(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unsure[number]
}

// IsClosed reports whether a pull request is known to be closed.
func (p *Pulls) IsClosed(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left[number]
}

// IsOpen reports whether a pull request is open, as far as is known.
func (p *Pulls) IsOpen(number int) bool { return number != 0 && !p.IsClosed(number) }

// ReadAgain returns when the reviews of a pull request that were read now have to be read once more; 0: not before it changes.
// Who is brief leaves to the next run what the server shows later.
func (p *Pulls) ReadAgain(pull ghsync.OpenPull, now time.Time, brief bool) time.Duration {
	return p.read.Again(pull.Number, pull.UpdatedAt, now, brief)
}
