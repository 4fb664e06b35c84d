package project

import (
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// Project is the clone a session is made for, with its place on the server.
type Project struct {
	Clone clone.Clone
	Host  string      // server of origin, as github.com; empty if origin is not on a server
	Repo  ghsync.Repo // of origin; zero if its address is not an owner/name
	User  remote.UserConfig
	// GitHub reports whether origin is on the configured server, so that its
	// issues and pull requests are there.
	GitHub bool

	// Managed reports whether the program made the directory itself: it holds no clone, and
	// everything comes from the server.
	Managed bool

	Store  *gitrepo.Store
	Remote *remote.Repository // nil: nothing is fetched or pushed
	Edited restored

	stateHome string // of who opened it
}
