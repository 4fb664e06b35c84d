package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const createdLayout = "2006-01-02 15:04:05"

var createdRule = regexp.MustCompile(`^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}  (.+)$`)

// createdLog remembers which paths created_files.log names.
type createdLog struct{ names map[string]bool }

// LogCreated adds the files that appeared since to created_files.log, each once
// in the life of the session. The log only shows people what happened: after an
// error the session continues.
func (s *Session) LogCreated(now time.Time) error {
	if s.created == nil {
		log, err := s.loadCreated()
		if err != nil {
			return err
		}
		s.created = log
	}
	names, err := s.regularFiles()
	if err != nil {
		return fmt.Errorf("list created files: %w", err)
	}
	var lines strings.Builder
	var fresh []string
	for _, name := range names {
		if shown := escape(name); !s.created.names[shown] {
			fresh = append(fresh, shown)
			lines.WriteString(createdLine(now, name))
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := s.disk.Log(s.Path(CreatedLog), []byte(lines.String())); err != nil {
		s.created = nil // lines may be there: the next call looks
		return fmt.Errorf("log created files: %w", err)
	}
	for _, name := range fresh {
		s.created.names[name] = true
	}
	return nil
}

func (s *Session) loadCreated() (*createdLog, error) {
	log := &createdLog{names: map[string]bool{}}
	f, err := openOwn(s.Path(CreatedLog))
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read created files: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read created files: %w", err)
	}
	for line := range bytes.Lines(data) {
		if m := createdRule.FindSubmatch(bytes.TrimRight(line, "\r\n")); m != nil {
			log.names[string(m[1])] = true
		}
	}
	return log, nil
}

// regularFiles lists the files the log may name: those people look for first,
// then the others in order.
func (s *Session) regularFiles() ([]string, error) {
	var names []string
	err := filepath.WalkDir(s.Dir, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		}
		rel, err := filepath.Rel(s.Dir, full)
		if err != nil || rel == "." {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() && loggable(rel) {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.SortFunc(names, byInterest)
	return names, err
}

func loggable(rel string) bool {
	return rel != CreatedLog && rel != LockFile && !strings.HasSuffix(rel, ".tmp")
}

func byInterest(a, b string) int {
	first := []string{ContextFile, RequirementsFile, StateFile}
	if d := slices.Index(first, b) - slices.Index(first, a); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func createdLine(now time.Time, rel string) string {
	return now.Format(createdLayout) + "  " + escape(rel) + "\n"
}

// escape makes a name one line of text.
func escape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02X`, name[i])
		case unicode.IsControl(r):
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, `\x%02X`, c)
			}
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}
