package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
)

// handedVersion is of the document that Hand writes.
const handedVersion = 1

// maxHanded is more than three configuration files, of 1 MiB each, take as a document.
const maxHanded = 8 << 20

// Handed is what a launcher read and found for the host that it starts: one JSON document on
// the standard input of the host. It holds a token, so that it is never written to a file.
type Handed struct {
	Version int            `json:"version"`
	Config  []config.File  `json:"config"` // lowest layer first
	Account account.Handed `json:"account"`
	Clone   *project.Found `json:"clone,omitempty"` // nil: the launcher did not need it
}

// Hand writes the site down for a host of its project.
func (s *Site) Hand(ctx context.Context) ([]byte, error) {
	h := Handed{Version: handedVersion, Config: s.Config.Files()}
	var err error
	if h.Account, err = s.Identity.Hand(ctx); err != nil {
		return nil, err
	}
	if s.opened != nil {
		h.Clone = s.opened.Found()
	}
	return json.Marshal(h)
}

// ReadHanded reads what Hand wrote, to the end of the stream. Errors quote nothing of it.
func ReadHanded(from io.Reader) (*Handed, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxHanded+1))
	if err != nil {
		return nil, fmt.Errorf("read what the launcher hands over: %w", err)
	}
	var version struct {
		Version int `json:"version"`
	}
	h := &Handed{}
	document := json.NewDecoder(bytes.NewReader(data))
	switch err := document.Decode(&version); {
	case len(data) > maxHanded:
		return nil, fmt.Errorf("what the launcher hands over is larger than %d MiB", maxHanded>>20)
	case errors.Is(err, io.EOF):
		return nil, errors.New("the launcher hands over nothing; without --handed the host reads everything itself")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("what the launcher hands over ends too early: was the launcher killed?")
	case err != nil:
		return nil, errNotHanded
	case version.Version != handedVersion:
		return nil, fmt.Errorf("what the launcher hands over has version %d, this agentmux reads %d: was it replaced by another version just now?", version.Version, handedVersion)
	case json.Unmarshal(data, h) != nil: // or more than one document
		return nil, errNotHanded
	}
	return h, nil
}

// errNotHanded quotes nothing: a token may be in it.
var errNotHanded = errors.New("what the launcher hands over is not the JSON document of a launcher")

// OpenHanded is Open with what a launcher has read. Warnings of the configuration were said
// there. The directory of the project is looked at here, too.
func (f *Finder) OpenHanded(ctx context.Context, log *hostlog.Log, h *Handed) (*Site, error) {
	dir, err := f.ProjectDir()
	if err != nil {
		return nil, err
	}
	c, problems := config.LoadFiles(h.Config, Home())
	if problems.Err() != nil {
		return nil, configError(problems)
	}
	s := &Site{Project: dir, Config: c, Log: log}
	if h.Clone != nil {
		s.handed = true
		s.located.Know(dir, *h.Clone)
	}
	if s.Identity, err = h.Account.Take(c, f.Tokens); err != nil {
		return nil, badSettings(err)
	}
	return s, f.Wire(ctx, s, log, true)
}
