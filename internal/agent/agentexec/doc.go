// Package agentexec is the first process of an agent's pane, "agentmux agent-exec DIR". It
// survives the host: with it a launch runs on and is recorded while no host runs.
//
// Run gets the environment of the launch over a socket from the host (agent.Receive), starts
// the program in front of the terminal, keeps it there, and shows the stream of a headless
// program. It ends only when every process of the launch has ended, and then writes exit.json
// (agent.Exit). A chore is run the same way, by "agentmux agent-exec DIR PROGRAM ARGUMENT...", without a socket and a record.
//
// Promises: the program gets the environment of the launch, descriptors 0 to 2 and nothing
// else of the host. When the program ends, or when this process gets TERM or HUP, every
// process of the launch gets TERM and after process.Grace KILL, orphans included. A launch
// that has an exit.json is not run again.
//
// It writes exit.json, and through package signal the lines of a headless run, both into the
// launch directory.
package agentexec
