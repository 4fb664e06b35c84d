package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	// helperFile is a Helper in the git that got it, and in all that it starts.
	helperFile = "/proc/self/fd/3"
	// nothing is a place where no program is, and none can be put.
	nothing = "/dev/null"
	// deaf is an address at which no server can be.
	deaf = "127.0.0.1:0"
)

// Program is the git that calls start.
func Program() (string, error) {
	found, err := exec.LookPath("git")
	if err != nil {
		return "", fmt.Errorf("find git: %w", err)
	}
	return found, nil
}

// OwnHelper returns the program that git starts to speak a transport.
func OwnHelper(ctx context.Context, transport string) (string, error) {
	dir, err := Call{Dir: "/", Args: []string{"--exec-path"}}.Text(ctx)
	if err != nil {
		return "", fmt.Errorf("find the programs of git: %w", err)
	}
	return filepath.Join(dir, "git-remote-"+transport), nil
}

// TakesHelper reports whether this git starts helper in place of its own, and that one works. A
// name that git finds no program for is an alias, and "remote-https" is one when git's own
// programs are out of its sight. That does not hold of a git which has them beside itself.
func TakesHelper(ctx context.Context, transport string, helper *os.File) bool {
	c := Call{
		Dir: "/", Transport: transport, Helper: helper,
		Args: []string{"ls-remote", "--", transport + "://" + deaf + "/"},
	}
	if _, err := os.Stat(filepath.Join(c.path(), "git-remote-"+transport)); err == nil {
		return false
	}
	_, err := c.Run(ctx)
	return Says(err, deaf) && Says(err, "unable to access") // the helper's words
}
