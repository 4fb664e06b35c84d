// Package tmux drives one private tmux server: it starts it, makes windows, reads the
// state of panes and types into them. It is the only package that runs tmux and it
// knows nothing of what runs inside the panes.
//
// Promises:
//
//   - A Server talks only to the socket it was made for. An empty or relative socket is
//     refused, so a mistake cannot reach the server of the person at the machine.
//   - Every call is an argument vector, has a time limit and a bounded answer. A client
//     that hangs is killed with its process group.
//   - A pane is addressed by its id (%N) alone, never by a name, because names match by
//     prefix and have a syntax of their own.
//   - The options given to NewWindow are on the pane before any other client can see it: a
//     window is made, marked and piped by one command.
//   - Whether a pane may be typed to is decided inside the server, in the same command
//     that types: pasting into a dead pane ends tmux 3.3a, and keys sent to one are lost.
//   - "No server" (ErrNoServer), "the server does not answer" (ErrNoAnswer) and "no such
//     pane" (ErrNoPane) are told apart from each other and from any other failure.
//
// It writes the socket and, beside it, the configuration file the server starts with, in
// a directory of mode 0700. KillServer removes both.
package tmux
