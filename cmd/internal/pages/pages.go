// Package pages writes what the archives of a release have beside the program: man pages and completions.
// It knows no command: what is to be said of each comes as a [Page].
package pages

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Page is what a page says of a command. All but Name and Short may be empty.
type Page struct {
	Name          string // of the page: "agentmux-msg-send"
	Short         string // one line
	Use           string
	Long          string
	Options       string // as --help shows them
	GlobalOptions string
	Examples      string
	Also          []string // names of other pages
}

// Set is what Write writes. Version is in the margin of each page.
type Set struct {
	Version     string
	Pages       []Page
	Completions map[string]func(io.Writer) error // by file
}

// Write writes man/*.1 and completions/* below dir. The pages have the date of SOURCE_DATE_EPOCH (seconds),
// else that of today.
func Write(dir string, set Set) error {
	date := time.Now()
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
		}
		date = time.Unix(seconds, 0)
	}
	for _, p := range set.Pages {
		if err := write(filepath.Join(dir, "man", p.Name+".1"), p.roff(set.Version, date)); err != nil {
			return err
		}
	}
	for name, complete := range set.Completions {
		var text strings.Builder
		if err := complete(&text); err != nil {
			return fmt.Errorf("write completions: %w", err)
		}
		if err := write(filepath.Join(dir, "completions", name), text.String()); err != nil {
			return err
		}
	}
	return nil
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // others read it, too
}

// plain escapes text so that roff shows it as it is.
var plain = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// roff is the page in the macros of man(7).
func (p Page) roff(version string, date time.Time) string {
	var b strings.Builder
	section := func(title, macro, text, end string) {
		if text = strings.TrimRight(text, "\n "); text != "" {
			_, escaped, _ := strings.Cut(plain.Replace("\n"+text), "\n")
			fmt.Fprintf(&b, ".SH %s\n%s%s\n%s", title, macro, escaped, end)
		}
	}
	fmt.Fprintf(&b, ".TH %q \"1\" %q \"agentmux %s\" \"agentmux\"\n", strings.ToUpper(p.Name), date.UTC().Format("2 January 2006"), version)
	section("NAME", "", p.Name+" - "+p.Short, "")
	section("SYNOPSIS", ".nf\n", p.Use, ".fi\n")
	section("DESCRIPTION", ".nf\n", p.Long, ".fi\n")
	section("OPTIONS", ".nf\n", p.Options, ".fi\n")
	section("GLOBAL OPTIONS", ".nf\n", p.GlobalOptions, ".fi\n")
	section("EXAMPLES", ".nf\n", p.Examples, ".fi\n")
	var also []string
	for _, name := range p.Also {
		also = append(also, name+"(1)")
	}
	section("SEE ALSO", "", strings.Join(also, ", "), "")
	return b.String()
}
