package transport

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Traffic is what was sent for an identity since the process began.
type Traffic struct {
	Requests map[Sent]int
	Waited   time.Duration // for limits, ours and the server's, before requests were sent
}

// Sent are requests of one class that ended alike.
type Sent struct {
	Class   string // read, search, graphql, write, content
	Outcome string // 2xx, 3xx, 4xx, 5xx; none without an answer
}

// meter counts the traffic.
type meter struct {
	mu  sync.Mutex
	sum Traffic
}

func (m *meter) count(b bucket, waited time.Duration, resp *http.Response) {
	s := Sent{[...]string{"read", "search", "graphql", "write", "content"}[b], "none"}
	if resp != nil {
		s.Outcome = fmt.Sprintf("%dxx", resp.StatusCode/100)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.Requests[s]++
	m.sum.Waited += waited
}

// Traffic returns what was sent until now.
func (s *Shared) Traffic() Traffic {
	m := s.limit.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	return Traffic{Requests: maps.Clone(m.sum.Requests), Waited: m.sum.Waited}
}
