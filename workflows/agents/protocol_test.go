package agents_test

import "testing"

func TestProtocol(t *testing.T) {
	t.Run("M2 files that people have, and each mistake", testVariants)
	t.Run("M2 limits of a file", testLimits)
}
