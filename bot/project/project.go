package project

import (
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo"
)

// Project is the clone a session is made for, with its place on the server.
type Project struct {
	Clone gitrepo.Clone
	Host  string      // server of origin, as github.com; empty if it is none
	Repo  ghsync.Repo // of origin; zero if its address is no owner/name
	User  gitrepo.UserConfig
	// GitHub reports whether origin is on the configured server, so that issues and
	// pull requests are its.
	GitHub bool

	// Managed says that the program made the directory for itself: there is no clone in
	// it, and everything comes from the server.
	Managed bool

	Store  *gitrepo.Host
	Remote *gitrepo.Remote // nil: nothing is fetched from or pushed to
	Edited restored

	stateHome string // of who opened it
}
