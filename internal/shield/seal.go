package shield

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// sealed is the variable that names the descriptor with the rest of the environment.
const sealed = "AGENTMUX_SEALED"

// maxSealed is what a pipe holds before its reader runs; the rest stays in the open.
const maxSealed = 60 << 10

// open are the variables that stay in the list the kernel shows: none of them is a secret, and
// the Go runtime and the C library read some before we could put them back.
var open = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|TERMINFO|TERMINFO_DIRS|TERM_PROGRAM|LANG|LANGUAGE|LC_[A-Z]+|TZ|PWD|TMPDIR|XDG_[A-Z_]+|TMUX|TMUX_PANE|NO_COLOR|CI|GO(DEBUG|MAXPROCS|GC|MEMLIMIT|COVERDIR))$`)
})

// own are variables of this program that tests and jobs steer it with.
var own = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^AGENTMUX_[A-Z_]*$`) })

// secretName is how a variable of this program says that it is secret.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`KEY|TOKEN|SECRET|PASS`) })

// Open reports whether a variable may stay in the environment that others can read.
func Open(name string) bool {
	return open().MatchString(name) || own().MatchString(name) && !secretName().MatchString(name)
}

// Clean returns those variables of an environment that others may read.
func Clean(environ []string) []string {
	clean := []string{}
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); Open(name) {
			clean = append(clean, v)
		}
	}
	return clean
}

// split takes apart what goes by the list and what goes by the pipe.
func split(environ []string) (clean []string, hidden []byte, err error) {
	secret := []string{}
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !Open(name) {
			secret = append(secret, v)
		}
	}
	// The shortest first: an enormous one is a script's data, not a key.
	slices.SortStableFunc(secret, func(a, b string) int { return len(a) - len(b) })
	size := 0
	for n, v := range secret {
		if size += 2*len(v) + 8; size > maxSealed {
			clean, secret = append(clean, secret[n:]...), secret[:n]
			break
		}
	}
	if hidden, err = json.Marshal(secret); err != nil {
		return nil, nil, fmt.Errorf("seal environment: %w", err)
	}
	return append(clean, Clean(environ)...), hidden, nil
}

// Seal gives the environment to an own program that is about to be started, which takes it
// with Unseal. The caller calls done when it was started or will not be.
func Seal(cmd *exec.Cmd, environ []string) (done func(), err error) {
	clean, r, err := pipe(environ)
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	cmd.Env = append(clean, sealed+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
	return func() { _ = r.Close() }, nil
}

// Restart runs the program of this process once more in its place, with args, its variables
// out of the others' sight. It returns only if that failed, or if there is nothing to hide.
func Restart(program string, args []string) error {
	if !slices.ContainsFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !Open(name)
	}) {
		return nil
	}
	clean, r, err := pipe(os.Environ())
	if err != nil {
		return err
	}
	defer r.Close()
	fd, err := syscall.Dup(int(r.Fd())) // the copy survives the new program
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Exec(program, args, append(clean, sealed+"="+strconv.Itoa(fd))); err != nil {
		return fmt.Errorf("restart %s: %w", program, err)
	}
	return nil
}

func pipe(environ []string) (clean []string, r *os.File, err error) {
	clean, hidden, err := split(environ)
	if err != nil {
		return nil, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("seal environment: %w", err)
	}
	defer w.Close()
	if _, err := w.Write(hidden); err != nil {
		_ = r.Close()
		return nil, nil, fmt.Errorf("seal environment: %w", err)
	}
	return clean, r, nil
}

// Unseal takes the variables that Seal or Restart put away, and reports whether there were
// any. From then on they are in this process's own list only.
func Unseal() (bool, error) {
	text, ok := os.LookupEnv(sealed)
	if !ok {
		return false, nil
	}
	if err := os.Unsetenv(sealed); err != nil {
		return true, fmt.Errorf("unseal environment: %w", err)
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return true, fmt.Errorf("unseal environment: descriptor %q", text)
	}
	r := os.NewFile(uintptr(fd), sealed)
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return true, fmt.Errorf("unseal environment: %w", err)
	}
	var variables []string
	if err := json.Unmarshal(data, &variables); err != nil {
		return true, fmt.Errorf("unseal environment: %w", err)
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return true, fmt.Errorf("unseal environment: %w", err)
		}
	}
	return true, nil
}
