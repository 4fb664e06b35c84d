package redact_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
)

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// random returns n random characters of alphabet, the same for the same seed.
func random(seed uint64, n int, alphabet string) string {
	source := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[source.IntN(len(alphabet))]
	}
	return string(out)
}

// knowing makes a Redactor that knows value.
func knowing(t testing.TB, value string) *redact.Redactor {
	t.Helper()
	r := redact.New()
	if err := r.Add("canary", value); err != nil {
		t.Fatal(err)
	}
	return r
}

func each(text, format, separator string) string {
	var parts []string
	for i := range len(text) {
		parts = append(parts, fmt.Sprintf(format, text[i]))
	}
	return strings.Join(parts, separator)
}

func wrap(text string, width int, end string) string {
	var out strings.Builder
	for part := range slices.Chunk([]byte(text), width) {
		out.Write(part)
		out.WriteString(end)
	}
	return out.String()
}

func reverse(text string) string {
	out := []byte(text)
	slices.Reverse(out)
	return string(out)
}

// encodings is how a secret may try to leave.
func encodings(value string) map[string]string {
	std, raw := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	quoted, _ := json.Marshal(value)
	all := map[string]string{
		"plain":                      value,
		"without the first 7":        value[7:],
		"without the last 7":         value[:len(value)-7],
		"base64":                     std([]byte(value)),
		"base64 of 1 more":           std([]byte("x" + value)),
		"base64 of 2 more":           std([]byte("xy" + value)),
		"base64 url":                 raw([]byte(value)),
		"base64 url of 1 more":       raw([]byte("?" + value)),
		"base64 wrapped":             wrap(std([]byte(value)), 13, "\r\n"),
		"base64 wrapped in JSON":     wrap(std([]byte(value)), 13, `\r\n\t`),
		"base64, reversed":           std([]byte(reverse(value))),
		"hex":                        hex.EncodeToString([]byte(value)),
		"HEX":                        strings.ToUpper(hex.EncodeToString([]byte(value))),
		"hex dump":                   each(value, "%02x", " "),
		"hex bytes of C":             each(value, "0x%02x", ", "),
		"percent":                    url.QueryEscape(value),
		"percent, all":               each(value, "%%%02X", ""),
		"percent, twice":             each(value, "%%25%02x", ""),
		"JSON":                       string(quoted),
		"JSON, all":                  each(value, `\u%04x`, ""),
		"octal":                      each(value, `\%03o`, ""),
		"backslash x":                each(value, `\x%02x`, ""),
		"HTML":                       html.EscapeString(value),
		"HTML, decimal":              each(value, "&#%d;", ""),
		"HTML, twice":                each(value, "&amp;#%d;", ""),
		"HTML, hex":                  each(value, "&#x%x;", ""),
		"reversed":                   reverse(value),
		"spaced":                     each(value, "%c", " "),
		"one per line":               each(value, "%c", "\n"),
		"dashed in fours":            wrap(value, 4, "-"),
		"invisible between":          each(value, "%c", "\u200b"),
		"reversed, spaced":           each(reverse(value), "%c", " "),
		"backslash between":          each(value, "%c", `\`),
		"percent in threes":          wrap(value, 3, "%"),
		"without its own separators": strings.NewReplacer("-", "", "_", "", ".", "").Replace(value),
	}
	maps.Copy(all, layers(value))
	maps.Copy(all, disguises(value))
	return all
}

func values() map[string]string {
	return map[string]string{
		"16 characters": random(1, 16, alnum),
		"token":         "ghs_" + random(2, 36, alnum),
		"hex":           random(10, 40, "0123456789abcf"),
		"like escapes":  "nrtbx" + random(11, 9, alnum) + "tnr" + random(12, 9, alnum) + "rnt",
		"dashed":        "key-" + random(3, 5, alnum) + "_" + random(4, 9, alnum) + "." + random(5, 20, alnum),
		"any ASCII":     random(6, 30, alnum+"!#$&'()*+,/:;=?@[]%\\\"<>^`{|}~"),
		"520 characters": "ghs_1234567_" + base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) +
			"." + base64.RawURLEncoding.EncodeToString([]byte(`{"jti":"`+random(7, 90, alnum)+`"}`)) + "." + random(8, 342, alnum+"-_"),
	}
}

