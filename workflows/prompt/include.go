package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxInclude bounds one inserted file; the rest of a longer one is cut.
const maxInclude = 1 << 20

var (
	pathValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<([a-z_]+)>`) })
	plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$`) })
)

// include returns the text of a file below the session directory. In its path
// <subplan>, <task> and <role> are replaced by the value of that placeholder.
func (p *prompt) include(path string, optional bool) string {
	path, err := p.path(path)
	if err == nil {
		var text string
		text, err = readBelow(p.Root, path)
		if err == nil || optional && errors.Is(err, fs.ErrNotExist) {
			return text
		}
	}
	p.fail("include %q: %w", path, err)
	return ""
}

func (p *prompt) path(path string) (string, error) {
	var err error
	out := pathValue().ReplaceAllStringFunc(path, func(m string) string {
		name := m[1 : len(m)-1]
		switch value := p.Values[name]; {
		case !slices.Contains([]string{"subplan", "task", "role"}, name):
			err = fmt.Errorf("<%s> cannot be part of a path", name)
		case !plainWord().MatchString(value):
			err = fmt.Errorf("<%s> is %q, which cannot be part of a path", name, value)
		default:
			return value
		}
		return m
	})
	if err != nil {
		return path, err
	}
	if !fs.ValidPath(out) || out == "." || strings.ContainsAny(out, "\\\x00") {
		return path, errors.New("the path must be relative, with no . or .. in it")
	}
	return out, nil
}

// readBelow reads a regular file, no part of whose path is a symbolic link.
func readBelow(dir, path string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open session directory: %w", err)
	}
	defer root.Close()
	parts := strings.Split(path, "/")
	for i := range parts {
		info, err := root.Lstat(strings.Join(parts[:i+1], "/"))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("a symbolic link is not followed")
		}
		if i == len(parts)-1 && !info.Mode().IsRegular() {
			return "", errors.New("not a regular file")
		}
	}
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return cutText(f)
}

// readText reads a template or a text of the project.
func readText(fsys fs.FS, file string) (string, error) {
	if fsys == nil {
		return "", fs.ErrNotExist
	}
	f, err := fsys.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file", file)
	}
	return cutText(f)
}

// cutText reads at most maxInclude bytes of a text, and says so if there are more.
func cutText(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInclude+1))
	if err != nil {
		return "", err
	}
	long := len(data) > maxInclude
	if long {
		data = wholeRunes(data[:maxInclude])
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case !utf8.Valid(data):
		return "", errors.New("not valid UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return "", errors.New("holds a NUL byte")
	case long:
		return string(data) + "\n[cut: only the first 1 MiB is shown]", nil
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}

// wholeRunes drops the beginning of a character that a cut has left at the end.
func wholeRunes(data []byte) []byte {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRune(data); r != utf8.RuneError || size != 1 {
			break
		}
		data = data[:len(data)-1]
	}
	return data
}
