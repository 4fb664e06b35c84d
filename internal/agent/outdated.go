package agent

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Helps remembers what the help of installed programs lacks, until another file is in their place. The
// zero value remembers nothing yet; nil asks for nothing.
type Helps struct {
	mu   sync.Mutex
	seen map[program]Probe
}

// program is a file at one time, and the provider whose flags its help was asked for.
type program struct {
	provider, path string
	size           int64
	at             time.Time
}

// Outdated says which flags that launches of a provider need its installed program lacks, with its version
// and those that are known to work; nothing if it has all. Flags of levels of effort count where effort is set.
// A program whose help cannot be read, or names none of them, as a wrapper may have one, is taken as it is.
func (h *Helps) Outdated(ctx context.Context, p Provider, path string, effort bool) []string {
	if h == nil {
		return nil
	}
	found, err := h.probe(ctx, p, path)
	if err != nil || len(found.Missing) == len(p.Flags) {
		return nil
	}
	var lacks []string
	for _, flag := range found.Missing {
		if effort || !p.forEffort(flag) {
			lacks = append(lacks, flag)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	need := "another version of it"
	if len(p.Versions) > 0 {
		need = "version " + strings.Join(p.Versions, " or ")
	}
	return []string{fmt.Sprintf("%s: the installed %s (%s) does not know %s, which agents are started with; install %s",
		p.Name, found.Path, found.Version, strings.Join(lacks, ", "), need)}
}

func (p Provider) forEffort(flag string) bool {
	for _, args := range p.Effort {
		if slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") }) {
			return true
		}
	}
	return false
}

// probe asks a program once, as long as its file stays the same.
func (h *Helps) probe(ctx context.Context, p Provider, path string) (Probe, error) {
	if len(p.HelpArgs) == 0 {
		return Probe{}, nil
	}
	file, err := lookPath(p.Command, path)
	if err != nil {
		return Probe{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return Probe{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := program{p.Name, file, info.Size(), info.ModTime()}
	if found, ok := h.seen[key]; ok {
		return found, nil
	}
	found, err := p.Probe(ctx, path)
	if err == nil {
		if h.seen == nil {
			h.seen = map[program]Probe{}
		}
		h.seen[key] = found
	}
	return found, err
}
