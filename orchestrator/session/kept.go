package session

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/agentmux/agentmux/internal/durable"
)

// keptFiles at the root are what a session is made of, the state first: what else is
// read later can only be newer, and a session takes records behind its state's number
// as not written.
var keptFiles = []string{
	StateFile, StateBackup, RequirementsFile, ContextFile, SnapshotFile, DefinitionFile, AgentsFile,
	EventsFile, ToolEvents, Commands, ToolCursorFile, MirrorFile,
}

// keptDirs hold more of it. What agents print, how they were launched, locks, views of
// panes and logs are of this machine.
var keptDirs = []string{BlobsDir, MessagesDir, "queues", "offsets", SignalsDir, PlansDir, ChangelogsDir}

var (
	phaseDir  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{2}_[a-z0-9_]+$`) })
	phaseFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(done_[0-9]+|[^.].*\.(md|yaml|json|diff))$`) })
)

// Kept returns the content of every file that the session can be made again from
// elsewhere, by path, as long as all together stay below limit; left says what is wrong
// with the others. Nothing is read through a symbolic link. An error means that the state
// itself cannot be read.
func (s *Session) Kept(limit int64) (files map[string][]byte, left map[string]string, err error) {
	names, err := s.kept()
	if err != nil {
		return nil, nil, err
	}
	files, left = map[string][]byte{}, map[string]string{}
	for _, rel := range names {
		data, err := durable.ReadRegular(s.Dir, rel, limit)
		var bad *durable.ArtifactError
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.As(err, &bad):
			left[rel] = bad.Problem
		case err != nil && rel == StateFile:
			return nil, nil, err // without it the rest is not a session
		case err != nil:
			left[rel] = "cannot be read"
			if cause := syscall.Errno(0); errors.As(err, &cause) {
				left[rel] += ": " + cause.Error()
			}
		case int64(len(data)) > limit:
			left[rel] = "is too large"
		default:
			files[rel] = data
			limit -= int64(len(data))
		}
	}
	return files, left, nil
}

// kept lists the files, those that matter most first.
func (s *Session) kept() ([]string, error) {
	names := slices.Clone(keptFiles)
	top, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	for _, dir := range keptDirs {
		names = append(names, s.below(dir, func(string) bool { return true })...)
	}
	for _, e := range top {
		if e.IsDir() && phaseDir().MatchString(e.Name()) {
			names = append(names, s.below(e.Name(), phaseFile().MatchString)...)
		}
	}
	return names, nil
}

// below lists the files below a directory whose names match, except temporary ones. A
// directory that cannot be read has none.
func (s *Session) below(dir string, match func(name string) bool) []string {
	var names []string
	_ = filepath.WalkDir(s.Path(dir), func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // what cannot be listed is not kept
		}
		rel, err := filepath.Rel(s.Dir, file)
		if err == nil && match(e.Name()) && !strings.HasPrefix(e.Name(), ".") && path.Ext(e.Name()) != ".tmp" {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names
}
