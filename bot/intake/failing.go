package intake

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	tellEvery = 10 * time.Minute // how often an error that lasts is logged
	patience  = 2 * time.Minute  // the longest wait for our own limits that is not an error
)

// failed decides when a part is read again after an error, and reports whether the others have
// to wait, too: a limit or a server that does not answer is the same for all of them.
func (p *Poller) failed(ctx context.Context, l part, err error) (all bool) {
	if ctx.Err() != nil {
		return true
	}
	again, err := p.recovered(ctx, err)
	if again || ctx.Err() != nil {
		return true // under the new name, at once
	}
	now, spread := p.clock.Now(), 0.9+0.2*p.o.Rand()
	wait, passes := transport.Later(err)
	var after *transport.RetryAfter
	if errors.As(err, &after) && after.Scope == "own" && wait < patience {
		for i := range parts {
			p.when.hold[i] = latest(p.when.hold[i], now.Add(wait))
		}
		return true
	}
	most := maxPause
	if !passes && !transport.HasCode(err, transport.CodeUnauthorized) {
		most = maxRefused
	}
	if all = passes || p.Facts().Missing || transport.HasCode(err, transport.CodeUnauthorized); all {
		for i := range parts {
			p.when.fail(i, now, wait, most, spread)
		}
	} else {
		p.when.fail(l, now, wait, most, spread)
	}
	p.errs[l] = err
	p.tell(now)
	return all
}

// worked notes that a part was read.
func (p *Poller) worked(l part) {
	p.when.worked(l)
	p.errs[l] = nil
	p.tell(p.clock.Now())
}

// tell shows whether something fails, and logs it when it begins, each ten minutes, and at its end.
func (p *Poller) tell(now time.Time) {
	err := errors.Join(p.errs[:]...)
	p.mu.Lock()
	before := p.facts.Err
	p.facts.Err = err
	switch {
	case err == nil:
		p.facts.Failing, p.facts.Missing = time.Time{}, false
	case before == nil:
		p.facts.Failing = now
	}
	p.mu.Unlock()
	switch {
	case err == nil && !p.told.IsZero():
		p.told = time.Time{}
		p.log.Info("a repository is read again", "repo", p.repo.String())
	case err != nil && (p.told.IsZero() || now.Sub(p.told) >= tellEvery):
		p.told = now
		p.log.Warn("a repository cannot be read", "repo", p.repo.String(), "err", err)
	}
}
