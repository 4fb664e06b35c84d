package recall

import (
	"context"
	"sync"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/origin"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// maxPulls bounds how many pull requests are remembered. All are forgotten then.
const maxPulls = 1000

// Pull says what a pull request is of; the zero value: not of a session.
type Pull struct {
	Issue   int
	Session string // by its name on the server
}

// Pulls finds out which session a pull request is of that this machine does not know. What is believed
// of it says [origin.OfPull]. It is read once: a pull request stays of its session. It is safe for concurrent use.
type Pulls struct {
	GitHub *ghsync.Client

	mu    sync.Mutex
	known map[int]Pull
	heads map[int]string // that were seen last
	lack  map[int]int    // how often the session had no checkpoint to continue from
}

// mostLooks is how often a checkpoint is looked for that may still come: the machine of the session may be about to push it.
const mostLooks = 12

// lacks notes that the session of a pull request has no checkpoint to continue from, and reports whether to look once more.
func (p *Pulls) lacks(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lack == nil || len(p.lack) >= maxPulls {
		p.lack = map[int]int{}
	}
	p.lack[number]++
	return p.lack[number] < mostLooks
}

// FirstSight reports whether a head of a pull request was not seen before, so that its checks may still be to come.
func (p *Pulls) FirstSight(number int, head string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heads[number] == head {
		return false
	}
	if p.heads == nil || len(p.heads) >= maxPulls {
		p.heads = map[int]string{}
	}
	p.heads[number] = head
	return true
}

// Of returns what a pull request is of.
func (p *Pulls) Of(ctx context.Context, repo ghsync.Repo, number int) (Pull, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of, known := p.known[number]; known {
		return of, nil
	}
	var of Pull
	var err error
	of.Issue, of.Session, err = origin.OfPull(ctx, p.GitHub, repo, number)
	if err != nil && !transport.IsNotFound(err) {
		return Pull{}, err
	}
	if !isSession(of.Session) {
		of = Pull{}
	}
	if p.known == nil || len(p.known) >= maxPulls {
		p.known = map[int]Pull{}
	}
	p.known[number] = of
	return of, nil
}
