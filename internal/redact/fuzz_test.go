package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
)

// FuzzRedact hides a part of a value in a text, in some encoding.
func FuzzRedact(f *testing.F) {
	value := "ghs_" + random(80, 20, alnum+"-_/+")
	f.Add("key: ", "\n", uint8(0), uint8(24), uint8(0), uint8(1))
	f.Add("%41\\u0041", "ghp_"+random(81, 36, alnum), uint8(3), uint8(14), uint8(1), uint8(3))
	f.Add("-----BEGIN PRIVATE KEY-----", "eyJ", uint8(3), uint8(20), uint8(2), uint8(64))
	f.Add("://a:b", "@x", uint8(3), uint8(20), uint8(3), uint8(7))
	f.Fuzz(func(t *testing.T, before, after string, from, to, encoding, chunk uint8) {
		r := knowing(t, value)
		lo := int(from) % len(value)
		part := value[lo : lo+int(to)%(len(value)-lo+1)]
		text := before + []string{
			part, hex.EncodeToString([]byte(part)), base64.StdEncoding.EncodeToString([]byte(part)),
			url.QueryEscape(part), reverse(part),
		}[encoding%5] + after
		clean := r.Redact(text)
		if found := r.Scan(clean); slices.ContainsFunc(found, func(f redact.Finding) bool { return f.Exact }) {
			t.Fatalf("%q becomes %q, which holds %+v", text, clean, found)
		}
		if encoding%5 == 0 && len(part) >= 12 && strings.Contains(clean, part) {
			t.Fatalf("%q is left in %q", part, clean)
		}
		if len(r.Scan(text)) == 0 && clean != text {
			t.Fatalf("%q has no finding and becomes %q", text, clean)
		}
		var out bytes.Buffer
		w := r.Writer(&out)
		for piece := range slices.Chunk([]byte(text), int(chunk)+1) {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if encoding%5 == 0 && len(part) >= 12 && strings.Contains(out.String(), part) {
			t.Fatalf("%q is left in %q", part, out.String())
		}
		if !strings.Contains(text, "\n") && out.String() != clean {
			t.Fatalf("writer gives %q, not %q", out.String(), clean)
		}
	})
}

func FuzzAdd(f *testing.F) {
	f.Add("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJaTAMsX\n-----END PRIVATE KEY-----")
	f.Add("ghs_1_eyJhbGciOiJub25lIn0.eyJhIjoxfQ.aaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add("a line\nof several\nlines that are long")
	f.Fuzz(func(t *testing.T, value string) {
		r := redact.New()
		if r.Add("canary", value) != nil {
			return
		}
		if _, err := io.WriteString(r.Writer(io.Discard), value); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(value, "-----") && r.Redact(value) == value {
			t.Fatalf("%q is not found", value)
		}
	})
}
