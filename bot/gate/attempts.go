package gate

import "sync"

// Attempts counts in how many earlier tries the present request of each issue was judged Later. The zero value
// counts none. It is safe for concurrent use.
type Attempts struct {
	mu sync.Mutex
	of map[int]attempt
}

// attempt is how often a request was judged in vain, and by which trigger it is known.
type attempt struct {
	trigger Trigger
	Tries
}

// Tries are the earlier ones of the request that an issue makes now.
func (a *Attempts) Tries(issue int) Tries {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[issue].Tries
}

// Count notes a decision about an issue.
func (a *Attempts) Count(issue int, d Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.What != Later {
		delete(a.of, issue)
		return
	}
	was := a.of[issue]
	if was.trigger != d.Asked.Trigger {
		was = attempt{trigger: d.Asked.Trigger}
	}
	was.Tries = was.After(d)
	if a.of == nil {
		a.of = map[int]attempt{}
	}
	a.of[issue] = was
}
