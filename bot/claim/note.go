package claim

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/durable"
)

// noteFile is the name of a Note in its session directory.
const noteFile = "claim.json"

// maxNote bounds what is read of it.
const maxNote = 64 << 10

// Note is claim.json of a session: what its next host has to know of the claims of the last one.
// It is written with the host id before the first claim is pushed, so that no claim of the session
// is without an owner. What was pushed and not noted before a kill is told by the server: see
// Desk.Leftovers.
type Note struct {
	Host   HostID      `json:"host"`
	Claims []NoteClaim `json:"claims"`
	// Checkpoint is the commit that this session pushed last to its ref of checkpoints.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// NoteClaim is a claim as it was pushed last.
type NoteClaim struct {
	Issue int    `json:"issue"`
	Gen   int    `json:"gen"`
	ID    string `json:"sha,omitempty"`
}

// NoteOf is what a note says of a claim.
func NoteOf(s Seen) NoteClaim { return NoteClaim{Issue: s.Issue, Gen: s.Claim.Gen, ID: s.ID} }

type noteForm struct {
	V int `json:"v"`
	Note
}

// ReadNote reads claim.json of a session directory. The error is fs.ErrNotExist if there is none,
// and ErrNewer if a newer agentmux wrote it.
func ReadNote(sessionDir string) (Note, error) {
	file := filepath.Join(sessionDir, noteFile)
	data, err := durable.ReadRegular(sessionDir, noteFile, maxNote)
	if err != nil {
		return Note{}, err
	}
	var head struct{ V int }
	var form noteForm
	if err := json.Unmarshal(data, &head); err != nil {
		return Note{}, fmt.Errorf("read %s: %w", file, err)
	}
	if head.V > version {
		return Note{}, fmt.Errorf("read %s: version %d: %w", file, head.V, ErrNewer)
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return Note{}, fmt.Errorf("read %s: %w", file, err)
	}
	if _, err := ParseHostID(string(form.Host)); err != nil {
		return Note{}, fmt.Errorf("read %s: %w", file, err)
	}
	return form.Note, nil
}

// Write makes the note claim.json of a session directory, which is on disk when it returns. One
// of a newer agentmux is not replaced.
func (n Note) Write(sessionDir string) error {
	if _, err := ReadNote(sessionDir); errors.Is(err, ErrNewer) {
		return err
	}
	if n.Claims == nil {
		n.Claims = []NoteClaim{}
	}
	data, err := json.MarshalIndent(noteForm{version, n}, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(sessionDir, noteFile), append(data, '\n'))
}
