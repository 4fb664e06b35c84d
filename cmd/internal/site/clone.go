package site

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
)

// OldestGit is the first version that merges trees without a work tree.
const OldestGit = "2.38"

// InstallHint says how to install a program.
func InstallHint(name, oldest string) string {
	line := "apt-get install " + name + ", or your system's way"
	if runtime.GOOS == "darwin" {
		line = "brew install " + name
	}
	return "install " + name + " " + oldest + " or newer: " + line
}

// CloneWords says why a directory is not a clone that can be used, and what a person can do about it.
func CloneWords(err error, dir string) (detail, hint string) {
	var temp *clone.TempError
	switch {
	case errors.As(err, &temp):
		return temp.Error(), "df " + temp.Dir + " says how much room is left"
	case errors.Is(err, clone.ErrBare):
		return dir + " is a bare repository", "agentmux works in a clone of it: git clone " + dir
	case errors.Is(err, clone.ErrNotClone):
		return dir + " is not a git clone", "go into one, or make one with git init"
	case errors.Is(err, clone.ErrForeign):
		return dir + " belongs to another user", "work in a clone of your own, or make this one yours with chown -R"
	case notFound(err):
		return NotRun("git", err), InstallHint("git", OldestGit)
	}
	return dir + ": " + strings.TrimPrefix(err.Error(), "inspect "+dir+": "), "git status says more"
}

// ExplainProject returns the words of CloneWords as a usage error.
func ExplainProject(err error, dir string) error {
	detail, hint := CloneWords(err, dir)
	return exit.Usage(fmt.Errorf("%s; %s", detail, hint))
}

// NotOnServer says why a clone has no repository on the GitHub server, and what to do.
func NotOnServer(p *project.Project, server string) string {
	switch {
	case p.Clone.Origin == "":
		return "this clone has no remote named origin: git remote add origin URL"
	case p.Host == "":
		return "origin is not a repository of a GitHub server: git remote -v"
	}
	return fmt.Sprintf("origin is on %s, not on %s: set github.host if that is your GitHub server", p.Host, server)
}

// OtherServer returns the server of an origin that is not on the GitHub server; "" if origin is
// there, or on no server.
func OtherServer(origin, server string) string {
	at := project.OriginHost(origin)
	if u, err := url.Parse(server); err != nil || strings.EqualFold(at, u.Hostname()) {
		return ""
	}
	return at
}
