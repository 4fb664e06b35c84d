//go:build unix && !linux

package shield

// Close leaves no core file of this process and those it starts. What others of its user may
// read of it is the system's to say here: macOS asks for a right to trace.
func Close() error { return noCore() }
