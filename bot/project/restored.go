package project

import (
	"slices"
	"sync"
)

// restored are the files of the host repository that were not as this program writes them, and
// were written again. Calls of git note them; the session whose calls those were records them.
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

// Take returns what was noted since the last time.
func (r *restored) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	files := r.files
	r.files = nil
	return files
}
