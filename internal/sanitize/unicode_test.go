package sanitize_test

import (
	"testing"
	"unicode"

	"github.com/agentmux/agentmux/internal/sanitize"
)

func TestForbidden(t *testing.T) {
	for _, r := range "\x00\x1f\x7f\u0085\u00a0\u00ad\u034f\u061c\u115f\u17b4\u180e\u2000\u2003\u200a\u200b\u2028\u202e\u2066\u2800\u3000\u3164\ue000\ufe0f\ufeff\uffa0\ufffc\ufffe\U0001bca0\U0001d173\U000e0001\U0010ffff\U00013430" {
		if !sanitize.Forbidden(r) {
			t.Errorf("%U is allowed", r)
		}
	}
	for _, r := range "\t\n a~é\u0301中א\ufffd👩" {
		if sanitize.Forbidden(r) {
			t.Errorf("%U is forbidden", r)
		}
	}
	if !sanitize.Forbidden(-1) || !sanitize.Forbidden(unicode.MaxRune+1) {
		t.Error("what is not a character is allowed")
	}
}

func TestFoldFindsEqualNames(t *testing.T) {
	for a, b := range map[string]string{
		"README.md": "readme.MD", "Stra\u00dfe": "STRASSE", "caf\u00e9": "CAFE\u0301", "\u212a": "k", "\u03c3": "\u03c2", "\ufb01x": "FIX", "\u13be\u13f0": "\uab8e\u13f8", "\u13a0\u13ef\u13f5": "\uab70\uabbf\u13fd",
	} {
		if sanitize.Fold(a) != sanitize.Fold(b) {
			t.Errorf("%q and %q differ: %q, %q", a, b, sanitize.Fold(a), sanitize.Fold(b))
		}
	}
	if sanitize.Fold("a") == sanitize.Fold("\u00e1") || sanitize.Fold("a/b") == sanitize.Fold("ab") {
		t.Error("different names are one")
	}
	if sanitize.NFC("e\u0301") != "\u00e9" {
		t.Error("not composed")
	}
}
