package claim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// Boot tells how long this machine has been up, suspended or not, and which start of it this is.
// ok is false where that is not known.
type Boot func() (id string, up time.Duration, ok bool)

// MachineBoot is the Boot of this machine; it is known on Linux.
func MachineBoot() (id string, up time.Duration, ok bool) {
	name, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, false
	}
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return "", 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return strings.TrimSpace(string(name)), time.Duration(seconds * float64(time.Second)), err == nil
}

// A Memory keeps what a desk saw of hosts for the next process, so that a command that is typed
// twice sees that a host was silent in between. What it keeps counts until the machine is
// started again: it is measured by a clock that no person sets.
type Memory struct {
	File string
	Boot Boot
}

type memorized struct {
	Version int                     `json:"version"`
	Boot    string                  `json:"boot"`
	Hosts   map[HostID]memorizedRef `json:"hosts"`
}

type memorizedRef struct {
	ID    string        `json:"id"`
	First time.Duration `json:"first"` // up time of the machine
	Last  time.Duration `json:"last"`
}

// recall returns what an earlier process saw, by the running clock of this one. What cannot be
// read was not seen.
func (m *Memory) recall(running time.Duration) map[HostID]sight {
	seen := map[HostID]sight{}
	boot, up, ok := m.Boot()
	if !ok {
		return seen
	}
	data, err := os.ReadFile(m.File)
	var kept memorized
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Version != 1 || kept.Boot != boot {
		return seen
	}
	for host, r := range kept.Hosts {
		if _, err := ParseHostID(string(host)); err != nil || r.First > r.Last || r.Last > up {
			continue
		}
		seen[host] = sight{r.ID, running - up + r.First, running - up + r.Last, false}
	}
	return seen
}

// keep stores what was seen. A failure costs the next process some minutes.
func (m *Memory) keep(hosts map[HostID]sight, running time.Duration) {
	boot, up, ok := m.Boot()
	if !ok {
		return
	}
	kept := memorized{Version: 1, Boot: boot, Hosts: map[HostID]memorizedRef{}}
	for host, s := range hosts {
		kept.Hosts[host] = memorizedRef{s.id, up - running + s.first, up - running + s.last}
	}
	if data, err := json.Marshal(kept); err == nil && os.MkdirAll(filepath.Dir(m.File), 0o700) == nil {
		_ = durable.View(m.File, append(data, '\n'))
	}
}
