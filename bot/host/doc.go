// Package host makes sessions, runs them and removes them. It takes a session's lock, starts
// its engine with the mirror beside it, and finds who carries out each effect: the crew of the
// session, which knows panes and the programs of agents, or its work, which knows git and
// GitHub. What takes both is done here.
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
