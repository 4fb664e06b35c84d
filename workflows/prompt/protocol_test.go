package prompt_test

import "testing"

func TestProtocol(t *testing.T) {
	t.Run("W2 all prompts in both modes", testPrompts)
	t.Run("W2 each prompt carries what its role works from", testPromptContents)
	t.Run("W2 every prompt says where, how and what last", testPromptParts)
	t.Run("X1 inserted text stays literal", testInsertedText)
	t.Run("X2 includes are confined", testConfinement)
	t.Run("X2 fragments", testFragments)
}

func TestSecurity16InsertedTextIsNotScanned(t *testing.T) { testInsertedText(t) }
