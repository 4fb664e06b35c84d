package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const createdLayout = "2006-01-02 15:04:05"

// createdLog remembers which paths created_files.log names.
type createdLog struct {
	names map[string]bool // as the log shows them
	seen  map[string]bool // as they are, of those that LogCreated met
}

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
	var names []string
	if err := s.listFiles("", &names); err != nil {
		return fmt.Errorf("list created files: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return s.created.seen[name] })
	slices.SortFunc(names, byInterest)
	var lines strings.Builder
	var fresh []string
	for _, name := range names {
		s.created.seen[name] = true
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
	log := &createdLog{names: map[string]bool{}, seen: map[string]bool{}}
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
		at, name, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), "  ")
		if _, err := time.Parse(createdLayout, at); err == nil && name != "" {
			log.names[name] = true
		}
	}
	return log, nil
}

// listFiles adds the files the log may name of a directory, which is "" or ends with a slash. It
// runs whenever something was written, so it keeps to what each name needs.
func (s *Session) listFiles(dir string, names *[]string) error {
	entries, err := os.ReadDir(s.Dir + string(filepath.Separator) + dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch rel := dir + name; {
		case name[0] == '.':
		case entry.IsDir():
			if err := s.listFiles(rel+"/", names); err != nil {
				return err
			}
		case entry.Type().IsRegular() && loggable(rel):
			*names = append(*names, rel)
		}
	}
	return nil
}

func loggable(rel string) bool {
	return rel != CreatedLog && rel != LockFile && !strings.HasSuffix(rel, ".tmp")
}

// byInterest puts the files people look for first before the others, which it sorts.
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
