package redact_test

import (
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
)

// sample makes texts that an expression matches: of each class as few characters as it takes.
type sample struct {
	rand    *rand.Rand
	longest *syntax.Regexp // the class of which most characters are needed
	short   bool           // make one less of those
}

func (s *sample) make(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		var all []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				all = append(all, r)
			}
		}
		return string(all[s.rand.IntN(len(all))])
	case syntax.OpRepeat:
		n := re.Min
		if s.longest == nil || n > s.longest.Min {
			s.longest = re
		}
		if s.short && s.longest == re {
			n--
		}
		var b strings.Builder
		for range n {
			b.WriteString(s.make(re.Sub[0]))
		}
		return b.String()
	case syntax.OpQuest, syntax.OpEmptyMatch:
		return ""
	case syntax.OpAlternate:
		return s.make(re.Sub[s.rand.IntN(len(re.Sub))])
	}
	var b strings.Builder
	for _, sub := range re.Sub {
		b.WriteString(s.make(sub))
	}
	return b.String()
}

// Of each kind a token is found where tokens are, as the whole of what the expression says,
// and what is a little too short, a part of something longer or another name's value is not.
func TestEachKindOfTokenIsFoundAndANearMissIsNot(t *testing.T) {
	kinds, err := redact.Kinds()
	if err != nil || len(kinds) < 200 {
		t.Fatalf("%d kinds, %v", len(kinds), err)
	}
	samples := 20
	if testing.Short() {
		samples = 4
	}
	seen := map[string]bool{}
	for i, k := range kinds {
		t.Run(k.ID, func(t *testing.T) {
			if seen[k.ID] || k.Source == "" {
				t.Errorf("twice, or from nowhere (%q)", k.Source)
			}
			seen[k.ID] = true
			re, err := syntax.Parse(k.Expression, syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			s := &sample{rand: rand.New(rand.NewPCG(1, uint64(i)))}
			whole := regexp.MustCompile(`^(?:` + k.Expression + `)$`)
			for range samples {
				s.short = false
				token := s.make(re)
				if !whole.MatchString(token) {
					t.Fatalf("%q is not a sample of %s", token, k.Expression)
				}
				before := ""
				if k.After != nil {
					before = k.After[s.rand.IntN(len(k.After))] + ": "
				}
				for _, text := range []string{"see " + before + token + " here", before + token, before + `"` + token + "\"\n", "\t" + before + token + ", and"} {
					clean := redact.New().Redact(text)
					if strings.Contains(clean, token) || !slices.Contains(rules(redact.New().Scan(text)), k.ID) {
						t.Errorf("%q became %q", text, clean)
					}
				}
				if k.After == nil && isWord(token[0]) {
					misses(t, k.ID, "x"+token+" ")
				}
				if k.After != nil {
					misses(t, k.ID, "of the order "+token+" ")
				}
				if s.longest == nil {
					continue // a title, which is long enough as it is
				}
				s.short = true
				misses(t, k.ID, "see "+before+s.make(re)+" here")
			}
		})
	}
}

func isWord(b byte) bool { return strings.IndexByte(alnum+"_", b) >= 0 }

func misses(t *testing.T, kind, text string) {
	t.Helper()
	if slices.Contains(rules(redact.New().Scan(text)), kind) {
		t.Errorf("found in %q", text)
	}
}

// What an expression is found by is the same whether all of it is read or the beginning alone.
func TestLeadingTextsAreTheWords(t *testing.T) {
	kinds, err := redact.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	expressions := []string{"abc[a-z]{9}", "ab[a-z]{9}", "abc[a-z]", "abc[ab]", "abc[ab]+", "abc[a-z]?", "abcd?[a-z]{9}", "abc{3}[a-z]{9}", "a-[a-z]{9}", `abc\w`, `abc\w*`, `abc\.x[a-z]{9}`, `abc[\w-]{1,2}def`, `abc(?:d|e)[a-z]{9}`}
	for _, k := range kinds {
		expressions = append(expressions, k.Expression)
	}
	led := 0
	for _, e := range expressions {
		lead, words, err := redact.Words(e)
		if err != nil {
			t.Error(err)
		}
		if lead == "" {
			continue
		}
		if led++; !slices.Equal(words, []string{lead}) {
			t.Errorf("%s: %q leads, and the words are %q", e, lead, words)
		}
	}
	if led < len(kinds)/2 {
		t.Errorf("of %d expressions a text leads %d", len(expressions), led)
	}
}

func TestExpressionsOfOtherKindsAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"a abc-[a-z]{9} -":               "columns",
		"a abc-[a-z]{9} often=3 x":       "unknown check",
		"a abc-[a-z]{9} entropy=high x":  "invalid syntax",
		"a abc-(?:[a-z]+-){3} - x":       "neither texts nor",
		"a abc-(?:[a-z]{30})?x - x":      "neither texts nor",
		"a (?i)abc-[a-z]{9} - x":         "neither texts nor",
		"a abc-.{9} - x":                 "neither texts nor",
		"a abc-[^a-z]{9} - x":            "not of ASCII",
		"a abc-[a-z - x":                 "missing closing ]",
		"a [0-9a-f]{32} - x":             "no text that places are found by",
		"a [0-9a-f]{32}-a[0-9]{3,4} - x": "no text that places are found by",
	} {
		t.Run(line, func(t *testing.T) {
			if err := redact.ReadKinds("# a comment\n\n" + line); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// What is not a secret passes: sources, hashes, ids, locks and what a minifier leaves.
func TestOrdinarySourceHasNoTokens(t *testing.T) {
	for _, root := range []string{"../..", filepath.Join(build.Default.GOROOT, "src", "net"), filepath.Join(build.Default.GOROOT, "src", "crypto", "x509"), filepath.Join(build.Default.GOROOT, "src", "cmd", "go")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == ".git":
				return fs.SkipDir
			case !d.Type().IsRegular():
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, f := range redact.New().ScanAdded("", string(data)) {
				if f.Rule != "url-password" && f.Rule != "private-key" && !madeUp(path, f.Rule) {
					t.Errorf("%s:%d: %s", path, f.Line, f.Rule)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range ordinary() {
		if found := redact.New().Scan(text); len(found) > 0 {
			t.Errorf("%s: %v", name, rules(found))
		}
	}
}

// madeUp are the tokens of tests, which look as real ones do.
func madeUp(path, rule string) bool {
	return strings.HasSuffix(path, "_test.go") && (rule == "provider-key" && strings.Contains(path, "internal/agent") ||
		rule == "github-token" && strings.Contains(path, "internal/redact"))
}

// ordinary are texts with much that is random, and with names of what has tokens.
func ordinary() map[string]string {
	const hex = "0123456789abcdef"
	texts := map[string]string{}
	for seed := range uint64(200) {
		h := func(n int) string { return random(seed*7+uint64(n), n, hex) }
		b := func(n int) string { return random(seed*11+uint64(n), n, alnum+"+/") }
		id := h(8) + "-" + h(4) + "-4" + h(3) + "-a" + h(3) + "-" + h(12)
		texts["ids"] += id + "\n" + `{"id": "` + id + `", "request_id": "` + id + `"}` + "\n/v1/heroku/apps/" + id + "/datadog-" + h(8) + "\n"
		texts["hashes"] += "commit " + h(40) + "\nsha256:" + h(64) + "\nindex " + h(7) + ".." + h(7) + "\nmd5 " + h(32) + "\nETag: \"" + h(32) + "\"\nuses: a/twilio@" + h(40) + "\n"
		texts["lock"] += `"node_modules/@slack/web-api": {"version": "7.0.4", "resolved": "https://registry.example/@slack/web-api-7.0.4.tgz", "integrity": "sha512-` + b(86) + `=="},` + "\n" +
			"golang.org/x/oauth2 v0.37.0 h1:" + b(43) + "=\n" + `checksum = "` + h(64) + `"` + "\n"
		texts["minified"] += "!function(e,t){var n=" + random(seed, 3, alnum) + ";return sk-live_test(e)||t.api_key&&t.token(" + random(seed, 8, alnum) + ")}(window,0x" + h(6) + ");"
		texts["map"] += "//# sourceMappingURL=data:application/json;base64," + b(300) + "\n"
		texts["words"] += "the " + []string{"github", "sk", "npm", "token", "secret_", "key-", "live_", "pat", "api-", "AIza", "SG.", "datadog:", "fc-", "re_", "hf_", "rnd_"}[seed%16] + " of " + b(12) + "\n"
	}
	return texts
}
