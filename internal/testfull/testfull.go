// Package testfull names the tests that `make test` leaves to `make test FULL=1`.
//
// A whole session takes seconds of a processor, and there are hundreds of them. Each road
// through the program is in the short form once, and so is every room by itself.
package testfull

import "testing"

// Only leaves a test out of go test -short.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a whole session: make test FULL=1 runs it")
	}
}
