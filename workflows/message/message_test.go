package message_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows/message"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

var known = []string{"brain", "coordinator", "interviewer", "coder-2", "planner", "red"}

// each calls f with every pair of files of an archive, the second of which holds what is expected
// of the first one.
func each(tb testing.TB, name string, f func(name string, data []byte, want *txtar.File)) *txtar.Archive {
	tb.Helper()
	archive, err := txtar.ParseFile(path.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		file := &archive.Files[i]
		if want := strings.TrimSuffix(file.Name, path.Ext(file.Name)) + ".want"; archive.Files[i+1].Name != want {
			tb.Fatalf("%s is followed by %s", file.Name, archive.Files[i+1].Name)
		}
		data := file.Data
		if strings.HasPrefix(file.Name, "crlf") {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		if strings.HasPrefix(file.Name, "bom") {
			data = append([]byte("\ufeff"), data...)
		}
		f(file.Name, data, &archive.Files[i+1])
	}
	return archive
}

func golden(t *testing.T, name string, outcome func(name string, data []byte) string) {
	t.Helper()
	archive := each(t, name, func(file string, data []byte, want *txtar.File) {
		t.Run(file, func(t *testing.T) {
			got := outcome(file, data)
			if *update {
				want.Data = []byte(got)
			}
			if got != string(want.Data) {
				t.Errorf("got\n%s\nwant\n%s", got, want.Data)
			}
		})
	})
	if *update {
		if err := os.WriteFile(path.Join("testdata", name), txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func lines(b *strings.Builder, problems document.Problems) {
	for i, line := range problems.Lines() {
		if problems[i].Warning {
			line += " (a warning)"
		}
		fmt.Fprintln(b, line)
	}
}

// Each type and each mistake, with the body byte for byte.
func TestMessages(t *testing.T) {
	golden(t, "messages.txtar", func(name string, data []byte) string {
		m, problems := message.Parse(name, data, known)
		var b strings.Builder
		lines(&b, problems)
		if problems.Err() != nil {
			fmt.Fprintf(&b, "refused, from %q: %s\n", m.From, message.Reason(problems))
			return b.String()
		}
		v := reflect.ValueOf(m)
		for i := range v.NumField() {
			switch f := v.Field(i).Interface().(type) {
			case time.Time:
				if !f.IsZero() {
					fmt.Fprintf(&b, "%s: %s\n", v.Type().Field(i).Name, f.Format(time.RFC3339))
				}
			case []byte:
				fmt.Fprintf(&b, "%s: %q\n", v.Type().Field(i).Name, f)
			default:
				if !v.Field(i).IsZero() {
					fmt.Fprintf(&b, "%s: %v\n", v.Type().Field(i).Name, f)
				}
			}
		}
		return b.String()
	})
}

// The largest message, and bodies that are not text.
func TestBodiesAreKept(t *testing.T) {
	front := "---\nto: a/b\nfrom: a/c\ntype: task\n---\n"
	body := strings.Repeat("x", message.MaxFile-len(front))
	m, problems := message.Parse("m.md", []byte(front+body), nil)
	if len(problems) > 0 || string(m.Body) != body {
		t.Errorf("a message of 256 KiB: %v, %d bytes", problems.Lines(), len(m.Body))
	}
	_, problems = message.Parse("m.md", []byte(front+body+"x"), nil)
	if got := message.Reason(problems); got != "larger than 256 KiB" {
		t.Errorf("one byte more: %q", got)
	}
	for body, reason := range map[string]string{"\x00\xff\x1b[31m \u202e": "", strings.Repeat("-", 300): ""} {
		m, problems := message.Parse("m.md", []byte(front+body), nil)
		if got := message.Reason(problems); got != reason || string(m.Body) != body {
			t.Errorf("%q: %q, body %q", body, got, m.Body)
		}
	}
	_, problems = message.Parse("m.md", []byte("---\nto: a/b\x00\n---\n"), nil)
	if got := message.Reason(problems); got != "holds a NUL byte" {
		t.Errorf("NUL in a key: %q", got)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"core/core": "core/core", "pipeline/coder-2": "pipeline/coder-2", "system": "system", "a_1/b": "a_1/b",
	} {
		if a, err := message.ParseAddress(text); err != nil || a.String() != want {
			t.Errorf("%s: %s, %v", text, a, err)
		}
	}
	for _, text := range []string{"", "a", "a/", "/a", "a/b/c", "a b/c", "-a/b", "a/../b", "../b", "A/b\n", "system/", strings.Repeat("a", 101) + "/b"} {
		if a, err := message.ParseAddress(text); err == nil {
			t.Errorf("%q is %+v", text, a)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	each(f, "messages.txtar", func(_ string, data []byte, _ *txtar.File) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := message.Parse("0102150405-task-a--b-x.md", data, []string{"a", "b"})
		if !bytes.HasSuffix(data, m.Body) {
			t.Errorf("the body %q is not the end of the file", m.Body)
		}
		for _, p := range problems {
			if p.Text == "" || p.Line < 0 || p.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Errorf("a problem without place or text: %+v", p)
			}
		}
		if reason := message.Reason(problems); (reason != "") != (problems.Err() != nil) || strings.Contains(reason, "\n") {
			t.Errorf("reason %q of %v", reason, problems.Lines())
		}
		if problems.Err() != nil {
			return
		}
		if m.Type == "" || m.Status == "" || m.Priority == "" || m.From == (message.Address{}) || m.To == (message.Address{}) || m.To == message.System {
			t.Errorf("incomplete: %+v", m)
		}
		for _, a := range []message.Address{m.From, m.To} {
			if again, err := message.ParseAddress(a.String()); err != nil || again != a {
				t.Errorf("%+v is written %s, which is %+v, %v", a, a, again, err)
			}
		}
		if strings.ContainsAny(m.Headline, "\n\r\x1b\u202e") {
			t.Errorf("headline %q", m.Headline)
		}
	})
}
