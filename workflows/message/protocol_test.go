package message_test

import "testing"

func TestProtocol(t *testing.T) {
	t.Run("T1 names of each generation", testNames)
	t.Run("T1 each type between agents with dashes", testEveryName)
}
