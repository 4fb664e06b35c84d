package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// EnsureDirs makes directories of the session, with their parents.
func (s *Session) EnsureDirs(rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		if err := s.disk.MkdirAll(s.Path(rel)); err != nil {
			return err
		}
	}
	return nil
}

// Replace makes data the content of a file of the host, with its directory.
func (s *Session) Replace(rel string, data []byte) error {
	if err := s.local(rel); err != nil {
		return err
	}
	if err := s.EnsureDirs(path.Dir(rel)); err != nil {
		return err
	}
	return s.disk.Replace(s.Path(rel), data)
}

// View is Replace without waiting for the disk, for files no decision is made
// from.
func (s *Session) View(rel string, data []byte) error {
	if err := s.local(rel); err != nil {
		return err
	}
	return s.disk.View(s.Path(rel), data)
}

// WriteBlob makes the content kept under a hash the content of a file.
func (s *Session) WriteBlob(rel, sha256 string) error {
	data, err := s.Blob(sha256)
	if err != nil {
		return err
	}
	return s.Replace(rel, data)
}

// Mark makes an empty file, unless there is a file.
func (s *Session) Mark(rel string) error {
	if err := s.local(rel); err != nil {
		return err
	}
	if err := s.EnsureDirs(path.Dir(rel)); err != nil {
		return err
	}
	if err := s.disk.Create(s.Path(rel), nil); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// MoveAside renames the files, where they exist, to <stem>.stale-<visit>.<ext>.
// A second call finds nothing to do.
func (s *Session) MoveAside(visit int, rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		from, ext := s.Path(rel), path.Ext(rel)
		to := fmt.Sprintf("%s.stale-%d%s", strings.TrimSuffix(from, ext), visit, ext)
		if err := s.gone(from, s.disk.Rename(from, to)); err != nil {
			return fmt.Errorf("move %s aside: %w", rel, err)
		}
	}
	return nil
}

// Orphan renames the files of messages that reached nobody, where they exist, to
// <stem>-orphan.md. A second call finds nothing to do.
func (s *Session) Orphan(rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		from := s.Path(rel)
		if err := s.gone(from, s.disk.Rename(from, strings.TrimSuffix(from, ".md")+"-orphan.md")); err != nil {
			return fmt.Errorf("rename message %s: %w", rel, err)
		}
	}
	return nil
}

// Remove removes files of the host and consumed ones; missing ones are fine.
func (s *Session) Remove(rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		if err := s.gone(s.Path(rel), s.disk.Remove(s.Path(rel))); err != nil {
			return fmt.Errorf("remove %s: %w", rel, err)
		}
	}
	return nil
}

// gone takes a missing file for one that a call before did away with. That call may
// have been killed before the disk knew, and whoever asks now will count on it.
func (s *Session) gone(file string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = s.disk.SyncDir(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Session) local(rel string) error {
	if !filepath.IsLocal(rel) {
		return fmt.Errorf("%q is not below the session directory", rel)
	}
	return nil
}
