// Package project is what a session is made for: a person's clone, or the directory that the
// program keeps for a repository it serves by itself. It finds the clone's repository on the
// server and its store, chooses the commit that a session starts from, and reads
// files of a commit: the project's own settings, the settings that an agent's program would
// read, and the workflows of GitHub Actions that a push would start.
//
// It writes refs of the store, the managed projects and what a person has allowed,
// all below the state home, and it writes into a workspace that it prepares. It changes nothing
// in a clone. A Project may be used by several goroutines.
package project
