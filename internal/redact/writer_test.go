package redact_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
)

// writeIn writes text in chunks of n bytes and returns what came out.
func writeIn(t *testing.T, r interface {
	Writer(io.Writer) io.WriteCloser
}, text string, n int) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for rest := text; rest != ""; {
		k := min(n, len(rest))
		if got, err := io.WriteString(w, rest[:k]); got != k || err != nil {
			t.Fatalf("wrote %d, %v", got, err)
		}
		rest = rest[k:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriterRedactsAcrossChunks(t *testing.T) {
	value := random(30, 40, alnum)
	r := knowing(t, value)
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	text := "start\n" + value + "\nmiddle " + encoded + " x\n" + value + value[:20] + "\nend " + value
	want := r.Redact(text)
	for n := range len(text) + 1 {
		if got := writeIn(t, r, text, n+1); got != want {
			t.Fatalf("in chunks of %d: %q, want %q", n+1, got, want)
		}
	}
}

func TestWriterRedactsLinesWithoutEnd(t *testing.T) {
	value := random(31, 40, alnum)
	r := knowing(t, value)
	filler := strings.Repeat("0123456789 words ", 5_000)
	text := filler[:65_990] + value + filler + value + filler
	want := r.Redact(text)
	for _, n := range []int{1000, 4096, 70_000} {
		if got := writeIn(t, r, text, n); got != want {
			t.Errorf("in chunks of %d the output differs", n)
		}
	}
}

func TestWriterRedactsAKeyLineByLine(t *testing.T) {
	body := wrap(random(32, 12000, alnum), 64, "\n")
	text := "a\n-----BEGIN PRIVATE KEY-----\n" + body + "-----END PRIVATE KEY-----\nb\n"
	got := writeIn(t, knowing(t, random(33, 20, alnum)), text, 65)
	for line := range strings.Lines(body) {
		if strings.Contains(got, strings.TrimSpace(line)) {
			t.Fatalf("a line of the key passed: %q", got)
		}
	}
	if !strings.HasPrefix(got, "a\n[redacted:private-key]") || !strings.HasSuffix(got, "\nb\n") {
		t.Errorf("output is %q", got)
	}
}

func TestWriterOfOneCharacterPerLineLetsFewPass(t *testing.T) {
	value := random(34, 40, alnum)
	got := writeIn(t, knowing(t, value), each(value, "%c", "\n")+"\n", 2)
	if !strings.Contains(got, "[redacted:canary]") || strings.Contains(strings.ReplaceAll(got, "\n", ""), value[:12]) {
		t.Errorf("output is %q", got)
	}
}

func TestWriterPassesLinesOnAtOnce(t *testing.T) {
	var out bytes.Buffer
	w := knowing(t, random(35, 20, alnum)).Writer(&out)
	io.WriteString(w, "one\ntw")
	if out.String() != "one\n" {
		t.Errorf("passed on %q", out.String())
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "one\ntw" {
		t.Errorf("after Close: %q", out.String())
	}
	if _, err := io.WriteString(w, "x"); err == nil {
		t.Error("written after Close")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriterReturnsTheErrorBelow(t *testing.T) {
	full := errors.New("disk full")
	w := knowing(t, random(36, 20, alnum)).Writer(failing{full})
	if _, err := io.WriteString(w, "line\n"); !errors.Is(err, full) {
		t.Errorf("error is %v", err)
	}
}
