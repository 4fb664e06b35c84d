package account

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// awayEvery is how often the log says that an identity is away.
const awayEvery = 10 * time.Minute

// An Absence is an identity that GitHub refuses.
type Absence struct {
	Name  string // of the identity
	Where string // the repository, or the owner, whose token is refused; empty without an App
	Since time.Time
	Err   error // a *transport.Away, of the last refusal
}

// health knows which identities are away. It is told after each call.
type health struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	away map[string]*away // by name and place
}

type away struct {
	Absence
	said time.Time
}

func newHealth(log *slog.Logger, now func() time.Time) *health {
	return &health{log: log, now: now, away: map[string]*away{}}
}

// heard takes what became of a call: nil, or a *transport.Away.
func (h *health) heard(name, where string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key, now := name+"\n"+where, h.now()
	a := h.away[key]
	switch {
	case err == nil && a != nil:
		delete(h.away, key)
		h.log.Info("GitHub accepts the account again", "account", name, "in", where, "away", now.Sub(a.Since).Round(time.Second))
	case err == nil:
	case a == nil:
		a = &away{Absence: Absence{Name: name, Where: where, Since: now}}
		h.away[key] = a
		fallthrough
	default:
		a.Err = err
		if now.Sub(a.said) >= awayEvery {
			a.said = now
			h.log.Warn("GitHub refuses the account: what it owes waits", "account", name, "in", where, "since", a.Since, "err", err)
		}
	}
}

// of returns why an identity is refused; nil: it is not.
func (h *health) of(name, where string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.away[name+"\n"+where]; a != nil {
		return a.Err
	}
	return nil
}

func (h *health) absent() []Absence {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []Absence
	for _, a := range h.away {
		all = append(all, a.Absence)
	}
	slices.SortFunc(all, func(a, b Absence) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Where, b.Where))
	})
	return all
}
