//go:build !crash

package main

func arm() {}
