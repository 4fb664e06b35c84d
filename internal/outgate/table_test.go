package outgate_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/outgate"
)

// Every path of testdata/paths.txt, which runs or steers something or only looks as if it
// did, is judged at its level, in capitals too, and the reason is said.
func TestSecurity12And13PathsThatRunOrSteer(t *testing.T) {
	data, err := os.ReadFile("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		level, p, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, ok := want[p]; ok {
			t.Errorf("%s is in the table twice", p)
		}
		want[p] = strings.TrimPrefix(level, "-") // nothing is said of it
	}
	if len(want) < 350 {
		t.Fatalf("only %d paths", len(want))
	}
	r := newRig(t, map[string]string{"a": "a\n"})
	for _, spell := range []func(string) string{plainly, strings.ToUpper} {
		for _, batch := range batches(want, spell) {
			got := levels(r.check(batch))
			for p, level := range want {
				if _, ok := batch[spell(p)]; !ok {
					continue
				}
				if g := got[spell(p)]; g.level != level || g.why == "" && level != "" {
					t.Errorf("%s is %q (%s), want %q", spell(p), g.level, g.why, level)
				}
			}
		}
	}
}

func plainly(p string) string { return p }

// set has the paths, as a table has them.
func set(paths []string) map[string]string {
	out := map[string]string{}
	for _, p := range paths {
		out[p] = ""
	}
	return out
}

// batches puts the paths into changes in which no path is below another.
func batches(want map[string]string, spell func(string) string) []map[string]string {
	var out []map[string]string
	var taken []occupied
	for p := range want {
		p, i := spell(p), 0
		for i < len(out) && taken[i].overlaps(p) {
			i++
		}
		if i == len(out) {
			out, taken = append(out, map[string]string{}), append(taken, occupied{})
		}
		out[i][p] = "x\n"
		taken[i].add(p)
	}
	return out
}

// occupied has the paths of a change, as true, and the directories that they are in.
type occupied map[string]bool

func (o occupied) add(p string) {
	p = strings.ToLower(p)
	o[p] = true
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		o[dir] = false
	}
}

func (o occupied) overlaps(p string) bool {
	p = strings.ToLower(p)
	if _, there := o[p]; there {
		return true
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if o[dir] {
			return true
		}
	}
	return false
}

type judgement struct{ level, why string }

// levels says of each path the strictest of what the report says.
func levels(r outgate.Report) map[string]judgement {
	out := map[string]judgement{}
	for _, n := range r.Named {
		out[n.Path] = judgement{"named", n.Text}
	}
	for _, n := range r.Held {
		out[n.Path] = judgement{"held", n.Text}
	}
	for _, f := range r.Findings {
		out[f.Path] = judgement{"blocked", f.Text}
	}
	return out
}

// A link in the place of a directory whose files are held or blocked leads to them.
func TestSecurity12And13LinksInPlaceOfDirectories(t *testing.T) {
	r := newRig(t, map[string]string{"evil/x": "x\n"})
	for p, want := range map[string]string{".cargo": "held", "gradle": "held", ".yarn": "held", "sub/.cursor": "blocked", ".zed": "blocked", ".config": "blocked"} {
		if got := levels(r.check(map[string]string{p: "->evil"})); got[p].level != want {
			t.Errorf("%s as a link: %+v, want %s", p, got, want)
		}
		if got := levels(r.check(map[string]string{"link": "->" + p})); got["link"].level != want {
			t.Errorf("link to %s: %+v, want %s", p, got, want)
		}
	}
	if got := r.check(map[string]string{"bin/mise": "x\n", "lib/gradle": "x\n"}); got.Blocked() || len(got.Held) > 0 {
		t.Errorf("files that lead nowhere: %+v", got)
	}
}

// Characters that a reviewer does not see are named where a change brings them in.
func TestUnseenCharactersOfChangedLinesAreNamed(t *testing.T) {
	const bidi, tag, zero, escape = "\u202e", "\U000e0041", "\u200b", "\x1b"
	r := newRig(t, map[string]string{"old.go": "a\nb" + bidi + "\nc\n", "crlf.txt": "x\r\n"})
	for _, c := range []struct{ name, path, content, want string }{
		{"bidi", "a.go", "a\nif x" + bidi + " {\n", "line 2 holds the character U+202E, which is not seen"},
		{"tags", "a.md", tag + "\n" + tag + "\n", "line 1 holds the character U+E0041, which is not seen; so do 1 more"},
		{"zero width", "a.js", "let a" + zero + " = 1\n", "line 1 holds the character U+200B, which is not seen"},
		{"escape", "a.txt", "x" + escape + "[2J\n", "line 1 holds the character U+001B, which is not seen"},
		{"hangul filler", "b.js", "\u3164\n", "line 1 holds the character U+3164, which is not seen"},
		{"a changed line", "old.go", "a\nb" + bidi + "\nc\nd" + bidi + "\n", "line 4 holds the character U+202E, which is not seen"},
		{"a line that was there", "old.go", "a\nb" + bidi + "\nd\n", ""},
		{"other languages", "c.txt", "naïve café, 日本語　テスト, العربية, हिन्दी क्\u200dष, 👩\u200d👩\u200d👧 ❤️ 1️⃣\n", ""},
		{"a byte order mark", "d.txt", "\ufeffx\n", ""},
		{"line ends of another system", "crlf.txt", "x\r\ny\r\n\fz\n", ""},
		{"a binary file", "e.bin", "\x00" + bidi, ""},
		{"another encoding", "f.txt", "caf\xe9\n", ""},
		{"an icon of a font", "g.css", "\ue900\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, n := range r.check(map[string]string{c.path: c.content}).Named {
				if n.Rule == "unseen" && n.Path == c.path {
					got = n.Text
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := r.check(map[string]string{"old.go": "-", "new.go": "a\nb" + bidi + "\nc\n"}); len(got.Named) > 0 {
		t.Errorf("renamed: %+v", got.Named)
	}
}
