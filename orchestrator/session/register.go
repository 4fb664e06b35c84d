package session

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
)

// Register is where the state home notes the sessions that were made on this machine, or
// taken over on a person's word. A directory of sessions may come with a repository or an
// archive, and says what it likes; only one that is noted here is believed.
type Register struct{ dir string }

// OpenRegister returns the register of a state home. It touches nothing.
func OpenRegister(stateHome string) Register { return Register{filepath.Join(stateHome, "made")} }

// Note is what is noted of one session. Nothing of it comes from the session's directory.
type Note struct {
	ID     string `json:"id"`     // State.Identity
	Secret string `json:"secret"` // State.Noted
	Path   string `json:"path"`   // of the session directory, as last seen

	Roots []string `json:"roots,omitempty"` // below which workspaces of it were made
}

// ForeignReason says why a session is not believed.
type ForeignReason string

const (
	ForeignUnknown ForeignReason = "unknown" // nothing is noted of it
	ForeignForged  ForeignReason = "forged"  // its state is not the one that was noted
	ForeignCopy    ForeignReason = "copy"    // the noted one is elsewhere
	ForeignTracked ForeignReason = "tracked" // git tracks its files
	ForeignLink    ForeignReason = "link"    // it is reached through a symbolic link
)

// ForeignError says that this machine neither made nor took over a session.
type ForeignError struct {
	Name, Dir string
	Reason    ForeignReason
	Place     string // ForeignCopy: of the noted one; ForeignLink: the link
}

// Error names the session, what is wrong, and the next step.
func (e *ForeignError) Error() string {
	adopt := "; agentmux resume --adopt " + e.Dir + " shows what it is and takes it"
	switch e.Reason {
	case ForeignForged:
		return e.Name + " is not the session that was made on this machine: its state.json lacks what was noted" + adopt
	case ForeignCopy:
		return e.Name + " is a copy of the session in " + e.Place + adopt
	case ForeignTracked:
		return e.Name + " came with the repository: git tracks files of " + e.Dir + "; git rm -r --cached takes them out, nothing continues such a session"
	case ForeignLink:
		return e.Name + " is refused: " + e.Place + " is a symbolic link"
	}
	return e.Name + " was not made on this machine" + adopt
}

var identityRule = regexp.MustCompile(`^[0-9a-f]{8}([0-9a-f]{8})?$`)

// ValidIdentity reports whether a text, which may be of a file that somebody made, can be an
// identity.
func ValidIdentity(id string) bool { return identityRule.MatchString(id) }

func (r Register) file(id string) string { return filepath.Join(r.dir, id+".json") }

// Read returns a note; the error is fs.ErrNotExist if there is none.
func (r Register) Read(id string) (Note, error) {
	var n Note
	if !ValidIdentity(id) {
		return n, fs.ErrNotExist
	}
	data, err := readOwn(r.file(id), 1<<16)
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(data, &n); err != nil || n.ID != id {
		return Note{}, fmt.Errorf("%s is damaged; remove it, and agentmux resume --adopt takes its session again", r.file(id))
	}
	return n, nil
}

// At returns the notes of the sessions that were last seen in a directory: one, and those of
// earlier ones of its name that were deleted by hand.
func (r Register) At(dir string) []Note {
	found, _ := filepath.Glob(filepath.Join(r.dir, "*.json")) // the form is a good one
	var notes []Note
	for _, file := range found {
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		if n, err := r.Read(id); err == nil && n.Path == dir {
			notes = append(notes, n)
		}
	}
	return notes
}

// Write notes a session, in the place of an earlier note of it.
func (r Register) Write(n Note) error {
	data, err := json.Marshal(n)
	if err == nil {
		err = durable.MkdirAll(r.dir)
	}
	if err == nil {
		err = durable.Replace(r.file(n.ID), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note session %s: %w", filepath.Base(n.Path), err)
	}
	return nil
}

// Remove forgets a session. One that is not noted is success.
func (r Register) Remove(id string) error {
	if !ValidIdentity(id) {
		return nil
	}
	if err := os.Remove(r.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget session %s: %w", id, err)
	}
	return r.release(id)
}

// Vouch returns the note of the session in dir, whose state is s, or a *ForeignError. The note
// names another path if the session was moved since.
func (r Register) Vouch(dir string, s *orchestrator.State) (Note, error) {
	foreign := &ForeignError{Name: filepath.Base(dir), Dir: dir, Reason: ForeignUnknown}
	n, err := r.Read(s.Identity)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return n, foreign
	case err != nil:
		return n, err
	case subtle.ConstantTimeCompare([]byte(n.Secret), []byte(s.Noted)) != 1:
		foreign.Reason = ForeignForged
		return n, foreign
	case n.Path == dir:
		return n, nil
	}
	// Moved with its project, unless the one that was noted is still there.
	if there, err := Open(n.Path); err == nil {
		if state, err := there.ReadState(); err != nil || state.Identity == s.Identity {
			foreign.Reason, foreign.Place = ForeignCopy, n.Path
			return n, foreign
		}
	}
	return n, nil
}

// Moved makes what the session tells its agents of its own place true again, after its
// directory was moved.
func (s *Session) Moved(from string) error {
	def, err := s.Definition()
	if err != nil {
		return err
	}
	text, err := readOwn(s.Path(ContextFile), 1<<20)
	if err != nil || string(text) != contextText(from, def) {
		return nil //nolint:nilerr // a text that is not ours stays as it is
	}
	return s.disk.Replace(s.Path(ContextFile), []byte(contextText(s.Dir, def)))
}
