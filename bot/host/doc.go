// Package host makes sessions, runs them and removes them. It takes a session's lock, starts
// its engine with the mirror beside it, and hands each effect to the part that carries it out: the
// crew of the session, which knows panes and the programs of agents, or its work, which knows
// git and GitHub. Effects that need both are carried out here.
//
// A Host serves any number of sessions, from a command or from a bot. Prepare makes a
// session; Run takes one, owns it until it has an outcome, and hands the outcome back. Elsewhere makes one from
// the checkpoint of another machine; the next Run makes its workspaces again and continues it.
// Several Runs of one Host may run at the same time.
//
// Promises: each effect is an ensure, so that carrying it out again after a kill at any
// point ends in the same files, panes, commits and pull requests; a pane is identified by
// its tags and a process by its start time, never by a name; a mirror that fails does not
// affect its session; what an agent wrote is removed only after it is integrated or
// preserved.
//
// It writes below the session directory, the workspace root, the runtime directory and
// the state home, and moves refs of the store below refs/agentmux.
package host
