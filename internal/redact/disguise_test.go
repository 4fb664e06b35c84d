package redact_test

import (
	"encoding/ascii85"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func b32(text string) string { return base32.StdEncoding.EncodeToString([]byte(text)) }

// wide is text in UTF-16.
func wide(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// letters maps the letters of text, each counted from its "a" or "A".
func letters(text string, change func(n, base rune) rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return change(r-'a', 'a')
		case r >= 'A' && r <= 'Z':
			return change(r-'A', 'A')
		}
		return r
	}, text)
}

func rot13(text string) string {
	return letters(text, func(n, base rune) rune { return base + (n+13)%26 })
}

func swapCase(text string) string {
	return letters(text, func(n, base rune) rune { return n + base ^ 0x20 })
}

// base85 is text in groups of four bytes that give five digits of alphabet.
func base85(text, alphabet string) string {
	var out strings.Builder
	for group := range slices.Chunk([]byte(text), 4) {
		var four [4]byte
		copy(four[:], group)
		number := binary.BigEndian.Uint32(four[:])
		var digits [5]byte
		for i := range digits {
			digits[4-i] = alphabet[number%85]
			number /= 85
		}
		out.Write(digits[:len(group)+1])
	}
	return out.String()
}

func a85(text string) string {
	out := make([]byte, ascii85.MaxEncodedLen(len(text)))
	return string(out[:ascii85.Encode(out, []byte(text))])
}

// uu is text as uuencode writes it.
func uu(text string) string {
	alphabet := "`"
	for c := rune('!'); c <= '_'; c++ {
		alphabet += string(c)
	}
	var out strings.Builder
	for line := range slices.Chunk([]byte(text), 45) {
		out.WriteByte(' ' + byte(len(line)))
		line = append(slices.Clone(line), make([]byte, (3-len(line)%3)%3)...)
		out.WriteString(base64.NewEncoding(alphabet).EncodeToString(line) + "\n")
	}
	return out.String()
}

const (
	gitAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	z85Alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)

// layers are the encodings that wrap one another.
func layers(value string) map[string]string {
	hexa := hex.EncodeToString
	return map[string]string{
		"base64 of base64":         b64(b64(value)),
		"base64 of 1 more, twice":  b64("x" + b64("y"+value)),
		"base64 of 2 more, twice":  b64("xy" + b64("xy"+value)),
		"base64 three times":       b64(b64(b64(value))),
		"base64 of wrapped base64": b64(wrap(b64(value), 60, "\n")),
		"base64 of hex":            b64(hexa([]byte(value))),
		"base64 of a hex dump":     b64(each(value, "%02x", " ")),
		"base64 of percent":        b64(each(value, "%%%02x", "")),
		"base64 of JSON":           b64(each(value, `\u%04x`, "")),
		"base64 of reversed":       b64(reverse(value)),
		"base64 of rot13":          b64(rot13(value)),
		"base64 of base32":         b64(b32(value)),
		"base64 of upper case":     b64(strings.ToUpper(value)),
		"base64 of decimal":        b64(each(value, "%d", ", ")),
		"base64 of UTF-16LE":       b64(wide(value, binary.LittleEndian)),
		"base64 of UTF-16BE":       b64(wide(value, binary.BigEndian)),
		"hex of base64":            hexa([]byte(b64(value))),
		"hex of hex":               hexa([]byte(hexa([]byte(value)))),
		"hex of UTF-16LE":          hexa([]byte(wide(value, binary.LittleEndian))),
		"hex of UTF-16BE":          hexa([]byte(wide(value, binary.BigEndian))),
		"percent of base64":        each(b64(value), "%%%02X", ""),
		"percent of hex":           each(hexa([]byte(value)), "%%%02X", ""),
		"percent, three times":     each(value, "%%2525%02x", ""),
		"JSON of base64":           each(b64(value), `\u%04x`, ""),
		"decimal of base64":        each(b64(value), "%d", " "),
		"reversed base64":          reverse(b64(value)),
		"reversed base64, +1":      reverse(b64("x" + value)),
		"reversed hex":             reverse(hexa([]byte(value))),
		"base64 in dashes":         wrap(b64(value), 5, "-"),
		"base64 in slashes":        wrap(b64(value), 4, "/"),
		"base64, swapped case":     swapCase(b64(value)),
		"rot13 of base64":          rot13(b64(value)),
	}
}

