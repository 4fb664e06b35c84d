// Package register keeps, below the state home, which sessions were made on this machine or
// taken over on a person's word, and which branches they reserve. A session that is not noted
// here is foreign: it is shown, and not continued.
//
// A note is replaced whole. A branch is kept for one session until that session is removed. A process that
// ends before its session is made keeps nothing for it.
package register

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Register is where the state home notes the sessions that were made on this machine, or
// taken over on a person's word. A directory of sessions may come with a repository or an
// archive, and says what it likes; only one that is noted here is believed.
type Register struct{ dir string }

// Open returns the register of a state home. It touches nothing.
func Open(stateHome string) Register { return Register{filepath.Join(stateHome, "made")} }

// Note is what is noted of one session. Nothing of it comes from the session's directory.
type Note struct {
	ID     string `json:"id"`     // State.Identity
	Secret string `json:"secret"` // State.Noted
	Path   string `json:"path"`   // of the session directory, as last seen

	Roots []string `json:"roots,omitempty"` // below which workspaces of it were made
}

// Reason says why a session is not believed.
type Reason string

const (
	Unknown Reason = "unknown" // nothing is noted of it
	Forged  Reason = "forged"  // its state is not the one that was noted
	Copy    Reason = "copy"    // the noted one is elsewhere
	Tracked Reason = "tracked" // git tracks its files
	Link    Reason = "link"    // it is reached through a symbolic link
)

// ForeignError says that this machine neither made nor took over a session.
type ForeignError struct {
	Name, Dir string
	Reason    Reason
	Place     string // Copy: of the noted one; Link: the link
}

// Error names the session, what is wrong, and the next step.
func (e *ForeignError) Error() string {
	adopt := "; agentmux resume --adopt " + e.Dir + " shows what it is and takes it"
	switch e.Reason {
	case Forged:
		return e.Name + " is not the session that was made on this machine: its state.json lacks what was noted" + adopt
	case Copy:
		return e.Name + " is a copy of the session in " + e.Place + adopt
	case Tracked:
		return e.Name + " came with the repository: git tracks files of " + e.Dir + "; git rm -r --cached takes them out, nothing continues such a session"
	case Link:
		return e.Name + " is refused: " + e.Place + " is a symbolic link"
	}
	return e.Name + " was not made on this machine" + adopt
}

func (r Register) file(id string) string { return filepath.Join(r.dir, id+".json") }

// Read returns a note; the error is fs.ErrNotExist if there is none.
func (r Register) Read(id string) (Note, error) {
	var n Note
	if !session.ValidIdentity(id) {
		return n, fs.ErrNotExist
	}
	data, err := session.ReadFile(r.file(id))
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
	if !session.ValidIdentity(id) {
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
	foreign := &ForeignError{Name: filepath.Base(dir), Dir: dir, Reason: Unknown}
	n, err := r.Read(s.Identity)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return n, foreign
	case err != nil:
		return n, err
	case subtle.ConstantTimeCompare([]byte(n.Secret), []byte(s.Noted)) != 1:
		foreign.Reason = Forged
		return n, foreign
	case n.Path == dir:
		return n, nil
	}
	// Moved with its project, unless the one that was noted is still there.
	if there, err := session.Open(n.Path); err == nil {
		if state, err := there.ReadState(); err != nil || state.Identity == s.Identity {
			foreign.Reason, foreign.Place = Copy, n.Path
			return n, foreign
		}
	}
	return n, nil
}
