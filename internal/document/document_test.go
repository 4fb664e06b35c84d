package document_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

func TestParseReportsEveryProblemWithItsLine(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"repeated keys", "a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\n", []string{
			"f.yaml:3: a: repeated key, first on line 1",
			"f.yaml:4: c.d: repeated key, first on line 4",
		}},
		{"repeated key in JSON", "{\"a\": 1,\n \"b\": [{\"c\": 1,\n \"c\": 2}]}", []string{
			"f.yaml:3: b[0].c: repeated key, first on line 2",
		}},
		{"second document", "a: 1\n---\nb: 2\n", []string{
			"f.yaml:2: a second document starts here; only one is read",
		}},
		{"merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", []string{
			"f.yaml:3: c: merge keys (<<) are not supported",
		}},
		{"tag", "a: !!binary aGVsbG8=\n", []string{"f.yaml:1: a: tag !!binary is not supported"}},
		{"tag on a list", "a: !set [b]\n", []string{"f.yaml:1: a: tag !set is not supported"}},
		{"key that is a list", "? [a, b]\n: c\n", []string{"f.yaml:1: a key must be a plain word"}},
		{"self alias", "a: &x [*x]\n", []string{"f.yaml:1: a[0]: alias *x contains itself"}},
		{"self alias in a map", "a: &x {b: *x}\n", []string{"f.yaml:1: a.b: alias *x contains itself"}},
		{"syntax", "a: b: c\n", []string{"f.yaml:1: not valid YAML: mapping values are not allowed in this context"}},
		{"a tab", "a:\n\tb: 1\n", []string{"f.yaml:2: not valid YAML: indented with a tab, it takes spaces"}},
		{"unclosed", "a: 1\nb: [{c: 2}\n", []string{"f.yaml:2: not valid YAML: did not find expected ',' or ']'"}},
		{"indentation", "a: 1\nb:\n  - c: 2\n    d: 3\n   e: 4\n", []string{"f.yaml:3: not valid YAML: did not find expected '-' indicator"}},
		{"unknown anchor", "a: *x\n", []string{"f.yaml: not valid YAML: unknown anchor 'x' referenced"}},
		{"latin-1", "a: \xe9\n", []string{"f.yaml: not valid UTF-8"}},
		{"NUL", "a: \x00\n", []string{"f.yaml: holds a NUL byte"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := document.Parse("f.yaml", []byte(tt.text))
			if got := ps.Lines(); !slices.Equal(got, tt.want) {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestParseStopsAnAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for _, s := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		prev := string(s[0] - 1)
		b.WriteString("a" + s + ": &a" + s + " [" + strings.Repeat("*a"+prev+", ", 9) + "*a" + prev + "]\n")
	}
	_, ps := document.Parse("bomb", []byte(b.String()))
	if len(ps) != 1 || ps[0].Text != "holds more than 100000 values" {
		t.Errorf("problems: %v", ps.Lines())
	}
}

func TestParseRefusesDeepNesting(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 500) + strings.Repeat("]", 500),
		"a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		_, ps := document.Parse("", []byte(text))
		if len(ps) == 0 || !strings.HasSuffix(ps[0].Text, "nested deeper than 100") {
			t.Errorf("problems: %v", ps.Lines())
		}
	}
}

func TestParseReadsTheSameFromYAMLAndJSON(t *testing.T) {
	y := "a: [1, -2.5, true, null, text, \"3\"]\nb:\n  c: \"é\\n\"\n"
	j := "\ufeff{\"a\": [1, -2.5, true, null, \"text\", \"3\"],\r\n\t\"b\": {\"c\": \"\\u00e9\\n\"}}"
	want := map[string]any{
		"a": []any{int64(1), -2.5, true, nil, "text", "3"},
		"b": map[string]any{"c": "é\n"},
	}
	for _, text := range []string{y, j} {
		n, ps := document.Parse("", []byte(text))
		if len(ps) > 0 {
			t.Fatalf("problems: %v", ps.Lines())
		}
		if got := n.Plain(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v", got)
		}
	}
}

func TestParseKeepsJSONEscapesAndPlaces(t *testing.T) {
	n, ps := document.Parse("x.json", []byte("{\n  \"a\": \"\\ud83d\\ude00\\/\",\n  \"b\": [1,\n    true]\n}"))
	if len(ps) > 0 {
		t.Fatalf("problems: %v", ps.Lines())
	}
	if got := n.Field("a").Text; got != "😀/" {
		t.Errorf("a = %q", got)
	}
	second := n.Field("b").Items[1]
	if second.Line != 4 || second.Column != 5 {
		t.Errorf("b[1] at %d:%d, want 4:5", second.Line, second.Column)
	}
}

func TestParseTakesAnEmptyDocument(t *testing.T) {
	for _, text := range []string{"", "\n# only a comment\n", "---\n", "null"} {
		n, ps := document.Parse("", []byte(text))
		if len(ps) > 0 || n == nil || n.Kind != document.Null {
			t.Errorf("%q: node %+v, problems %v", text, n, ps.Lines())
		}
	}
}

