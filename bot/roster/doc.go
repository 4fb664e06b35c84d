// Package roster is what a run of an agents file has around its session: what of branches and
// directories keeps it from starting, the branches it reserves, the link .dmux/signals to its
// markers, and the changelog of its agents.
//
// It writes changelogs/<name>.md and markers made by hand into the directory of the session, and
// the link into the project of the person. The link replaces nothing but one of an earlier run,
// and what a repository brings along in its place is not followed.
package roster
