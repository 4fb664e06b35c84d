// Package footprint gives back memory that the start of a program needed and its long life does not. It
// stores nothing.
package footprint

import "runtime/debug"

// Trim returns what is free of the heap to the system, and the pages of the program itself that it does not
// use now; what it needs of them later is in the cache of the system, or read again. It takes some milliseconds,
// and may be called at any time.
func Trim() {
	debug.FreeOSMemory()
	unmapProgram()
}
