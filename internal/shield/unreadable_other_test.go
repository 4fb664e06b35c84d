//go:build !linux

package shield_test

// standIns are further programs that the test binary can be: none without /proc.
var standIns = map[string]func() int{}
