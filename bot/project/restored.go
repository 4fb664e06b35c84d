package project

import (
	"slices"
	"sync"
)

// restored lists files of the store that differed from what this program writes and
// were written again. Calls of git note them, and the session that made the calls records them.
type restored struct {
	mu    sync.Mutex
	files []string
}

func (r *restored) note(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.files, file) {
		r.files = append(r.files, file)
	}
}

// Take returns the files that were noted since the last call.
func (r *restored) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	files := r.files
	r.files = nil
	return files
}
