package bare

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// snapshot is what the files of a repository say of its refs at one moment.
type snapshot struct {
	ids    map[string]string // object ids by the full names of the refs
	symref string            // the ref that HEAD names, which may be unborn; "" for a detached HEAD
	head   string            // the object id of HEAD, "" when it is unborn
}

var (
	// plainName is narrower than git's rule for names: what it leaves out is git's to judge.
	plainName = regexp.MustCompile(`^refs(/[A-Za-z0-9_+=,%!#@-]+(\.[A-Za-z0-9_+=,%!#@-]+)*)+$`)
	plainID   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// snapshot reads the refs without git. Tests ask for refs in loops, and each run of git costs
// more than the answer. It is false for whatever is not plain (a symbolic ref besides HEAD, a
// broken ref, an odd name, another store of refs): git has to be asked then.
func (r Repo) snapshot() (snapshot, bool) {
	s := snapshot{ids: map[string]string{}}
	// The loose refs come first, as in git: one that is packed meanwhile is found in the other place.
	if !s.loose(filepath.Join(r.Dir, "refs"), "refs") || !s.packed(filepath.Join(r.Dir, "packed-refs")) {
		return s, false
	}
	info, err := os.Lstat(filepath.Join(r.Dir, "HEAD"))
	if err != nil || !info.Mode().IsRegular() {
		return s, false
	}
	data, err := os.ReadFile(filepath.Join(r.Dir, "HEAD"))
	if err != nil {
		return s, false
	}
	text := strings.TrimSuffix(string(data), "\n")
	if target, symbolic := strings.CutPrefix(text, "ref: "); symbolic {
		s.symref, s.head = target, s.ids[target]
		return s, plainRef(target)
	}
	s.head = text
	return s, plainID.MatchString(text)
}

func plainRef(name string) bool {
	return plainName.MatchString(name) && !strings.Contains(name+"/", ".lock/")
}

// loose reads the files below dir, which are the refs below name.
func (s *snapshot) loose(dir, name string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // git removes empty directories
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".lock") {
			continue
		}
		path, ref := filepath.Join(dir, e.Name()), name+"/"+e.Name()
		if e.IsDir() {
			if !s.loose(path, ref) {
				return false
			}
			continue
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		id := strings.TrimSuffix(string(data), "\n")
		if err != nil || !e.Type().IsRegular() || !plainID.MatchString(id) || !plainRef(ref) {
			return false
		}
		s.ids[ref] = id
	}
	return true
}

// packed adds the refs of the file packed-refs that are not loose, too. What it says of the
// targets of tags is left: the objects say the same.
func (s *snapshot) packed(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for line := range strings.Lines(string(data)) {
		if line[0] == '#' || line[0] == '^' {
			continue
		}
		id, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !plainID.MatchString(id) || !plainRef(ref) {
			return false
		}
		if s.ids[ref] == "" {
			s.ids[ref] = id
		}
	}
	return true
}
