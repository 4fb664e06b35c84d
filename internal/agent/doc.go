// Package agent knows the command line programs that do the work: how each is started, logged
// in and ended. It knows nothing of workflows, phases or tmux.
//
// What differs between programs is data (providers.yaml, one Provider each); what is done with
// it is here:
//
//   - Prepare turns a LaunchSpec into the files of one launch: launch.json (argument vector,
//     names of the variables, work directory) and, through package settings, the program's own
//     configuration for this launch.
//   - Launch.Offer hands the environment to the launch's agent-exec over a socket (Receive is
//     the other side; package agentexec runs it).
//   - ReadExit reads how the program ended; Stop ends a launch from outside.
//   - Provider.Login says how a program gets its credentials; StartLogin makes a login of its
//     own for agentmux. Provider.Probe asks the installed program for version and flags.
//   - Provider.Screen and Provider.Fault read what a program shows and its last words.
//
// The packages below have one noun each: settings the programs' own files, signal what
// programs say of themselves, process the processes of launches, agentexec the first process
// of a pane.
//
// Promises: the environment of an agent is built from nothing; no credential file is copied,
// linked or written; a value of the environment is in no argument vector and in no file; a
// process is signalled only when its start time is the recorded one.
//
// It writes below the launch directory, the private home it is given and the runtime
// directory, everything 0600 or 0700.
package agent
