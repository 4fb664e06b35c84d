// Package footprint gives back memory that the start of a program needed and its long life does not, and has
// less of it used. It stores nothing.
package footprint

import (
	"os"
	"runtime/debug"
)

// Save has the heap collected when it has grown by half instead of by as much as was left of it, in the whole
// process. It costs a process that mostly waits little time. A GOGC of the environment counts instead.
func Save() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// Trim returns what is free of the heap to the system, and the pages of the program itself that it does not
// use now; what it needs of them later is in the cache of the system, or read again. It takes some milliseconds,
// and may be called at any time.
func Trim() {
	debug.FreeOSMemory()
	unmapProgram()
}
