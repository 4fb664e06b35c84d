// Package answers keeps what a server has answered, with the entity tag by which it confirms that nothing changed. It is
// used by the transport, once for each identity. A store is bounded: what was used longest ago goes first. It stores
// nothing on disk, and looks into no answer.
package answers

import (
	"container/list"
	"net/http"
	"sync"
)

const (
	maxItems = 512
	maxBytes = 64 << 20
)

// Answer is one to the request that Key names.
type Answer struct {
	Key, Tag string
	Header   http.Header
	Body     []byte
}

// Store is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // front = used last
	bytes int
}

// New returns an empty store.
func New() *Store { return &Store{items: map[string]*list.Element{}, order: list.New()} }

// Find returns the answer to a request; nil if it is not known. The caller changes nothing of it.
func (s *Store) Find(key string) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*Answer)
}

// Put keeps an answer in the place of an earlier one.
func (s *Store) Put(a *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.items[a.Key])
	s.items[a.Key] = s.order.PushFront(a)
	s.bytes += len(a.Body)
	for s.order.Len() > maxItems || s.bytes > maxBytes {
		s.drop(s.order.Back())
	}
}

// Drop forgets the answer to a request, if there is one.
func (s *Store) Drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.items[key])
}

// drop needs s.mu.
func (s *Store) drop(e *list.Element) {
	if e == nil {
		return
	}
	a := s.order.Remove(e).(*Answer)
	delete(s.items, a.Key)
	s.bytes -= len(a.Body)
}
