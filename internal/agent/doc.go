// Package agent knows the command line programs that do the work: how each is started,
// configured, logged in, watched and ended. It knows nothing of workflows, phases or tmux.
//
// What differs between programs is data (providers.yaml, one Provider each); what is done
// with it is here:
//
//   - Prepare turns a LaunchSpec into the files of one launch: launch.json (argument
//     vector, names of the variables, work directory), config/ (the program's own
//     configuration for this launch, never in the workspace and never in a person's home)
//     and, in the runtime directory, one file with the values of the environment.
//   - Exec is the first process of the pane. It reads that file and removes it, starts the
//     program in front of the terminal, keeps it there, and ends only when every process of
//     the launch is gone; then exit.json stands.
//   - Record is what a hook of the program calls; Signals and Status read it back.
//   - Stop ends a launch from outside.
//
// Promises: the environment of an agent is built from nothing; no credential file is copied,
// linked or written; a value of the environment is in no argument vector and in no file that
// outlives the start; a process is signalled only when its start time is the recorded one.
//
// It writes below the launch directory, the private home it is given and the runtime
// directory, everything 0600 or 0700.
package agent
