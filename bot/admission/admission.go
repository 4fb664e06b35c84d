// Package admission says whether this machine has room for another session: memory, disk, memory
// pressure, and whether a person has put the file PAUSED into the state directory.
//
// It reads /proc and the file system and writes nothing. What a system does not tell is not
// missing: macOS tells of disks alone.
package admission

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	needMemory   = 2 << 30 // bytes that have to be available
	needDisk     = 2 << 30 // bytes that have to be free
	mostPressure = 10.0    // percent of the last minute in which something waited for memory

	// PausedFile keeps new sessions from beginning while it is in the state home.
	PausedFile = "PAUSED"
)

// Machine is this machine.
type Machine struct {
	StateHome string
	Stores    string // where the repositories of hosts lie; empty = in the state home
	// Proc is where the system tells of itself; empty = /proc.
	Proc string
}

// Paused reports whether a person keeps new sessions from beginning.
func (m Machine) Paused() bool {
	_, err := os.Lstat(filepath.Join(m.StateHome, PausedFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// Lacks names what is missing for another session, as parts of a sentence; empty if nothing is.
func (m Machine) Lacks(context.Context) []string {
	var lacks []string
	if free, ok := m.memory(); ok && free < needMemory {
		lacks = append(lacks, fmt.Sprintf("for memory, %s of %s are available", size(free), size(needMemory)))
	}
	if percent, ok := m.pressure(); ok && percent >= mostPressure {
		lacks = append(lacks, fmt.Sprintf("for memory, programs waited for it in %.0f %% of the last minute", percent))
	}
	if space := m.LacksSpace(); space != "" {
		lacks = append(lacks, "for disk space, "+space)
	}
	return lacks
}

// LacksSpace says where too little of a disk is free, and how much; "" if there is enough.
func (m Machine) LacksSpace() string {
	for _, dir := range []string{m.StateHome, m.Stores} {
		if free, ok := disk(dir); ok && dir != "" && free < needDisk {
			return fmt.Sprintf("%s of %s are free in %s", size(free), size(needDisk), dir)
		}
	}
	return ""
}

func (m Machine) read(name string) []byte {
	proc := m.Proc
	if proc == "" {
		proc = "/proc"
	}
	data, _ := os.ReadFile(filepath.Join(proc, name)) // another system does not tell
	return data
}

// memory is how much of it is available, in bytes; see proc_meminfo(5).
func (m Machine) memory() (int64, bool) {
	lines := bufio.NewScanner(bytes.NewReader(m.read("meminfo")))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// pressure is the share of the last minute in which something waited for memory, in percent; see
// Documentation/accounting/psi.rst of Linux.
func (m Machine) pressure() (float64, bool) {
	for field := range strings.FieldsSeq(string(m.read("pressure/memory"))) {
		if text, ok := strings.CutPrefix(field, "avg60="); ok { // the first line is that of "some"
			percent, err := strconv.ParseFloat(text, 64)
			return percent, err == nil
		}
	}
	return 0, false
}

// disk is how much is free where a directory is, or will be, in bytes.
func disk(dir string) (int64, bool) {
	for {
		var st syscall.Statfs_t
		err := syscall.Statfs(dir, &st)
		if err == nil {
			return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // the types differ between systems
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return 0, false
		}
		dir = filepath.Dir(dir)
	}
}

// size is a number of bytes in words.
func size(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// Slots is how many sessions this machine can run at once: those that memory and processors
// are enough for, at least one.
func (m Machine) Slots(processors int) int {
	slots := max(1, processors/2)
	lines := bufio.NewScanner(bytes.NewReader(m.read("meminfo")))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:"); ok {
			if kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64); err == nil {
				slots = min(slots, int((float64(kib)/(1<<20)-4)/1.5))
			}
		}
	}
	return max(1, slots)
}
