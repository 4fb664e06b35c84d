package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// PrintJSON writes a value for programs, without changing it. Invisible characters are written as
// \uXXXX, because it may be shown on a terminal, too.
func (c *Console) PrintJSON(v any) error { return c.writeJSON(v, "  ") }

// PrintJSONLine is PrintJSON in one line.
func (c *Console) PrintJSONLine(v any) error { return c.writeJSON(v, "") }

func (c *Console) writeJSON(v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	var out strings.Builder
	for _, r := range text.String() {
		if r == '\n' || unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	_, err := io.WriteString(c.Raw, out.String())
	return err
}
