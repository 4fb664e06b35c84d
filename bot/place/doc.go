// Package place names what belongs to a session where the sessions of all clones and projects
// of a machine meet: refs of a store, directories below the state home, and the
// socket of its tmux server in the runtime directory.
//
// It creates the runtime directory, which must be closed to other users, and writes nothing
// else. Names of older versions are still recognized.
package place
