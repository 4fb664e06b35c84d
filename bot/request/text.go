package request

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// ReadText returns arg, or the content of the .md file it names, with the title that the
// session is named after. What names another file is refused: its name alone is hardly what is asked for.
func ReadText(arg string) (request, title string, err error) {
	if arg == "-" {
		return "", "", refuse(errors.New("a request is not read from the standard input: say in words what is wanted, or name an .md file"))
	}
	info, missing := os.Stat(arg)
	if missing == nil && info.IsDir() {
		return "", "", refuse(fmt.Errorf("%s is a directory, not a request: say in words what is wanted, or name an .md file; --project %s works in that directory", arg, arg))
	}
	if !strings.HasSuffix(arg, ".md") {
		if missing == nil {
			return "", "", refuse(fmt.Errorf("%s is a file, and a request is read from an .md file alone: name it so, pass its text as \"$(cat %s)\", "+
				"or put a full stop behind a request in words", arg, arg))
		}
		return arg, arg, readable("the request", arg)
	}
	data, err := os.ReadFile(arg)
	if err != nil {
		return "", "", refuse(fmt.Errorf("%s cannot be read: %w; what ends in .md is taken for a file: give its path, or put a full stop behind a request in words", arg, bare(err)))
	}
	return string(data), strings.TrimSuffix(filepath.Base(arg), ".md"), readable(arg, string(data))
}

// readable refuses a request that cannot be part of a prompt: its session could only fail.
func readable(what, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return refuse(fmt.Errorf("%s is not UTF-8 text; save it as UTF-8", what))
	}
	return nil
}

// bare returns the error of a file without its operation and path.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
