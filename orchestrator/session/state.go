package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/agentmux/agentmux/orchestrator"
)

// ReadState reads state.json. The error is a *CorruptError, a *NewerError or a
// *NotFoundError where one of them fits. The phase is checked against the
// session's definition.
func (s *Session) ReadState() (*orchestrator.State, error) { return s.readState(StateFile) }

func (s *Session) readState(name string) (*orchestrator.State, error) {
	data, err := readOwn(s.Path(name), orchestrator.MaxStateBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{What: s.Name()}
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	state, err := orchestrator.Decode(data)
	if err != nil {
		return nil, s.stateError(err)
	}
	if err := s.checkPhase(state); err != nil {
		return nil, err
	}
	return state, nil
}

func (s *Session) checkPhase(state *orchestrator.State) error {
	if state.Phase == orchestrator.PhaseDone || state.Phase == orchestrator.PhaseFailed {
		return nil
	}
	if state.Kind == orchestrator.KindAgents {
		if state.Phase != agentsPhase {
			return s.corrupt("phase %q is not one of an agents session", state.Phase)
		}
		return nil
	}
	def, err := s.Definition()
	if err != nil {
		return err
	}
	if _, ok := def.Phase(state.Phase); !ok {
		return s.corrupt("phase %q is not in its definition", state.Phase)
	}
	if !state.IsClassic() && state.DefinitionSHA256 != "" && state.DefinitionSHA256 != s.defHash {
		return s.corrupt("%s is not the one the session was made with", DefinitionFile)
	}
	return nil
}

func (s *Session) corrupt(format string, args ...any) error {
	return &CorruptError{Name: s.Name(), Reason: fmt.Sprintf(format, args...)}
}

// FromBackup makes the state before the last phase entry the present one. The
// lock must be held; Recover must follow.
func (s *Session) FromBackup() error {
	if _, err := s.readState(StateBackup); err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	data, err := readOwn(s.Path(StateBackup), orchestrator.MaxStateBytes+1)
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	if err := s.disk.Replace(s.Path(StateFile), data); err != nil {
		return fmt.Errorf("restore backup: %w", err)
	}
	return nil
}

// Overwritten reports whether somebody replaced or changed state.json since this
// host wrote it. It reports each such change once: the next Commit puts the
// host's own version back.
func (s *Session) Overwritten() bool {
	if s.stateFile == nil {
		return false
	}
	now, err := os.Lstat(s.Path(StateFile))
	if err == nil && os.SameFile(now, s.stateFile) && now.Size() == s.stateFile.Size() &&
		now.ModTime().Equal(s.stateFile.ModTime()) {
		return false
	}
	if err == nil {
		s.stateFile = now
		return true
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.stateFile = nil
		return true
	}
	return false
}

// readOwn reads a regular file of ours, at most limit bytes of it, and does not
// follow a symbolic link.
func readOwn(path string, limit int64) ([]byte, error) {
	f, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
