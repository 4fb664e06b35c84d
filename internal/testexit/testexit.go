// Package testexit ends the programs that test binaries become.
//
// A process with the race detector sleeps for a second before it exits, so that races of
// its last moments are reported too. A test that starts dozens of programs, one after the
// other, waits for nothing else.
package testexit

import (
	"os"
	"syscall"
)

// Env is the setting that takes this second away. Whoever builds the environment of a
// program adds it.
const Env = race + "=atexit_sleep_ms=0"

// race is the variable that the race detector reads, see https://go.dev/doc/articles/race_detector.
const race = "GORACE"

// Exit ends this process with a code. A program whose environment the program under test
// built lacks the setting, and ends past the race detector; what that reported stands on
// the standard error already.
func Exit(code int) {
	if os.Getenv(race) == "" {
		syscall.Exit(code)
	}
	os.Exit(code)
}
