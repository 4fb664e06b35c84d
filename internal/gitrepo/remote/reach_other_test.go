//go:build !linux

package remote_test

// standIns are further programs that the test binary can be: none without /proc.
var standIns = map[string]func(args []string) int{}
