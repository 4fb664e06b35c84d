package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// MaxArtifact is the size limit of an artifact: 1 MiB.
const MaxArtifact = 1 << 20

// ArtifactError says in words for its author what is wrong with a file that
// ReadRegular refused. A missing file is fs.ErrNotExist.
type ArtifactError struct {
	// Path is the file relative to the root it was looked up in.
	Path string
	// Problem is the part after the path: "is a symbolic link".
	Problem string

	cause error
}

// Error gives one sentence without a period.
func (e *ArtifactError) Error() string { return e.Path + " " + e.Problem }

// Unwrap gives fs.ErrNotExist for a missing file, else nil.
func (e *ArtifactError) Unwrap() error { return e.cause }

// ReadRegular reads the file rel below the directory root, written by a program
// that is not trusted. It must be a regular file of at most limit bytes, reached
// through directories only (below root no part may be a symbolic link), valid
// UTF-8 and free of NUL; every breach is an *ArtifactError, other errors are
// this machine's. A byte order mark is dropped. Line ends stay as they are: CRLF
// is accepted and kept, so that the bytes that are checked, hashed and used are
// the same.
func ReadRegular(root, rel string, limit int64) ([]byte, error) {
	f, err := openBelow(root, rel)
	if err != nil {
		return nil, artifactError(rel, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", rel, err)
	}
	if int64(len(data)) > limit {
		return nil, &ArtifactError{Path: rel, Problem: "is larger than " + sizeText(limit)}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if problem := textProblem(data); problem != "" {
		return nil, &ArtifactError{Path: rel, Problem: problem}
	}
	return data, nil
}

// Blank reports whether data is only white space.
func Blank(data []byte) bool { return len(bytes.TrimFunc(data, unicode.IsSpace)) == 0 }

// openBelow opens the regular file rel below root. Each part is looked at, then
// opened, then compared with what was looked at, so a part that is exchanged
// for a symbolic link in between is noticed.
func openBelow(root, rel string) (*os.File, error) {
	if !filepath.IsLocal(rel) || filepath.Clean(rel) == "." {
		return nil, &ArtifactError{Path: rel, Problem: "is not a path below its directory"}
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { dir.Close() }()
	parts := strings.Split(filepath.Clean(rel), string(filepath.Separator))
	for i, part := range parts[:len(parts)-1] {
		below, err := enter(dir, part, filepath.Join(parts[:i+1]...))
		if err != nil {
			return nil, err
		}
		dir.Close()
		dir = below
	}
	return openFile(dir, parts[len(parts)-1], rel)
}

// enter opens the directory name of dir; shown is its name for people.
func enter(dir *os.Root, name, shown string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if seen.Mode()&fs.ModeSymlink != 0 {
		return nil, &ArtifactError{Path: shown, Problem: "is a symbolic link"}
	}
	if !seen.IsDir() {
		return nil, &ArtifactError{Path: shown, Problem: "is not a directory"}
	}
	below, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := below.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = &ArtifactError{Path: shown, Problem: "changed while it was read"}
	}
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	return below, nil
}

func openFile(dir *os.Root, name, shown string) (*os.File, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if problem := modeProblem(seen.Mode()); problem != "" {
		return nil, &ArtifactError{Path: shown, Problem: problem}
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(seen, opened)) {
		err = &ArtifactError{Path: shown, Problem: "changed while it was read"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func modeProblem(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode&fs.ModeSymlink != 0:
		return "is a symbolic link"
	case mode.IsDir():
		return "is a directory"
	default:
		return "is not a regular file"
	}
}

func textProblem(data []byte) string {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return fmt.Sprintf("holds a NUL byte in line %d", lineOf(data, i))
	}
	if utf8.Valid(data) {
		return ""
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return fmt.Sprintf("is not valid UTF-8 in line %d", lineOf(data, i))
		}
		i += n
	}
}

func lineOf(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte{'\n'}) }

func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// artifactError makes a missing file the author's error; other errors of the
// system stay what they are.
func artifactError(rel string, err error) error {
	var known *ArtifactError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return &ArtifactError{Path: rel, Problem: "does not exist", cause: fs.ErrNotExist}
	default:
		return fmt.Errorf("read %s: %w", rel, err)
	}
}
