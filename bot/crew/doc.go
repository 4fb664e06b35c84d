// Package crew is the agents of one session in their panes: it starts and stops them, looks at
// them, brings them messages and answers the dialogs that their programs open with. It places
// their prompts and gives them what the sandbox allows of the machine. It knows nothing of git
// beyond the settings that a project has for the agents' programs; what its prompts need of
// the work it declares as an interface.
//
// Promises: a pane is known by its tags and a process by its start time, never by a name;
// starting or stopping a launch again ends in the same panes and files, whatever line a
// former host was killed at; a tmux server that is lost is made again, and whose agents went
// with it is remembered. A Crew may be used by several goroutines for different launches.
//
// It writes the launches, prompts and transcripts of the session directory, the homes of
// agents below the state home, and sockets in the runtime directory.
package crew
