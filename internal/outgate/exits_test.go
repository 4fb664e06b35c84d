package outgate_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/outgate"
)

// disguises are thirty forms of a secret.
func disguises(secret string) map[string]string {
	each := func(text, format, between string) string {
		var parts []string
		for i := range len(text) {
			parts = append(parts, fmt.Sprintf(format, text[i]))
		}
		return strings.Join(parts, between)
	}
	backwards := []byte(secret)
	slices.Reverse(backwards)
	std, web := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	return map[string]string{
		"plain": secret, "without its head": secret[7:], "without its end": secret[:len(secret)-9], "a window": secret[9:21],
		"base64": std([]byte(secret)), "base64, offset 1": std([]byte("x" + secret)), "base64, offset 2": std([]byte("xy" + secret)),
		"base64 of URLs": web([]byte(secret)), "base64, reversed": std(backwards), "hex": hex.EncodeToString([]byte(secret)),
		"HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))), "percent": each(secret, "%%%02x", ""), "percent, twice": each(secret, "%%25%02X", ""),
		"of a query": url.QueryEscape(secret + "&"), "JSON": each(secret, `\u%04x`, ""), "octal": each(secret, `\%03o`, ""),
		"reversed": string(backwards), "dotted": each(secret, "%c", "."), "dashed in fours": strings.Join(chunks(secret, 4), "-"),
		"spaced, reversed": each(string(backwards), "%c", " "),
		"base64 of base64": std([]byte(std([]byte(secret)))), "hex of base64": hex.EncodeToString([]byte(std([]byte(secret)))),
		"base64 of hex": std([]byte(hex.EncodeToString([]byte(secret)))), "base64 of UTF-16": std([]byte(each(secret, "%c\x00", ""))),
		"upper case": strings.ToUpper(secret), "rot13": strings.Map(rot13, secret), "base32": base32.StdEncoding.EncodeToString([]byte(secret)),
		"decimal": each(secret, "%d", ", "), "braces": each(secret, `\u{%x}`, ""), "full width": strings.Map(func(r rune) rune { return r + 0xFEE0 }, secret),
	}
}

func rot13(r rune) rune {
	if base := r&0x20 | 'A'; base <= r && r < base+26 {
		return base + (r-base+13)%26
	}
	return r
}

func chunks(text string, n int) (out []string) {
	for part := range slices.Chunk([]byte(text), n) {
		out = append(out, string(part))
	}
	return out
}

// Each disguise is stopped at each way out of a push.
func TestSecurity7TwentyDisguisesAtEightExits(t *testing.T) {
	secret := strings.NewReplacer("-", "x", "_", "y").Replace(canary(t))
	r := newRig(t, map[string]string{"a": "a\n", "b": "b\n"})
	if err := r.spec.Secrets.Add("github", secret); err != nil {
		t.Fatal(err)
	}
	forms := disguises(secret)
	texts := []string{"commit message", "branch", "title", "body"}
	files := map[string]string{"content": "a", "binary content": "b", "file name": "(a file name)", "symlink": "l"}
	if len(forms) != 30 || len(texts)+len(files) != 8 {
		t.Fatalf("%d disguises, %d exits", len(forms), len(texts)+len(files))
	}
	for name, d := range forms {
		r.spec.Texts = map[string]string{}
		exits := maps.Clone(files) // the path that a finding has
		for _, where := range texts {
			r.spec.Texts[where], exits[where] = d, where
		}
		report := r.check(map[string]string{"a": "one\n" + d + "\n", "b": "\x00" + d, "dir/" + d + ".txt": "x\n", "l": "->" + d})
		for exit, p := range exits {
			if !slices.ContainsFunc(report.Findings, func(f outgate.Finding) bool { return f.Rule == "secret.github" && f.Path == p }) {
				t.Errorf("%s leaves by the %s: %s", name, exit, findings(report))
			}
		}
		if strings.Contains(fmt.Sprintf("%+v", report), secret[:12]) {
			t.Errorf("%s: the report holds the value", name)
		}
	}
}
