package watch

import (
	"io"
	"sync"
)

// processes are those whose end wakes the reader of a tree.
type processes struct {
	mu     sync.Mutex
	open   map[int]io.Closer // by process id
	closed bool
	ended  sync.WaitGroup
}

// Process has the end of the process pid wake, once; asking again while it runs changes
// nothing. It reports false where the system cannot tell. The process may be anybody's: it is
// not waited for, so that its parent can. It may be called from any goroutine.
func (t *Tree) Process(pid int) bool {
	t.processes.mu.Lock()
	defer t.processes.mu.Unlock()
	if t.processes.closed {
		return false
	}
	if t.processes.open[pid] != nil {
		return true
	}
	p, err := openProcess(pid)
	if err != nil {
		return false
	}
	if t.processes.open == nil {
		t.processes.open = map[int]io.Closer{}
	}
	t.processes.open[pid] = p
	t.processes.ended.Go(func() {
		p.wait()
		if t.processes.drop(pid) {
			t.Wake()
		}
	})
	return true
}

// drop forgets a process and reports whether it was still followed.
func (ps *processes) drop(pid int) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.open[pid]
	if p == nil {
		return false
	}
	delete(ps.open, pid)
	_ = p.Close()
	return true
}

// close forgets all of them and waits for their goroutines.
func (ps *processes) close() {
	ps.mu.Lock()
	ps.closed = true
	for pid, p := range ps.open {
		_ = p.Close()
		delete(ps.open, pid)
	}
	ps.mu.Unlock()
	ps.ended.Wait()
}
