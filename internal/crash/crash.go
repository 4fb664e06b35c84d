// Package crash names the moments at which a test may kill this process, so that every
// step between two writes is known to be repaired by the next start.
//
// A point comes right after a step that changes something outside of this process's
// memory: a file written, synced, renamed; a git, tmux or GitHub command carried out; an
// effect begun and ended. In a normal build [Point] is empty and costs nothing. Built with
// the tag crash, a process that was armed (Arm) writes down each point it passes and ends
// by SIGKILL at the one it was told. The package stores nothing else and is imported by
// the packages with such steps; it must not be imported by what only decides.
package crash
