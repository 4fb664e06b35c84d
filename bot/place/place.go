package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Place is what a session is known by where the sessions of all clones and projects meet: in
// the host repository, below the state home and in the runtime directory. A session's name is
// unique in its project only, and for as long as its directory is there.
type Place struct {
	name string // of the session when it was made
	ID   string // of its creation
	key  string // what its socket is named by: nobody else can foresee it
}

// Of takes the id from the state. A session of an older version has none there: its
// directory stands for it, as it did in the names of its workspaces then.
func Of(dir string, s *orchestrator.State) Place {
	p := Place{name: filepath.Base(dir), ID: FormerID(dir)}
	p.key = p.ID
	if s == nil {
		return p
	}
	if session.ValidName(s.SessionID) {
		p.name = s.SessionID
	}
	if session.ValidIdentity(s.Identity) {
		p.ID = s.Identity
	}
	p.key = p.ID
	if s.Noted != "" {
		p.key = shortHash("socket " + s.Noted)
	}
	return p
}

// String names refs and directories.
func (p Place) String() string { return p.name + "-" + p.ID }

// Socket is a short name, because the path of a socket has little room.
func (p Place) Socket() string { return p.key[:8] + ".sock" }

// FormerSocket is the name that older versions gave. The identity in it is in pull requests.
func (p Place) FormerSocket() string { return p.ID[:8] + ".sock" }

// Homes holds what the programs of the session's agents remember. It goes with the session.
func (p Place) Homes(stateHome string) string { return filepath.Join(stateHome, "homes", p.String()) }

// ProbeSocket has the length of each path that sessions listen at in runtimeDir.
func ProbeSocket(runtimeDir string) string {
	return filepath.Join(runtimeDir, Place{key: "00000000"}.Socket())
}

// Socket is where the tmux server of the session in dir listens. Each session has a server of
// its own.
func Socket(runtimeDir, dir string, s *orchestrator.State) string {
	return filepath.Join(runtimeDir, Of(dir, s).Socket())
}

// OwnSocket reports whether path has a name that the server of the session in dir listens under,
// be it that of an older version.
func OwnSocket(path, dir string, s *orchestrator.State) bool {
	p, base := Of(dir, s), filepath.Base(path)
	return filepath.IsAbs(path) && (base == p.Socket() || base == p.FormerSocket())
}

// SocketOf is where the session's server listens: where an older version started one it stays.
func SocketOf(runtimeDir string, sess *session.Session, s *orchestrator.State) string {
	noted := sess.ReadRuntime().Socket
	if filepath.Dir(noted) == filepath.Clean(runtimeDir) && OwnSocket(noted, sess.Dir, s) {
		return noted
	}
	return Socket(runtimeDir, sess.Dir, s)
}

// ErrRuntimeDir means that there can be no socket. What is wrong there no further try mends.
var ErrRuntimeDir = errors.New("no directory for sockets")

// MakeRuntimeDir makes the directory of the sockets, which must be closed to others.
func MakeRuntimeDir(dir string) error {
	if err := shield.MakePrivate(dir); err != nil {
		return fmt.Errorf("%w: %w; set XDG_RUNTIME_DIR to a directory of your own, or have the system keep yours after logout with \"loginctl enable-linger\"", ErrRuntimeDir, err)
	}
	return nil
}

// FormerID is the identity of a session of an older version: its directory stands for it.
func FormerID(dir string) string { return shortHash(dir) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
