package due

import (
	"sync"
	"time"
)

// Settle is after how long what changed is read once more. The server's times are whole seconds: a
// second change of the same second alters nothing in a list that was read between the two.
const Settle = 2 * time.Second

// lags are after how long it is read once more since one list of the server may show what another one
// does not show yet, for up to a minute.
var lags = [...]time.Duration{Settle, 15 * time.Second, 65 * time.Second}

// Settling knows of which changes the second was not over yet when they were first read. Its zero value
// is empty; it is safe for concurrent use.
type Settling struct {
	mu    sync.Mutex
	first map[int]firstReading
}

// firstReading is when a number was read first after its last change.
type firstReading struct{ changed, at time.Time }

// Again returns when a number that was read now has to be read once more; 0: it was read long enough
// after its last change. A reading that came sooner, for another reason, does not count. Who is brief
// reads it after Settle at most.
func (s *Settling) Again(number int, changed, now time.Time, brief bool) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first[number]
	if !first.changed.Equal(changed) {
		first = firstReading{changed, now}
		if s.first == nil {
			s.first = map[int]firstReading{}
		}
		s.first[number] = first
	}
	since := now.Sub(first.at)
	for _, lag := range lags {
		if since < lag && (!brief || lag == Settle) {
			return lag - since
		}
	}
	return 0
}

// Drop forgets a number that will not be read any more.
func (s *Settling) Drop(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.first, number)
}
