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
	seen map[program]help
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
	return []string{fmt.Sprintf("%s: the installed %s (%s) does not know %s, which agents are started with; %s",
		p.Name, found.Path, found.Version, strings.Join(lacks, ", "), p.Newer())}
}

// Newer says what to do about a program whose help does not name all flags.
func (p Provider) Newer() string {
	need := "another version of it"
	if len(p.Versions) > 0 {
		need = "version " + strings.Join(p.Versions, " or ")
	}
	return fmt.Sprintf("install %s, or, for a wrapper that passes them on, set \"providers: {%s: {flags: []}}\" in your own configuration", need, p.Name)
}

func (p Provider) forEffort(flag string) bool {
	for _, args := range p.Effort {
		if slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") }) {
			return true
		}
	}
	return false
}

// unread is how long a program whose help could not be read is not asked again.
const unread = 5 * time.Minute

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
	key := program{p.Name, file, info.Size(), info.ModTime()}
	h.mu.Lock()
	found, ok := h.seen[key]
	h.mu.Unlock()
	if ok && (found.err == nil || time.Since(found.at) < unread) {
		return found.Probe, found.err
	}
	// Not under the lock: a program that hangs holds up the session that asks, and no other one.
	found.Probe, found.err = p.Probe(ctx, path)
	if found.at = time.Now(); ctx.Err() == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.seen == nil {
			h.seen = map[program]help{}
		}
		h.seen[key] = found
	}
	return found.Probe, found.err
}

// help is what was found, or why nothing was.
type help struct {
	Probe
	err error
	at  time.Time
}
