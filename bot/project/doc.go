// Package project is what a session is made for: a person's clone, or the directory that the
// program keeps for a repository it serves by itself. It finds the clone's place on the server
// and its host repository, chooses the commit that a session starts from, and shows files of
// a commit: the project's own settings, what of them an agent's program would read, and the
// workflows of GitHub Actions that a push would start.
//
// It writes refs of the host repository, the managed projects and what a person has allowed,
// all below the state home, and into a workspace that it is asked to prepare. Nothing in a
// clone changes. A Project may be used by several goroutines.
package project
