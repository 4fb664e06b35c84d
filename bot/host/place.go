package host

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// place is what a session is known by where the sessions of all clones and projects meet: in
// the host repository, below the state home and in the runtime directory. A session's name is
// unique in its project only, and for as long as its directory is there.
type place struct {
	name string // of the session when it was made
	id   string // of its creation
	key  string // what its socket is named by: nobody else can foresee it
}

// placeOf takes the id from the state. A session of an older version has none there: its
// directory stands for it, as it did in the names of its workspaces then.
func placeOf(dir string, s *orchestrator.State) place {
	p := place{name: filepath.Base(dir), id: shortHash(dir)}
	p.key = p.id
	if s == nil {
		return p
	}
	if session.ValidName(s.SessionID) {
		p.name = s.SessionID
	}
	if session.ValidIdentity(s.Identity) {
		p.id = s.Identity
	}
	p.key = p.id
	if s.Noted != "" {
		p.key = shortHash("socket " + s.Noted)
	}
	return p
}

// String names refs and directories.
func (p place) String() string { return p.name + "-" + p.id }

// socket is a short name, because the path of a socket has little room.
func (p place) socket() string { return p.key[:8] + ".sock" }

// formerSocket is the name that older versions gave. The identity in it is in pull requests.
func (p place) formerSocket() string { return p.id[:8] + ".sock" }

// homes holds what the programs of the session's agents remember. It goes with the session.
func (p place) homes(stateHome string) string { return filepath.Join(stateHome, "homes", p.String()) }

// ProbeSocket has the length of each path that sessions listen at in runtimeDir.
func ProbeSocket(runtimeDir string) string {
	return filepath.Join(runtimeDir, place{key: "00000000"}.socket())
}

// Socket is where the tmux server of the session in dir listens. Each session has a server of
// its own.
func Socket(runtimeDir, dir string, s *orchestrator.State) string {
	return filepath.Join(runtimeDir, placeOf(dir, s).socket())
}

// OwnSocket reports whether path has a name that the server of the session in dir listens under,
// be it that of an older version.
func OwnSocket(path, dir string, s *orchestrator.State) bool {
	p, base := placeOf(dir, s), filepath.Base(path)
	return filepath.IsAbs(path) && (base == p.socket() || base == p.formerSocket())
}

// socketOf is where the session's server listens: where an older version started one it stays.
func socketOf(runtimeDir string, sess *session.Session, s *orchestrator.State) string {
	noted := sess.ReadRuntime().Socket
	if filepath.Dir(noted) == filepath.Clean(runtimeDir) && OwnSocket(noted, sess.Dir, s) {
		return noted
	}
	return Socket(runtimeDir, sess.Dir, s)
}

// errRuntimeDir means that there can be no socket. What is wrong there no further try mends.
var errRuntimeDir = errors.New("no directory for sockets")

// makeRuntimeDir makes the directory of the sockets, which must be closed to others.
func makeRuntimeDir(dir string) error {
	if err := shield.MakePrivate(dir); err != nil {
		return fmt.Errorf("%w: %w; set XDG_RUNTIME_DIR to a directory of your own, or have the system keep yours after logout with \"loginctl enable-linger\"", errRuntimeDir, err)
	}
	return nil
}
