package follow

import (
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/ghsync"
)

// Pulls knows which pull requests were seen to be open, and which were seen to be not. The zero value has seen none. It
// is safe for concurrent use.
type Pulls struct {
	mu   sync.Mutex
	open map[int]ghsync.OpenPull // as the list had them last, by number
	left map[int]bool            // those that are not open any more
	read due.Settling            // the reviews of those that changed
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
}

// Closed notes what the list has no more.
func (p *Pulls) Closed(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == nil {
		p.left = map[int]bool{}
	}
	p.left[number] = true
	delete(p.open, number)
	p.read.Drop(number)
}

// Listed returns an open pull request as the list had it last.
func (p *Pulls) Listed(number int) (pull ghsync.OpenPull, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pull, open = p.open[number]
	return pull, open
}

// IsClosed reports whether a pull request was seen to leave the list of open ones.
func (p *Pulls) IsClosed(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left[number]
}

// IsOpen reports whether a pull request was not seen to leave the list of open ones.
func (p *Pulls) IsOpen(number int) bool { return number != 0 && !p.IsClosed(number) }

// ReadAgain returns when the reviews of a pull request that were read now have to be read once more; 0: not before it changes.
// Who is brief leaves to the next run what the server shows later.
func (p *Pulls) ReadAgain(pull ghsync.OpenPull, now time.Time, brief bool) time.Duration {
	return p.read.Again(pull.Number, pull.UpdatedAt, now, brief)
}