// disguises are encodings of single characters, of the alphabet, and in other radixes.
func disguises(value string) map[string]string {
	std, hexa := base32.StdEncoding.EncodeToString, base32.HexEncoding.EncodeToString
	out := map[string]string{
		"upper case":              strings.ToUpper(value),
		"lower case":              strings.ToLower(value),
		"swapped case":            swapCase(value),
		"upper case, spaced":      each(strings.ToUpper(value), "%c", " "),
		"upper case, reversed":    strings.ToUpper(reverse(value)),
		"rot13":                   rot13(value),
		"rot13, reversed":         reverse(rot13(value)),
		"rot13, dotted":           each(rot13(value), "%c", "."),
		"percent u":               each(value, "%%u%04x", ""),
		"braces":                  each(value, `\u{%x}`, ""),
		"braces, six digits":      each(value, `\u{%06X}`, ""),
		"backslash U":             each(value, `\U%08x`, ""),
		"JSON, upper case":        each(value, `\u%04X`, ""),
		"backslash x, braces":     each(value, `\x{%x}`, ""),
		"octal, short":            each(value, `\%o`, ""),
		"style sheet":             each(value, `\%06x`, ""),
		"octal list":              each(value, "%03o", " "),
		"octal list of Python":    each(value, "0o%o", ", "),
		"decimal list":            each(value, "%d", ", "),
		"decimal list, bare":      each(value, "%d", " "),
		"decimal, in threes":      each(value, "%03d", ""),
		"octal, in threes":        each(value, "%03o", ""),
		"decimal calls":           each(value, "chr(%d)", "+"),
		"hex calls":               each(value, "chr(0x%x)", " . "),
		"hex list":                each(value, "0x%02X", " "),
		"code points":             each(value, "U+%04X", " "),
		"binary":                  each(value, "%08b", " "),
		"binary, seven":           each(value, "%07b", " "),
		"binary, bare":            each(value, "%08b", ""),
		"binary, prefixed":        each(value, "0b%b", ", "),
		"quoted-printable":        each(value, "=%02X", ""),
		"words of hexdump":        words(value),
		"words of hexdump, +1":    words("x" + value),
		"ASCII85":                 a85(value),
		"ASCII85 in JSON":         fmt.Sprintf("%q", a85(value)),
		"base85 of git":           base85(value, gitAlphabet),
		"Z85":                     base85(value, z85Alphabet),
		"uuencode":                uu(value),
		"concatenated":            wrap(value, 5, `" + "`),
		"concatenated over lines": wrap(value, 5, "\" +\n\t\""),
		"full width":              wideForms(value, 0xFEE0),
		"bold":                    bold(value),
		"combining marks between": strings.Join(strings.Split(value, ""), "\u0301"),
		"zero-width joins":        strings.Join(strings.Split(value, ""), "\u200d"),
		"soft hyphens of HTML":    each(value, "%c", "&shy;"),
		"tags between":            each(value, "%c", "<b></b>"),
		"comments between":        wrap(value, 5, "<!-- and then -->"),
		"HTML, long numbers":      each(value, "&#%07d;", ""),
		"base32 in lower case":    strings.ToLower(std([]byte(value))),
		"base32, wrapped":         wrap(std([]byte(value)), 19, "\n"),
		"base32hex in lower case": strings.ToLower(hexa([]byte(value))),
		"UTF-16LE":                wide(value, binary.LittleEndian),
		"UTF-16BE":                wide(value, binary.BigEndian),
		"percent of UTF-16BE":     each(wide(value, binary.BigEndian), "%%%02x", ""),
		"UTF-7":                   "+" + strings.TrimRight(b64(wide(value, binary.BigEndian)), "=") + "-",
		"hex with colons":         each(value, "%02X", ":"),
		"rot13, swapped case":     swapCase(rot13(value)),
	}
	for n := range 5 {
		out[fmt.Sprintf("base32 of %d more", n)] = std([]byte("wxyz"[:n] + value))
		out[fmt.Sprintf("base32hex of %d more", n)] = hexa([]byte("wxyz"[:n] + value))
	}
	for n := range 4 {
		out[fmt.Sprintf("ASCII85 of %d more", n)] = a85("xyz"[:n] + value)
	}
	return out
}

func words(text string) string {
	var out []string
	for pair := range slices.Chunk([]byte(text), 2) {
		out = append(out, fmt.Sprintf("%02x%02x", pair[len(pair)-1], pair[0]))
	}
	return strings.Join(out, " ")
}

func wideForms(text string, add rune) string {
	return strings.Map(func(r rune) rune { return r + add }, text)
}

// bold is text in the mathematical letters and digits.
func bold(text string) string {
	text = letters(text, func(n, base rune) rune { return 0x1D400 + n + (base-'A')/32*26 })
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return 0x1D7CE + r - '0'
		}
		return r
	}, text)
}

func TestTwelveCharactersAreFoundInEveryEncoding(t *testing.T) {
	value := random(200, 40, alnum)
	r := knowing(t, value)
	for at := range len(value) - 11 {
		for name, text := range encodings(value[at : at+12]) {
			if strings.HasPrefix(name, "without the") {
				continue
			}
			found := r.Scan("a " + text + " b")
			if len(found) == 0 || !found[0].Exact {
				t.Errorf("%s of 12 characters from %d passes: %s", name, at, text)
			}
		}
	}
}

// What is taken out leaves nothing of which more than eleven characters can be had.
func TestNothingToDecodeStays(t *testing.T) {
	value := "ghp_" + random(201, 36, alnum)
	r := knowing(t, value)
	for name, text := range encodings(value) {
		clean := r.Redact(text)
		for _, rest := range strings.Split(clean, "[redacted:canary]") {
			if piece := len(text) * 11 / len(value); len(rest) > piece && !strings.HasPrefix(name, "without the") {
				t.Errorf("%s leaves %q of %q", name, rest, text)
			}
		}
	}
}

// TestAGlanceMissesNothing hides twelve characters of a value, or a text of sixteen that can be
// read, at each distance from the start of a group of digits, with and without text around.
func TestAGlanceMissesNothing(t *testing.T) {
	t.Parallel()
	value := random(90, 40, alnum)
	r := knowing(t, value)
	hidden := 0
	for from := range len(value) - 12 {
		for _, text := range []string{value[from : from+12], "sixteen letters!"} {
			for _, coded := range []string{text, hex.EncodeToString([]byte(text)), b64(text), strings.Join(strings.Split(text, ""), ".")} {
				for _, around := range []string{"", "x", "xy", "xyz", "-", "\x00\xff"} {
					glanced, all := r.Places(around + coded + around)
					if glanced != all {
						t.Errorf("%q: %d places, and %d in all views", around+coded+around, glanced, all)
					}
					hidden += all
				}
			}
		}
	}
	if hidden < 3*28*6 {
		t.Errorf("%d places were there to see", hidden)
	}
}