func TestSecurity7EveryEncodingOfAValueIsFound(t *testing.T) {
	for kind, value := range values() {
		r := knowing(t, value)
		for encoding, text := range encodings(value) {
			if len(value) == 16 && strings.HasPrefix(encoding, "without the") {
				continue // less than 12 characters are left
			}
			if kind == "any ASCII" && strings.Contains("one per line spaced dashed in fours invisible between reversed, spaced backslash between percent in threes", encoding) {
				continue // too few letters and digits
			}
			if kind == "520 characters" && encoding == "uuencode" {
				continue // its first line holds nothing but the header of the JWT
			}
			t.Run(kind+"/"+encoding, func(t *testing.T) {
				full := "line one\nsecond: " + text + "!\nlast\n"
				found := slices.DeleteFunc(r.Scan(full), func(f redact.Finding) bool { return !f.Exact })
				if len(found) == 0 {
					t.Fatalf("not found in %q", full)
				}
				if found[0].Rule != "canary" || found[0].Line != 2 || found[0].SHA256 != "" {
					t.Errorf("finding is %+v", found[0])
				}
				clean := r.Redact(full)
				if !strings.HasPrefix(clean, "line one\nsecond: ") || !strings.HasSuffix(clean, "\nlast\n") {
					t.Errorf("other text changed: %q", clean)
				}
				if left := r.Scan(clean); len(left) != 0 {
					t.Errorf("%q still holds it", clean)
				}
				if left := len(clean) - len("line one\nsecond: !\nlast\n"); left > 2*15+len("[redacted:canary]")*(1+strings.Count(clean, "canary")) {
					t.Errorf("too much is left: %q", clean)
				}
			})
		}
	}
}

func TestSecurity7AnyTwelveCharactersAreFoundAndElevenAreNot(t *testing.T) {
	value := random(9, 40, alnum)
	r := knowing(t, value)
	for at := range len(value) - 11 {
		if got := r.Redact("<" + value[at:at+12] + ">"); got != "<[redacted:canary]>" {
			t.Errorf("12 characters from %d: %q", at, got)
		}
		if text := "<" + value[at:at+11] + ">"; r.Redact(text) != text {
			t.Errorf("11 characters from %d were found", at)
		}
	}
}