type inner struct {
	Name  string        `doc:"name,required"`
	Limit time.Duration `doc:"limit"`
}

type list []string

func (l *list) UnmarshalDocument(n *document.Node) error {
	if n.IsText() {
		*l = strings.Split(n.Text, ",")
		return nil
	}
	if n.Kind == document.List {
		for _, item := range n.Items {
			*l = append(*l, item.Text)
		}
		return nil
	}
	return errors.New("expected text or a list, found " + n.Found())
}

type outer struct {
	Title string            `doc:"title"`
	Count int               `doc:"count"`
	Ratio float64           `doc:"ratio"`
	On    bool              `doc:"on"`
	Maybe *bool             `doc:"maybe"`
	Items []inner           `doc:"items"`
	Env   map[string]string `doc:"env"`
	Parts list              `doc:"parts"`
	Any   any               `doc:"any"`
	Raw   *document.Node    `doc:"raw"`
	Ours  string
}

func decode(t *testing.T, text string, v any, o document.Options) document.Problems {
	t.Helper()
	n, ps := document.Parse("c.yaml", []byte(text))
	if len(ps) > 0 {
		t.Fatalf("problems: %v", ps.Lines())
	}
	return document.Decode(n, v, o)
}

func TestDecodeFillsAndKeepsDefaults(t *testing.T) {
	got := outer{Title: "default", Count: 7, Ours: "kept"}
	ps := decode(t, `
count: 0x10
ratio: 2
on: true
maybe: false
items: [{name: 2026-01-15, limit: 20m}, {name: b, limit: 0}]
env: {A: "1"}
parts: a,b
any: [1, x]
raw: {x: 1}
`, &got, document.Options{})
	if len(ps) > 0 {
		t.Fatalf("problems: %v", ps.Lines())
	}
	no := false
	want := outer{
		Title: "default", Count: 16, Ratio: 2, On: true, Maybe: &no,
		Items: []inner{{"2026-01-15", 20 * time.Minute}, {"b", 0}},
		Env:   map[string]string{"A": "1"}, Parts: list{"a", "b"},
		Any: []any{int64(1), "x"}, Raw: got.Raw, Ours: "kept",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Raw.Field("x").Text != "1" {
		t.Errorf("raw = %+v", got.Raw)
	}
}

func TestDecodeReportsEveryMismatch(t *testing.T) {
	var v outer
	ps := decode(t, `
titel: x
title: 42
count: "3"
ratio: a
on: yes
maybe: 1
items:
  - {limit: 20}
  -
  - {name: [a], limti: 1m}
env: [a]
parts: {a: 1}
zzzzzzzzzz: 1
`, &v, document.Options{})
	want := []string{
		`c.yaml:2: titel: unknown key, did you mean "title"?`,
		`c.yaml:3: title: expected text, found 42`,
		`c.yaml:4: count: expected a whole number, found "3"`,
		`c.yaml:5: ratio: expected a number, found "a"`,
		`c.yaml:6: on: expected true or false, found "yes"`,
		`c.yaml:7: maybe: expected true or false, found 1`,
		`c.yaml:9: items[0].limit: expected a duration such as 20m, found 20`,
		`c.yaml:9: items[0].name: required key missing`,
		`c.yaml:10: items[1]: empty list item`,
		`c.yaml:11: items[2].name: expected text, found a list`,
		`c.yaml:11: items[2].limti: unknown key, did you mean "limit"?`,
		`c.yaml:12: env: expected a map, found a list`,
		`c.yaml:13: parts: expected text or a list, found a map`,
		`c.yaml:14: zzzzzzzzzz: unknown key`,
	}
	if got := ps.Lines(); !slices.Equal(got, want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if ps.Err() == nil {
		t.Error("Err is nil")
	}
}

// YAML ends lines at more characters than editors do; people count as their editor does.
func TestLinesAreThoseOfAnEditor(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\ra: 2\n":                   "c.yaml:1: a: repeated key, first on line 1",
		"a: 1\r\n\r\na: 2\r\n":           "c.yaml:3: a: repeated key, first on line 1",
		"a: 1\u2028b: 2\u0085\nb: 3\n":   "c.yaml:2: b: repeated key, first on line 1",
		"a: 1\r\r\n# \u2029\n\nb: [\n\n": "c.yaml:6: not valid YAML: did not find expected node content",
	} {
		_, problems := document.Parse("c.yaml", []byte(text))
		if got := strings.Join(problems.Lines(), "\n"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestDecodeWarnsOfUnknownKeysOnRequest(t *testing.T) {
	var v outer
	ps := decode(t, "titel: x\n", &v, document.Options{Unknown: document.UnknownWarn, Path: "top[0]"})
	if len(ps) != 1 || !ps[0].Warning || ps[0].Path != "top[0].titel" {
		t.Errorf("problems: %+v", ps)
	}
	if err := ps.Err(); err != nil {
		t.Errorf("Err = %v, want nil for a warning", err)
	}
	if ps := decode(t, "titel: x\n", &v, document.Options{Unknown: document.UnknownIgnore}); len(ps) > 0 {
		t.Errorf("ignored, yet %v", ps.Lines())
	}
}

func TestMergeKeepsThePlaceOfEachPart(t *testing.T) {
	under, _ := document.Parse("home.yaml", []byte("a: {b: 1, c: [1, 2]}\nd: x\ne: {f: 1}\n"))
	over, _ := document.Parse("project.yaml", []byte("\na: {c: [3], g: 4}\nd: {h: 1}\ne:\n"))
	n := document.Merge(under, over)
	want := map[string]any{
		"a": map[string]any{"b": int64(1), "c": []any{int64(3)}, "g": int64(4)},
		"d": map[string]any{"h": int64(1)},
		"e": map[string]any{"f": int64(1)},
	}
	if got := n.Plain(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
	for path, place := range map[string]string{
		"a.b": "home.yaml:1: a.b: p", "a.c[0]": "project.yaml:2: a.c[0]: p",
		"d.h": "project.yaml:3: d.h: p", "e.f": "home.yaml:3: e.f: p", "a.zz": "project.yaml:2: a.zz: p",
	} {
		t.Run(path, func(t *testing.T) {
			if got := n.Problem(path, "p").String(); got != place {
				t.Errorf("got %q, want %q", got, place)
			}
		})
	}
}

func TestProblemFindsQuotedKeys(t *testing.T) {
	n, _ := document.Parse("f", []byte("a:\n  \"x.y\":\n    - 1\n    - 2\n"))
	path := document.Index(document.Key(document.Key("", "a"), "x.y"), 1)
	if got := n.Problem(path, "bad").String(); got != `f:4: a."x.y"[1]: bad` {
		t.Errorf("got %q", got)
	}
}

func TestEncodeIsReadBackEqual(t *testing.T) {
	no := false
	in := outer{
		Title: "true", Count: 3, Ratio: 0.5, On: true, Maybe: &no,
		Items: []inner{{"- a: b\n  # c\n", time.Minute}}, Env: map[string]string{"B": "~", "A": "\ttab "},
		Parts: list{"a", "42"},
	}
	data, err := document.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	var out outer
	if ps := decode(t, string(data), &out, document.Options{}); len(ps) > 0 {
		t.Fatalf("problems: %v\n%s", ps.Lines(), data)
	}
	out.Raw = in.Raw
	if !reflect.DeepEqual(in, out) {
		t.Errorf("in  %+v\nout %+v\n%s", in, out, data)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"owned_files", "title", "on"}
	for word, want := range map[string]string{
		"owned-files": "owned_files", "onwed_files": "owned_files", "Titel": "title", "xyz": "", "qq": "", "titan": "", // two letters of five are another word
		strings.Repeat("title", 100): "",
	} {
		t.Run(word, func(t *testing.T) {
			if got := document.Nearest(word, known); got != want {
				t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: [1, {b: c}]\n", `{"a": ["\ud83d\ude00"]}`, "&a [*a]", "? a\n: b", "a: |\n  x\n", "- !!str 1\n", "\ufeffa: 1\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ps := document.Parse("f", data)
		if n == nil && len(ps.Errors()) == 0 {
			t.Fatal("neither a node nor a problem")
		}
		if n == nil || len(ps) > 0 {
			return
		}
		out, err := document.Encode(n)
		if err != nil {
			t.Fatal(err)
		}
		parsed, ps := document.Parse("f", out)
		if len(ps) > 0 {
			t.Fatalf("own output is refused: %v\n%s", ps.Lines(), out)
		}
		if !reflect.DeepEqual(n.Plain(), parsed.Plain()) {
			t.Fatalf("%#v became %#v", n.Plain(), parsed.Plain())
		}
	})
}

func TestParsePlainRefusesAnchors(t *testing.T) {
	text := "a: &x 1\nb: [*x, &y {c: 2}]\n&z d: 3\n*z : 4\ne: *x\n"
	n, ps := document.ParsePlain("f.yaml", []byte(text))
	want := []string{
		"f.yaml:1: a: anchors are not supported, found &x",
		"f.yaml:2: b[0]: aliases are not supported, write the value in place of *x",
		"f.yaml:2: b[1]: anchors are not supported, found &y",
		"f.yaml:3: d: anchors are not supported, found &z",
		"f.yaml:4: d: aliases are not supported, write the key in place of *z",
		"f.yaml:4: d: repeated key, first on line 3",
		"f.yaml:5: e: aliases are not supported, write the value in place of *x",
	}
	if got := ps.Lines(); !slices.Equal(got, want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e := n.Field("e"); e.Text != "1" || e.Line != 5 {
		t.Errorf("e is %q on line %d", e.Text, e.Line)
	}
	if _, ps := document.Parse("f.yaml", []byte("a: &x 1\nb: *x\n")); len(ps) > 0 {
		t.Errorf("Parse: %v", ps.Lines())
	}
}
