package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// ReadState reads state.json. The error is a *CorruptError, a *NewerError or a
// *NotFoundError where one of them fits. The phase is checked against the
// session's definition.
func (s *Session) ReadState() (*orchestrator.State, error) { return s.readState(StateFile) }

func (s *Session) readState(name string) (*orchestrator.State, error) {
	data, err := readOwn(s.Path(name), orchestrator.MaxStateBytes+1)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name == StateFile && s.exists(StateBackup):
		return nil, s.corrupt("%s is missing", StateFile)
	case errors.Is(err, fs.ErrNotExist):
		return nil, &NotFoundError{What: s.Name()}
	case err != nil:
		return nil, s.unusable(name, err, "")
	}
	state, err := orchestrator.Decode(data)
	if err != nil {
		return nil, s.stateError(err)
	}
	s.initial(state)
	if err := s.checkPhase(state); err != nil {
		return nil, err
	}
	return state, nil
}

// initial gives the names that a file lacks what they begin with. A phase is not among
// them: without one the file is damaged, and going on from the first phase would be a guess.
func (s *Session) initial(state *orchestrator.State) {
	if state.FeatureDir == "" {
		state.FeatureDir = s.Dir
	}
	if state.SessionName == "" {
		state.SessionName = tmuxSession(FeatureSlug(s.Name()))
	}
}

func (s *Session) checkPhase(state *orchestrator.State) error {
	ended := state.Phase == orchestrator.PhaseDone || state.Phase == orchestrator.PhaseFailed
	if state.Kind == orchestrator.KindAgents {
		if state.Phase != workflows.TeamPhase && !ended {
			return s.corrupt(StateFile+": phase %q is not one of an agents session", state.Phase)
		}
		return nil
	}
	def, err := s.Definition()
	if err != nil {
		return err
	}
	// An ended one may be resumed, and then its phase is one of the definition.
	if !state.IsClassic() && state.DefinitionSHA256 != "" && state.DefinitionSHA256 != s.defHash {
		reason := DefinitionFile + " is not the one the session was made with"
		if s.defHash == "" {
			reason = DefinitionFile + " is missing"
		}
		return &CorruptError{Name: s.Name(), Reason: reason, Next: s.restoreDefinition()}
	}
	if _, ok := def.Phase(state.Phase); !ok && !ended {
		return s.corrupt(StateFile+": phase %q is not in its definition", state.Phase)
	}
	return nil
}

func (s *Session) corrupt(format string, args ...any) error {
	return &CorruptError{Name: s.Name(), Reason: fmt.Sprintf(format, args...)}
}

// ReadBackup reads the state that FromBackup would take.
func (s *Session) ReadBackup() (*orchestrator.State, error) {
	state, err := s.readState(StateBackup)
	if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
		return nil, &CorruptError{Name: s.Name(), Reason: "there is no " + StateBackup, Next: startAgain, cause: err}
	}
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) && corrupt.Next == "" {
		reason := strings.Replace(corrupt.Reason, StateFile+":", StateBackup+":", 1)
		return nil, &CorruptError{Name: s.Name(), Reason: "the backup is none either: " + reason, Next: startAgain, cause: err}
	}
	return state, err
}

// FromBackup makes the state before the last phase entry the present one; what had
// its name is kept as state.json.damaged. The lock must be held; Recover must follow.
func (s *Session) FromBackup() error {
	if _, err := s.ReadBackup(); err != nil {
		return err
	}
	data, err := readOwn(s.Path(StateBackup), orchestrator.MaxStateBytes+1)
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	if err := s.disk.Rename(s.Path(StateFile), s.Path(stateDamaged)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the damaged state: %w", err)
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

// ReadFile reads a file of a session that a host or a person wrote. A symbolic link is
// not followed, and what is not a regular file is refused, not waited for.
func ReadFile(path string) ([]byte, error) { return readOwn(path, 64<<20) }

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

func openOwn(path string) (*os.File, error) { return ReadLog(path) }

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
