package clone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/internal/crash"
)

// maxExclude bounds the list of ignored files that is read.
const maxExclude = 1 << 20

// Exclude adds paths, counted from its top, to what the clone that holds dir ignores for
// its person alone. It appends the lines that are not there yet; a second call changes
// nothing.
func Exclude(ctx context.Context, dir string, paths ...string) error {
	in := inspection{}
	if _, err := in.find(ctx, dir); err != nil {
		return err
	}
	gitDir, err := in.git("rev-parse", "--path-format=absolute", "--git-common-dir").Text(ctx)
	if err != nil {
		return fmt.Errorf("exclude files of the clone: %w", err)
	}
	if err := appendLines(filepath.Join(gitDir, "info", "exclude"), paths); err != nil {
		return fmt.Errorf("exclude files of the clone: %w", err)
	}
	crash.Point("exclude in clone", "")
	return nil
}

func appendLines(file string, paths []string) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is not a regular file", file))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxExclude))
	if err != nil {
		return err
	}
	text, lines := "", strings.Split(string(data), "\n")
	for _, p := range paths {
		if line := "/" + literal(p); !slices.Contains(lines, line) {
			text += line + "\n"
		}
	}
	if text == "" {
		return nil
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		text = "\n" + text
	}
	_, err = f.WriteString(text)
	return err
}

// literal writes a path as a pattern that means nothing but it.
func literal(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}
