package remote

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/shield"
)

// helpers are the programs that speak with servers in place of git's own, by their transport.
// They hold the password while a call lasts.
type helpers struct {
	mu   sync.Mutex
	made map[string]helper
}

// closed are those of this process. A copy serves every call, as the text of a program does.
var closed = helpers{made: map[string]helper{}}

// Closed reports whether the memory of git is closed to other processes of the user while it
// holds a password for a server.
func Closed(ctx context.Context) bool {
	return runtime.GOOS != "linux" || closed.helper(ctx, "https") != nil
}

type helper struct {
	git, own version  // what it was made for and from
	copy     *os.File // nil: there is none, and git starts its own
}

// A version tells a program from what is later installed in its place.
type version struct {
	path string
	size int64
	at   time.Time
}

func versionOf(path string) version {
	info, err := os.Stat(path)
	if err != nil {
		return version{path: path}
	}
	return version{path, info.Size(), info.ModTime()}
}

// helper returns a program whose memory is closed to others of the user, nil where there
// cannot be one.
func (h *helpers) helper(ctx context.Context, transport string) *os.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	program, err := git.Program()
	if err != nil {
		return nil
	}
	made, ok := h.made[transport]
	if now := versionOf(program); !ok || made.git != now || made.own != versionOf(made.own.path) {
		if made, ok = makeHelper(ctx, transport, now); !ok {
			return nil
		}
		h.made[transport] = made // who has the former one keeps it open
	}
	if made.copy == nil || shield.Lock(made.copy) != nil {
		return nil
	}
	return made.copy
}

// makeHelper tries the copy before it is used: a system may refuse to run what has no file, and
// a program may look for others beside its own. It fails if ctx ends meanwhile.
func makeHelper(ctx context.Context, transport string, program version) (made helper, ok bool) {
	own, err := git.OwnHelper(ctx, transport)
	if err != nil {
		return helper{}, false
	}
	made = helper{git: program, own: versionOf(own)}
	if made.copy, err = shield.Unreadable(own); err != nil {
		return made, true
	}
	if !git.TakesHelper(ctx, transport, made.copy) {
		_ = made.copy.Close()
		made.copy = nil
	}
	return made, ctx.Err() == nil
}
