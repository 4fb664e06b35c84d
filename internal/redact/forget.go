package redact

import (
	"crypto/sha256"
	"time"
)

// Retire says that a value can do no harm after a time: Forget takes it out then. A value that is
// added again is kept for good.
func (r *Redactor) Retire(value Secret, until time.Time) {
	lines, _ := secretLines(value.Reveal())
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, line := range lines {
		digest := sha256.Sum256([]byte(line))
		if _, ok := r.known[digest]; !ok {
			continue
		}
		if r.retired == nil {
			r.retired = make(map[[32]byte]time.Time)
		}
		r.retired[digest] = until
	}
}

// Forget takes out the values that were retired until a time before now, and returns how many. It
// costs as much as adding all that stay, so it is for once in a while. Texts are searched meanwhile.
func (r *Redactor) Forget(now time.Time) int {
	r.forgetting.Lock()
	defer r.forgetting.Unlock()
	r.lock.RLock()
	over := func(g given) bool {
		until, ok := r.retired[g.digest]
		return ok && until.Before(now)
	}
	seen, gone := len(r.given), map[[32]byte]bool{}
	var stay []given
	for _, g := range r.given {
		if over(g) {
			gone[g.digest] = true
			continue
		}
		stay = append(stay, g)
	}
	r.lock.RUnlock()
	if len(gone) == 0 {
		return 0
	}
	fresh := index{}
	for _, g := range stay {
		fresh.add(g.Name, g.Secret.Reveal(), g.parts)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	forgotten := 0
	for n, g := range r.given {
		switch {
		case n < seen && over(g):
			delete(r.known, g.digest)
			delete(r.retired, g.digest)
			forgotten++
		case n >= seen || gone[g.digest]: // added meanwhile, or once more
			stay = append(stay, g)
			fresh.add(g.Name, g.Secret.Reveal(), g.parts)
		}
	}
	r.given, r.index = stay, fresh
	return forgotten
}
