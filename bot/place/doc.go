// Package place names what belongs to a session where the sessions of all clones and projects
// of a machine meet: refs of a host repository, directories below the state home, and the
// socket of its tmux server in the runtime directory. It makes that directory and writes
// nothing else.
package place
