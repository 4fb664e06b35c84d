//go:build !crash

package engine_test

import "testing"

func arm(*testing.T) {}
