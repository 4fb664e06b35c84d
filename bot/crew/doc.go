// Package crew runs the agents of one session in their panes: it starts and stops them, observes
// them, delivers messages and answers the dialogs that their programs open with. It renders
// their prompts and gives them what the sandbox allows of the machine. Of git it knows only the
// settings that a project has for the agents' programs; what its prompts need of the work it
// declares as an interface (Sources).
//
// Promises: a pane is known by its tags and a process by its start time, never by a name. To
// start or stop a launch a second time ends in the same panes and files, at whatever line a
// former host was killed. A lost tmux server is replaced, and the launches that ended with it
// are remembered. A Crew may be used by several goroutines for different launches.
//
// It writes the launches, prompts and transcripts of the session directory, the homes of
// agents below the state home, and sockets in the runtime directory.
package crew
