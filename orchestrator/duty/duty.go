// Package duty says what the agents of a session owe, by which names their roles, tasks and
// workspaces go, and which of their calls count.
//
// It is pure: each function reads a workflow and a state and changes neither. [Owed] lists the
// agents that should be at work. [Accepts] judges a call: the reducer asks it for a line that
// it reads, and the tool process of an agent asks it before it writes the line, so that what an
// agent is told and what the session does later never disagree. [Attribute] finds the calls
// that a line of the earlier tool can mean.
//
// The package stores nothing.
package duty
