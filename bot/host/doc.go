// Package host is where the program touches the world: it makes sessions, carries out
// their effects and looks at their agents. Every part below it knows one thing (git,
// tmux, the agents' programs, GitHub, the session directory) and nothing of the others;
// this package puts them together.
//
// A Host serves any number of sessions, from a command or from a bot. Prepare makes a
// session; Run takes one, owns it until it has an outcome, and hands the outcome back.
// Several Runs of one Host may go side by side.
//
// Promises: each effect is an ensure, so that carrying it out again after a kill at any
// point ends in the same files, panes, commits and pull requests; a pane is known by
// its tags and a process by its start time, never by a name; a mirror that fails never
// touches its session; nothing an agent wrote is removed before it is integrated or
// preserved.
//
// It writes below the session directory, the workspace root, the runtime directory and
// the state home, and moves refs of the host repository below refs/agentmux.
package host