func TestExactValueIsTakenOutWhole(t *testing.T) {
	for kind, value := range values() {
		r := knowing(t, value)
		if got := r.Redact("a " + value + " b " + value); got != "a [redacted:canary] b [redacted:canary]" {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

func TestEncodedValueIsFoundBehindAnything(t *testing.T) {
	for name, value := range map[string]string{
		"letters": random(60, 30, alnum),
		"pluses":  strings.Repeat("~?>", 8), // "fj8+" in base64
		"slashes": strings.Repeat("?", 24),  // "Pz8/"
	} {
		t.Run(name, func(t *testing.T) {
			r := knowing(t, value)
			for encoding, text := range map[string]string{
				"base64": base64.StdEncoding.EncodeToString([]byte(value)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte(value)),
				"hex": hex.EncodeToString([]byte(value)),
			} {
				for _, before := range []string{"", "A", "AB", "ABC", "0x", "a-b_c+/="} {
					if got := r.Redact(before + text + "!"); !strings.HasSuffix(got, "[redacted:canary]!") && !strings.HasSuffix(got, "[redacted:canary]=!") {
						t.Errorf("in %s after %q: %q", encoding, before, got)
					}
				}
			}
		})
	}
}

func TestValueOfOtherLettersIsFound(t *testing.T) {
	value := "ключ-доступа-очень"
	r := knowing(t, value)
	for _, text := range []string{value, url.QueryEscape(value), each(value, "%%%02x", ""), each(value, `\x%02x`, ""), strconv.QuoteToASCII(value)} {
		if got := r.Redact(text); !strings.Contains(got, "[redacted:canary]") || len(got) > 20 {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// Letters and digits alone are too few here: only reading the escapes finds it.
func TestEscapesAreRead(t *testing.T) {
	value := `a/b"c\d'e/f"g\h'i/j`
	r := knowing(t, value)
	formats := []string{"%c", "%%%02x", `\u%04x`, `\x%02X`, `\%03o`, "&#%d;", "&#x%x;", "&amp;#%d;"}
	mixed := ""
	for i := range len(value) {
		mixed += fmt.Sprintf(formats[i%len(formats)], value[i])
	}
	quoted := strings.NewReplacer("/", `\/`, `"`, `\"`, `'`, `\'`, `\`, `\\`).Replace(value)
	for _, text := range []string{value, quoted, mixed} {
		if got := r.Redact("x " + text + " y"); got != "x [redacted:canary] y" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, text := range []string{`\`, "%", "%4", "&", "&#", "&#;", "&#x;", "&#x", `\u`, `\u004`, `\x4`, `\07`, "&#x110000;"} {
		if got := r.Redact("x" + text); got != "x"+text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestSeparatorsOfAValueDoNotCount(t *testing.T) {
	r := knowing(t, "abc-def-ghi-jkl-")
	if got := r.Redact(each("abcdefghijkl", "%c", " ")); got != "[redacted:canary]" {
		t.Errorf("got %q", got)
	}
}

func TestSecretsThatOverlapAreTakenOutWhole(t *testing.T) {
	head := random(63, 16, alnum) + "-ghp_" + random(64, 10, alnum)
	if got := knowing(t, head).Redact("a " + head + random(65, 40, alnum) + " b"); got != "a [redacted:canary] b" {
		t.Errorf("got %q", got)
	}
}

func TestValuesThatShareAPartAreBothFound(t *testing.T) {
	a, b := random(61, 30, alnum), random(62, 30, alnum)
	b = b[:6] + a[6:12] + b[12:]
	r := knowing(t, a)
	if err := r.Add("other", b); err != nil {
		t.Fatal(err)
	}
	if got := r.Redact(a[1:13] + " " + b[1:13]); got != "[redacted:canary] [redacted:other]" {
		t.Errorf("got %q", got)
	}
}

func TestTwelveCharactersMustBeSecret(t *testing.T) {
	value := values()["520 characters"]
	r := knowing(t, value)
	// The header, the dot, and {"jti":" in base64.
	public := strings.Index(value, ".") + 1 + 11
	for n, want := range map[int]bool{11: false, 12: true} {
		found := r.Scan("<" + value[public-20:public+n] + ">")
		if got := len(found) > 0 && found[0].Exact; got != want {
			t.Errorf("%d secret characters after 20 public ones: %v", n, got)
		}
	}
	short := "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(`{"a":1}`)) + ".x"
	if got := knowing(t, short).Redact(short); got != "[redacted:canary]" {
		t.Errorf("value that is all header: %q", got)
	}
}

func TestFrameOfAPrivateKeyDoesNotCount(t *testing.T) {
	for kind, make := range map[string]func() (any, error){
		"RSA":     func() (any, error) { return rsa.GenerateKey(crand.Reader, 2048) },
		"P-256":   func() (any, error) { return ecdsa.GenerateKey(elliptic.P256(), crand.Reader) },
		"ed25519": func() (any, error) { _, key, err := ed25519.GenerateKey(crand.Reader); return key, err },
	} {
		t.Run(kind, func(t *testing.T) {
			var files [2]string
			for i := range files {
				key, err := make()
				if err != nil {
					t.Fatal(err)
				}
				der, err := x509.MarshalPKCS8PrivateKey(key)
				if err != nil {
					t.Fatal(err)
				}
				files[i] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
			}
			r := knowing(t, files[0])
			for i, file := range files {
				_, body, _ := strings.Cut(file, "\n")
				exact := slices.ContainsFunc(r.Scan(body), func(f redact.Finding) bool { return f.Exact })
				if exact != (i == 0) {
					t.Errorf("key %d: exact is %v", i, exact)
				}
			}
		})
	}
}

func TestHeadOfATokenDoesNotCount(t *testing.T) {
	value := values()["520 characters"]
	r := knowing(t, value)
	if got := knowing(t, "plainvalue.abcd.0123456789abcdef0123").Redact("plainvalue.a"); got != "[redacted:canary]" {
		t.Errorf("the head of what is not a JWT: %q", got)
	}
	head, _, _ := strings.Cut(value, ".")
	sample := head[len("ghs_1234567_"):] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"jti":"1234567890"}`)) + "." + random(10, 43, alnum)
	for _, f := range r.Scan("the header " + head + " and " + sample) {
		if f.Exact {
			t.Error("the header of a JWT counts as the value")
		}
	}
}

func TestEachLineOfAKeyFileCounts(t *testing.T) {
	lines := []string{random(11, 64, alnum+"+/"), random(12, 64, alnum+"+/"), random(13, 10, alnum)}
	file := "-----BEGIN RSA PRIVATE KEY-----\nshort\n" + strings.Join(lines, "\n") + "\n-----END RSA PRIVATE KEY-----\n"
	r := knowing(t, file)
	for _, line := range lines[:2] {
		if got := r.Redact(line); got != "[redacted:canary]" {
			t.Errorf("line of the key: %q", got)
		}
	}
	if got := r.Redact(lines[2]); got != lines[2] {
		t.Error("a line of 10 characters counts")
	}
	if found := r.Scan("-----END RSA PRIVATE KEY-----"); len(found) != 0 {
		t.Errorf("the frame of a key counts: %+v", found)
	}
}

func TestAddRefusesWhatCannotBeSearchedFor(t *testing.T) {
	r := redact.New()
	for _, value := range []string{"", "fifteen-chars-x", " fifteen-chars-x\n", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "ééééééééééééééé"} {
		if err := r.Add("short", value); !errors.Is(err, redact.ErrShort) {
			t.Errorf("%q: %v, want ErrShort", value, err)
		}
	}
	if err := r.AddSecret("short", redact.NewSecret("fifteen-chars-x")); !errors.Is(err, redact.ErrShort) {
		t.Errorf("a Secret that is short: %v, want ErrShort", err)
	}
	for _, name := range []string{"", "Token", "a]b", "a b", strings.Repeat("x", 65)} {
		if err := r.Add(name, random(14, 20, alnum)); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
	if got := r.Redact("fifteen-chars-x"); got != "fifteen-chars-x" {
		t.Errorf("a refused value is redacted: %q", got)
	}
}

// An error in one line has no secret, and is the same line where none is known.
func TestALineOfAnErrorHasNoSecret(t *testing.T) {
	r := redact.New()
	if err := r.Add("token", "s3cr3t-value-of-this-test"); err != nil {
		t.Fatal(err)
	}
	err := errors.New("push with s3cr3t-value-of-this-test: refused\nmore")
	if got := r.Line(err); strings.Contains(got, "s3cr3t") || !strings.HasSuffix(got, ": refused") {
		t.Errorf("%q", got)
	}
	if got := (*redact.Redactor)(nil).Line(errors.New("a\nb")); got != "a" {
		t.Errorf("%q", got)
	}
}

func TestErrorNeverShowsTheValue(t *testing.T) {
	value := random(15, 30, alnum)
	err := redact.New().Add("bad name", value)
	if err == nil || strings.Contains(err.Error(), value) {
		t.Errorf("error is %v", err)
	}
	r := knowing(t, value)
	cause := fmt.Errorf("push to %s: %w", value, fs.ErrPermission)
	clean := r.Error(cause)
	if clean.Error() != "push to [redacted:canary]: permission denied" {
		t.Errorf("error is %v", clean)
	}
	if !errors.Is(clean, fs.ErrPermission) {
		t.Error("the cause cannot be asked for any more")
	}
	if r.Error(fs.ErrExist) != fs.ErrExist || r.Error(nil) != nil {
		t.Error("an error without a secret was changed")
	}
}

func TestManyValues(t *testing.T) {
	r := redact.New()
	var added []string
	many := uint64(500)
	if testing.Short() {
		many = 100
	}
	for seed := range many {
		added = append(added, "ghs_"+random(100+seed, 36, alnum))
		for range 2 {
			if err := r.Add("token", added[seed]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, value := range added {
		if got := r.Redact(" " + base64.StdEncoding.EncodeToString([]byte(value)) + " "); !strings.HasPrefix(got, " [redacted:token]") || len(got) > 24 {
			t.Fatalf("value not taken out: %q", got)
		}
	}
}

func TestRedactorMayBeUsedByMany(t *testing.T) {
	r := redact.New()
	var wait sync.WaitGroup
	for n := range uint64(4) {
		wait.Go(func() {
			for i := range uint64(50) {
				value := random(1000*n+i, 20, alnum)
				if err := r.Add("canary", value); err != nil {
					t.Error(err)
				}
				if got := r.Redact(value); got != "[redacted:canary]" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wait.Wait()
}

func TestLongTextIsSearchedWholly(t *testing.T) {
	value := random(16, 40, alnum)
	r := knowing(t, value)
	filler := strings.Repeat("some words of a long file\n", 21_000)
	step := 150_011
	if testing.Short() {
		step = 375_011
	}
	for at := 0; at < len(filler); at += step {
		text := filler[:at] + value + filler[at:]
		if got := r.Redact(text); got != filler[:at]+"[redacted:canary]"+filler[at:] {
			t.Fatalf("value at %d was not taken out alone", at)
		}
	}
	// Where two pieces of the search meet, so that neither has 12 characters.
	const piece = 256 << 10
	text := filler[:piece-11] + value[:22] + filler
	if got := r.Redact(text); got != filler[:piece-11]+"[redacted:canary]"+filler {
		t.Error("the value between two pieces was not taken out")
	}
}
