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

// keptFiles at the root are what a session is made of. The state comes before all but what the mirror did: what is read later
// can only be newer, and a session takes records behind its state's number as not written. A mirror that knew of such
// records would leave out what the next ones with their numbers ask for.
var keptFiles = []string{
	MirrorFile, StateFile, StateBackup, RequirementsFile, ContextFile, SnapshotFile, DefinitionFile, AgentsFile,
	EventsFile, ToolEvents, Commands, ToolCursorFile, MessagesLog,
}

// keptDirs hold more of it. What agents print, how they were launched, locks, panes and logs are of this machine.
var keptDirs = []string{BlobsDir, MessagesDir, QueuesDir, OffsetsDir, SignalsDir, PlansDir, ChangelogsDir}

var (
	phaseDir  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{2}_[a-z0-9_]+$`) })
	phaseFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(done_[0-9]+|[^.].*\.(md|yaml|json|diff))$`) })
)

// Kept returns the content of every file that the session can be made again from
// elsewhere, by path, as long as all together stay below limit; left says what is wrong
// with the others. Nothing is read through a symbolic link. An error means that the state
// itself cannot be read.
func (s *Session) Kept(limit int64) (files map[string][]byte, left map[string]string, err error) {
	files, left = map[string][]byte{}, map[string]string{}
	for _, rel := range s.kept() {
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

// Keeps reports whether a path below the session is that of a file it can be made again from.
func Keeps(rel string) bool {
	dir, _, deep := strings.Cut(rel, "/")
	if !deep {
		return slices.Contains(keptFiles, rel)
	}
	return fs.ValidPath(rel) && !strings.Contains(rel, "/.") && path.Ext(rel) != ".tmp" &&
		(dir == MirrorsDir || slices.Contains(keptDirs, dir) || phaseDir().MatchString(dir) && phaseFile().MatchString(path.Base(rel)))
}

// kept lists the files, those that matter most first.
func (s *Session) kept() []string {
	names := append(s.below(MirrorsDir), keptFiles...)
	top, _ := os.ReadDir(s.Dir) // where that fails, the state cannot be read either
	for _, dir := range keptDirs {
		names = append(names, s.below(dir)...)
	}
	for _, e := range top {
		if e.IsDir() && phaseDir().MatchString(e.Name()) {
			names = append(names, s.below(e.Name())...)
		}
	}
	return names
}

// below lists the files of a directory that are kept. One that cannot be read has none.
func (s *Session) below(dir string) (names []string) {
	_ = filepath.WalkDir(s.Path(dir), func(file string, e fs.DirEntry, err error) error {
		rel, bad := filepath.Rel(s.Dir, file)
		if err == nil && bad == nil && !e.IsDir() && Keeps(filepath.ToSlash(rel)) {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names
}
