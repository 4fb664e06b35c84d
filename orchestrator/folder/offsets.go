package folder

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// maxOffset bounds the file of a position.
	maxOffset = 64 << 10
	// maxOffsets bounds how many are read.
	maxOffsets = 10_000
)

// readOffsets returns up to which time of its name each agent has read its messages. Files that
// say nothing of that kind are passed over.
func (f *Folder) readOffsets() map[string]time.Time {
	if f.offsets == "" {
		return nil
	}
	found, err := os.ReadDir(f.offsets)
	if err != nil {
		return nil
	}
	offsets := map[string]time.Time{}
	for _, e := range found[:min(len(found), maxOffsets)] {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		var position struct {
			Agent string    `json:"agentId"`
			Last  time.Time `json:"lastProcessedTimestamp"`
		}
		if json.Unmarshal(small(filepath.Join(f.offsets, e.Name())), &position) == nil && position.Agent != "" && !position.Last.IsZero() {
			offsets[position.Agent] = position.Last
		}
	}
	return offsets
}

// small returns what a small file holds, or nothing.
func small(file string) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOffset))
	if err != nil {
		return nil
	}
	return data
}
