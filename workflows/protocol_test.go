package workflows_test

import "testing"

func TestProtocol(t *testing.T) {
	t.Run("W1 each rule of a definition", testRules)
	t.Run("W1 a definition that is too large", testTooLarge)
	t.Run("W2 shipped definitions are valid", testShipped)
}
