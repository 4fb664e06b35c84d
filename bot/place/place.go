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

// Place identifies a session where the sessions of all clones and projects meet: in the
// store, below the state home and in the runtime directory. The name of a session alone is
// unique only in its project, and only while its directory exists.
type Place struct {
	name string // of the session when it was created
	ID   string // of its creation
	key  string // names its socket; another user cannot predict it
}

// Of returns the place of the session in dir, with the id in its state. The state of an older
// version has no id; the id is then derived from the directory, as in the names of its
// workspaces.
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

// String returns the name of refs and directories.
func (p Place) String() string { return p.name + "-" + p.ID }

// Socket returns a short file name, because the path of a socket is limited.
func (p Place) Socket() string { return p.key[:8] + ".sock" }

// FormerSocket returns the file name of older versions. Pull requests show the id in it.
func (p Place) FormerSocket() string { return p.ID[:8] + ".sock" }

// Homes returns the directory of the homes of the session's agents. It is removed with the
// session.
func (p Place) Homes(stateHome string) string { return filepath.Join(stateHome, "homes", p.String()) }

// ProbeSocket returns a path as long as those of the sockets in runtimeDir.
func ProbeSocket(runtimeDir string) string {
	return filepath.Join(runtimeDir, Place{key: "00000000"}.Socket())
}

// Socket returns where the tmux server of the session in dir listens. Each session has a server
// of its own.
func Socket(runtimeDir, dir string, s *orchestrator.State) string {
	return filepath.Join(runtimeDir, Of(dir, s).Socket())
}

// OwnSocket reports whether path has the name of the socket of the session in dir, or the name
// of an older version.
func OwnSocket(path, dir string, s *orchestrator.State) bool {
	p, base := Of(dir, s), filepath.Base(path)
	return filepath.IsAbs(path) && (base == p.Socket() || base == p.FormerSocket())
}

// SocketOf returns where the session's server listens. A server of an older version keeps its
// socket.
func SocketOf(runtimeDir string, sess *session.Session, s *orchestrator.State) string {
	noted := sess.ReadRuntime().Socket
	if filepath.Dir(noted) == filepath.Clean(runtimeDir) && OwnSocket(noted, sess.Dir, s) {
		return noted
	}
	return Socket(runtimeDir, sess.Dir, s)
}

// ErrRuntimeDir means that no socket is possible. A further try cannot succeed.
var ErrRuntimeDir = errors.New("no directory for sockets")

// MakeRuntimeDir creates the directory of the sockets, which must be closed to other users.
func MakeRuntimeDir(dir string) error {
	if err := shield.MakePrivate(dir); err != nil {
		return fmt.Errorf("%w: %w; set XDG_RUNTIME_DIR to a directory of your own, or have the system keep yours after logout with \"loginctl enable-linger\"", ErrRuntimeDir, err)
	}
	return nil
}

// FormerID returns the id of a session of an older version, derived from its directory.
func FormerID(dir string) string { return shortHash(dir) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
