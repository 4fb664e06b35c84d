//go:build !linux

package main

// standIns are further programs that the test binary can be: none without /proc.
var standIns = map[string]func(args []string) int{}
