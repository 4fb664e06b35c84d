package outgate_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/internal/redact"
)

// rig builds pairs of trees in a store.
type rig struct {
	t     testing.TB
	store *gitrepo.Store
	base  map[string]string
	spec  outgate.Spec
	ids   map[string]string // of contents that were written
}

func newRig(t testing.TB, base map[string]string) *rig {
	t.Helper()
	h, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: h, base: base, spec: outgate.Spec{Secrets: redact.New()}, ids: map[string]string{}}
	r.spec.Base = r.tree(gitrepo.EmptyTree, base)
	return r
}

// tree writes changes onto a tree. Content "->x" is a symlink to x, "#!" an executable
// file, "-" a deletion, "@" a gitlink.
func (r *rig) tree(base string, files map[string]string) string {
	r.t.Helper()
	var changes []gitrepo.Change
	for p, content := range files {
		c := gitrepo.Change{Path: p, Status: 'A', NewMode: "100644"}
		switch {
		case content == "-":
			c.Status = 'D'
		case content == "@":
			c.NewMode, c.NewID = "160000", strings.Repeat("1", 40)
		case strings.HasPrefix(content, "->"):
			c.NewMode, content = "120000", content[2:]
		case strings.HasPrefix(content, "#!"):
			c.NewMode = "100755"
		}
		if c.Status == 'A' && c.NewID == "" {
			c.NewID = r.write(content)
		}
		changes = append(changes, c)
	}
	id, err := r.store.Apply(r.t.Context(), base, changes)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *rig) write(content string) string {
	r.t.Helper()
	if r.ids[content] == "" {
		id, err := r.store.WriteBlob(r.t.Context(), []byte(content))
		if err != nil {
			r.t.Fatal(err)
		}
		r.ids[content] = id
	}
	return r.ids[content]
}

func (r *rig) check(files map[string]string) outgate.Report {
	r.t.Helper()
	return r.checkTree(r.tree(r.spec.Base, files))
}

func (r *rig) checkTree(tree string) outgate.Report {
	r.t.Helper()
	spec := r.spec
	spec.Tree = tree
	report, err := outgate.Check(r.t.Context(), r.store, spec)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

func findings(r outgate.Report) string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, fmt.Sprintf("%s %s:%d", f.Rule, f.Path, f.Line))
	}
	return strings.Join(list, ", ")
}

func notes(list []outgate.Note) string {
	var out []string
	for _, n := range list {
		out = append(out, n.Rule+" "+n.Path)
	}
	return strings.Join(out, ", ")
}

func TestAPlainChangePasses(t *testing.T) {
	r := newRig(t, map[string]string{"a.go": "a\n", "b.go": "b\n", "l": "->a.go"})
	got := r.check(map[string]string{"a.go": "A\n", "b.go": "-", "dir/ünï.go": "c\n", "dir/l": "->../a.go", "l": "->dir"})
	if got.Empty || got.Blocked() || len(got.Held)+len(got.Named) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestNoChangeIsEmpty(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	if got := r.checkTree(r.spec.Base); !got.Empty {
		t.Errorf("got %+v", got)
	}
}

func TestSecurity10And11Types(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	for target, ok := range map[string]bool{
		"a": true, "../a": true, "./../a": true, "b/c": true, "..": true, "../dir/x/": true, "../..": false, "../../a": false, "/etc/passwd": false,
		"b/../../a": false, "b/..": false, "../b/../a": false, "./b/../a": false, "": false, "../.git/config": false, "../.GIT": false, "x\ny": false, `..\a`: false,
		"../.github/workflows/x.yml": false, "../.claude": false, strings.Repeat("x", 1025): false, strings.Repeat("x", 1024): true,
	} {
		t.Run(target, func(t *testing.T) {
			got := r.check(map[string]string{"dir/l": "->" + target})
			if got.Blocked() == ok {
				t.Errorf("symlink to %q: %s", target, findings(got))
			}
		})
	}
	if got := findings(r.check(map[string]string{"l1": "->a", "l2": "->/etc/passwd", "l3": "->a"})); got != "type l2:0" {
		t.Errorf("one of three symlinks: %s", got)
	}
	if got := findings(r.check(map[string]string{"lib": "@"})); got != "type lib:0" {
		t.Errorf("gitlink: %s", got)
	}
	if got := notes(r.check(map[string]string{"l": "->AGENTS.md"}).Held); got != "path.instructions l" {
		t.Errorf("symlink to a held path: %s", got)
	}
}

func TestNamesOfAddedPaths(t *testing.T) {
	r := newRig(t, map[string]string{"README": "r\n", "src/a": "a\n", "straße": "x\n", "k": "x\n", "bad\nname": "x\n", "-old": "x\n"})
	bad := []string{
		"-dash", "dir/-dash", "dot.", "dir./x", "space ", "space /x", "new\nline", "tab\t", "esc\x1b[0m", "del\x7f", `back\slash`,
		"bidi\u202ecod.txt", "zero\u200bwidth", "join\u200d", "bom\ufeff", "soft\u00adhyphen", "nbsp\u00a0", "filler\u3164", "blank\u2800", "object\ufffc", "vs\ufe0f", "bad\xff",
		strings.Repeat("n", 256), strings.Repeat("d/", 512) + "x", "readme", "SRC/b", "private\ue000", "a\u0308", "STRASSE", "\u212a",
	}
	for _, batch := range batches(set(bad), plainly) {
		got := r.check(batch)
		for name := range batch {
			if !slices.ContainsFunc(got.Findings, func(f outgate.Finding) bool { return f.Rule == "name" && f.Path == name }) {
				t.Errorf("%q: %q", name, findings(got))
			}
		}
	}
	good := []string{"a b", "日本.txt", "ärger", ".hidden", "a-b", "a..b", strings.Repeat("n", 255), "src/A b", "(x) [y] {z}", strings.Repeat("d/", 511) + "xx"}
	for _, batch := range batches(set(good), plainly) {
		if got := r.check(batch); got.Blocked() {
			t.Errorf("%s", findings(got))
		}
	}
	if got := r.check(map[string]string{"bad\nname": "y\n", "-old": "-"}); got.Blocked() {
		t.Errorf("names of the base: %s", findings(got))
	}
}

func TestSecurity12BlockedPaths(t *testing.T) {
	base := map[string]string{"a": "a\n", ".github/workflows/ci.yml": "on: push\n", "sub/.envrc": "base\n"}
	paths := []string{
		".github/workflows/x.yml", ".github/workflows/deep/x.yml", ".github/actions/a/action.yml", ".github/hooks/x", ".gitmodules",
		".husky/pre-commit", ".envrc", ".devcontainer/devcontainer.json", ".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json",
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/x.sh", ".claude/commands/x.md", ".claude/agents/x.md",
		".claude/skills/x/SKILL.md", ".mcp.json", ".codex/config.toml", ".gemini/settings.json", ".cursor/rules/x", ".opencode/x", "opencode.json",
		".qwen/x", "sub/.envrc2/../.envrc", "packages/web/.husky/x", "sub/.claude/settings.json",
	}
	r := newRig(t, base)
	for i, p := range paths {
		paths[i] = filepath.ToSlash(filepath.Clean(p))
	}
	for _, spell := range []func(string) string{plainly, func(p string) string { return strings.ToUpper(p[:2]) + p[2:] }, strings.ToUpper} {
		for _, batch := range batches(set(paths), spell) {
			got := findings(r.check(batch))
			for spelled := range batch {
				if !strings.Contains(got, "path.blocked "+spelled+":0") {
					t.Errorf("%q: %q", spelled, got)
				}
			}
		}
	}
	links, blocked := map[string]string{}, []string{}
	for i, p := range paths {
		name := fmt.Sprintf("link%02d", i)
		links[name], blocked = "->"+p, append(blocked, "path.blocked "+name+":0")
	}
	if got := findings(r.check(links)); got != strings.Join(blocked, ", ") {
		t.Errorf("symlinks to %q: %q", paths, got)
	}
	all, renamed := map[string]string{}, map[string]string{}
	for i, p := range paths {
		all[p], renamed[p], renamed[fmt.Sprintf("free/%d", i)] = fmt.Sprintf("%d\n", i), "-", fmt.Sprintf("%d\n", i)
	}
	away := findings(newRig(t, all).check(renamed))
	for p := range all {
		if !strings.Contains(away, "path.blocked "+p+":0") {
			t.Errorf("%q renamed away: %q", p, away)
		}
	}
	for name, files := range map[string]map[string]string{
		"deleted":                        {".github/workflows/ci.yml": "-"},
		"renamed away":                   {".github/workflows/ci.yml": "-", "ci.yml": "on: push\n"},
		"renamed to":                     {"a": "-", ".github/workflows/a.yml": "a\n"},
		"link in place of the directory": {".github/workflows/ci.yml": "-", ".github/workflows": "->../evil", "evil/ci.yml": "x\n"},
		"link in place of its parent":    {".github/workflows/ci.yml": "-", ".github": "->evil", "evil/workflows/ci.yml": "x\n"},
		"agent directory as link":        {".claude": "->evil", "evil/settings.json": "x\n"},
		"mode":                           {"sub/.envrc": "#!x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.check(files); !strings.Contains(findings(got), "path.blocked") {
				t.Errorf("%q", findings(got))
			}
		})
	}
	for _, p := range []string{".github/dependabot.yml", ".vscode/extensions.json", ".claude/notes.md", "docs/.github/workflows/x", "x.envrc", "workflows/x"} {
		if got := r.check(map[string]string{p: "x\n"}); got.Blocked() {
			t.Errorf("%q: %s", p, findings(got))
		}
	}
	r.spec.Allow = []string{".envrc", ".github/workflows/**", ".codex/", ".qwen", ".vscode/tasks.json"}
	got := r.check(map[string]string{".ENVRC": "x\n", ".github/workflows/x.yml": "x\n", ".mcp.json": "{}", ".codex/x": "x\n", ".qwen/x": "x\n"})
	if findings(got) != "path.blocked .mcp.json:0, path.blocked .qwen/x:0" ||
		notes(got.Held) != "path.allowed .ENVRC, path.allowed .codex/x, path.allowed .github/workflows/x.yml" {
		t.Errorf("allowed: %s; held %s", findings(got), notes(got.Held))
	}
	// What is allowed in a directory does not lift a symlink in the directory's place.
	got = r.check(map[string]string{".github/workflows/ci.yml": "-", ".github": "->evil", ".vscode": "->evil"})
	if want := "path.blocked .github:0, path.blocked .vscode:0"; findings(got) != want {
		t.Errorf("symlinks around what is allowed: %s, want %s", findings(got), want)
	}
}

func TestSecurity13HeldAndNamedPaths(t *testing.T) {
	r := newRig(t, map[string]string{"x_test.go": "x\n", "y_test.go": "y\n", "tool": "x\n", "AGENTS.md": "x\n"})
	got := r.check(map[string]string{
		"AGENTS.md": "-", "sub/claude.local.md": "x\n", "GEMINI.md": "x\n", ".github/copilot-instructions.md": "x\n", ".github/dependabot.yml": "x\n",
		".agentmux/config.yaml": "x\n", "docs/CODEOWNERS": "x\n", "go.mod": "x\n", "web/package-lock.json": "{}", "Dockerfile.dev": "x\n",
		"Makefile": "x\n", "rules.mk": "x\n", ".gitlab-ci.yml": "x\n", "action.yml": "x\n", "SECURITY.md": "x\n", "LICENSE": "x\n",
		"x_test.go": "-", "y_test.go": "Y\n", "tool": "#!x\n", "free.txt": "x\n",
	})
	held := "path.protected .agentmux/config.yaml, path.instructions .github/copilot-instructions.md, path.protected .github/dependabot.yml, " +
		"path.instructions AGENTS.md, path.instructions GEMINI.md, path.protected docs/CODEOWNERS, path.instructions sub/claude.local.md"
	if notes(got.Held) != held {
		t.Errorf("held:\n%s\nwant\n%s", notes(got.Held), held)
	}
	named := "ci .gitlab-ci.yml, build Dockerfile.dev, policy LICENSE, build Makefile, policy SECURITY.md, ci action.yml, dependencies go.mod, " +
		"build rules.mk, executable tool, dependencies web/package-lock.json, tests x_test.go"
	if notes(got.Named) != named {
		t.Errorf("named:\n%s\nwant\n%s", notes(got.Named), named)
	}
	if got.Blocked() {
		t.Errorf("blocked: %s", findings(got))
	}
	r.spec.Protected = []string{"infra/", "*.tf", "docs", "top/x", "/root"}
	got = r.check(map[string]string{
		"infra/x": "x\n", "a/infra/x": "x\n", "a/b/main.tf": "x\n", "docs/x/y": "x\n", "top/x/y": "x\n", "a/top/x": "x\n", "root": "x\n", "a/root": "x\n",
		".github/dependabot.yml": "x\n", "CLAUDE.md": "x\n",
	})
	if want := "path.instructions CLAUDE.md, path.protected a/b/main.tf, path.protected a/infra/x, path.protected docs/x/y, path.protected infra/x, " +
		"path.protected root, path.protected top/x/y"; notes(got.Held) != want {
		t.Errorf("held by configuration: %s", notes(got.Held))
	}
}

func TestSecurity14Sizes(t *testing.T) {
	line := strings.Repeat("x", 1023) + "\n"
	text := func(n int) string { return strings.Repeat(line, n/1024) + strings.Repeat("y", n%1024) }
	binary := func(n int) string { return "\x00" + strings.Repeat("\x01", n-1) }
	many := func(n int) map[string]string {
		files := map[string]string{}
		for i := range n {
			files[fmt.Sprintf("f/%d", i)] = "same\n"
		}
		return files
	}
	parts := func(n, each int) map[string]string {
		files := map[string]string{}
		for i := range n {
			files[fmt.Sprintf("p/%d", i)] = text(each)
		}
		return files
	}
	more := func(files map[string]string, p, content string) map[string]string {
		files[p] = content
		return files
	}
	oldText, oldBinary := 30<<20, 5<<20 // beyond each limit
	if testing.Short() {
		oldText, oldBinary = 5<<20, 300<<10 // beyond each that holds
	}
	base := map[string]string{"big.txt": strings.Repeat(line[:127]+"\n", oldText/128), "big.bin": binary(oldBinary), "long": strings.Repeat("l\n", 10_000)}
	type row struct {
		name    string
		files   map[string]string
		finding string
		held    string
	}
	cases := []row{
		{"old big files, small growth", map[string]string{"big.txt": base["big.txt"] + "more\n", "big.bin": base["big.bin"] + "\x02"}, "", ""},
		{"text at the limit", map[string]string{"a": text(1 << 20)}, "", ""},
		{"text beyond", map[string]string{"a": text(1<<20 + 1)}, "", "size.growth a"},
		{"binary at the limit", map[string]string{"a": binary(256 << 10)}, "", ""},
		{"binary beyond", map[string]string{"a": binary(256<<10 + 1)}, "", "size.growth a"},
		{"files at the limit", many(100), "", ""},
		{"files beyond", many(101), "", "size.files "},
		{"bytes at the limit", parts(4, 1<<20), "", ""},
		{"bytes beyond", more(parts(4, 1<<20), "one", "1"), "", "size.bytes "},
		{"bytes beyond beside a file that shrinks", more(more(parts(4, 1<<20), "one", "1"), "big.bin", "\x00"), "", "size.bytes "},
		{"lines at the limit", map[string]string{"long": strings.Repeat("m\n", 10_000)}, "", ""},
		{"lines beyond", map[string]string{"long": strings.Repeat("m\n", 10_001)}, "", "size.lines "},
		{"shrinking", map[string]string{"big.txt": "-", "big.bin": "-"}, "", "size.lines "},
		{"hard bytes", more(parts(20, 1<<20), "one", "1"), "size.bytes :0", ""},
		{"hard files", many(3001), "size.files :0", ""},
	}
	if !testing.Short() { // all of it is searched
		cases = append(cases, row{"hard bytes at the limit", parts(20, 1<<20), "", "size.bytes , size.lines "},
			row{"hard files at the limit", many(3000), "", "size.files "})
	}
	r := newRig(t, base)
	for _, c := range cases {
		got := r.check(c.files)
		if findings(got) != c.finding || notes(got.Held) != c.held {
			t.Errorf("%s: findings %q, held %q; want %q, %q", c.name, findings(got), notes(got.Held), c.finding, c.held)
		}
	}
	if one, other := outgate.Paths(r.check(many(101)).Held), outgate.Paths(r.check(many(200)).Held); len(one) != 1 || !slices.Equal(one, other) {
		t.Errorf("large changes are held as %q and as %q", one, other)
	}
	r.spec.MaxFiles = 19 // contents of too many files are not searched
	if got := findings(r.check(parts(20, 1<<20))); got != "size.files :0" {
		t.Errorf("hard bytes at the limit, too many files: %q", got)
	}
	r.spec.MaxFiles, r.spec.MaxBytes = 3000, 1
	if testing.Short() {
		r.spec.MaxFiles = 30
	}
	if got := findings(r.check(many(r.spec.MaxFiles))); got != "size.bytes :0" {
		t.Errorf("hard files at the limit, too many bytes: %q", got)
	}
	r.spec.MaxFiles, r.spec.MaxBytes = 3, 100
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"files at a hard limit":  {many(3), ""},
		"files beyond it":        {many(4), "size.files :0"},
		"bytes at a hard limit":  {map[string]string{"a": text(100)}, ""},
		"bytes beyond it":        {map[string]string{"a": text(101)}, "size.bytes :0"},
		"growth at a hard limit": {map[string]string{"long": base["long"] + text(100)}, ""},
		"growth beyond it":       {map[string]string{"long": base["long"] + text(101)}, "size.bytes :0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := findings(r.check(c.files)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestContentOfLFSPaths(t *testing.T) {
	r := newRig(t, map[string]string{".gitattributes": "*.bin filter=lfs\nenc/* filter=crypt\n", "a.bin": "x", "old.bin": "x"})
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
	got := r.check(map[string]string{
		"a.bin": "raw", "b.bin": pointer, "c.bin": pointer + strings.Repeat("x", 1024), "enc/x": "plain\n", "d.txt": "d\n",
		"e.bin": pointer + strings.Repeat("x", 1024-len(pointer)), "f.bin": "#!raw", "l.bin": "->d.txt", "old.bin": "-",
		".gitattributes": "", // lifting the attribute with the same change does not help
	})
	if want := "lfs a.bin:0, lfs c.bin:0, filter enc/x:0, lfs f.bin:0"; findings(got) != want {
		t.Errorf("got %s, want %s", findings(got), want)
	}
}

func canary(t *testing.T) string {
	t.Helper()
	var b [30]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return "s" + base64.RawURLEncoding.EncodeToString(b[:]) // as a name it does not begin with "-"
}

func TestSecurity7OwnSecretsAreAlwaysBlocked(t *testing.T) {
	secret := canary(t)
	r := newRig(t, map[string]string{"a": "a\n", "old": "x " + secret + "\n", "gone/" + secret: "x\n"})
	if err := r.spec.Secrets.Add("github", secret); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	r.spec.Approved = []string{hex.EncodeToString(sum[:])}
	for name, files := range map[string]map[string]string{
		"content":         {"a": "1\n2\nkey = " + secret + "\n"},
		"part of it":      {"a": "1\n2\n" + secret[7:] + "\n"},
		"base64":          {"a": "1\n2\n" + base64.StdEncoding.EncodeToString([]byte("x"+secret)) + "\n"},
		"hex":             {"a": "1\n2\n" + hex.EncodeToString([]byte(secret)) + "\n"},
		"in a binary":     {"a": "\x00\n\n" + secret},
		"beside the base": {"old": "x " + secret + "\ny\nz " + secret + "\n"},
		"symlink":         {"a": "->" + secret},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.check(files)
			if !got.Blocked() || !strings.HasPrefix(got.Findings[0].Rule, "secret.github") {
				t.Errorf("%s", findings(got))
			}
			if got.Findings[0].Text != "holds a secret of this program" {
				t.Errorf("text is %s", got.Findings[0].Text)
			}
			if strings.Contains(fmt.Sprintf("%+v", got.Findings), secret[:12]) {
				t.Errorf("%s: the report holds the value", name)
			}
			if name == "content" && got.Findings[0].Line != 3 {
				t.Errorf("line is %d", got.Findings[0].Line)
			}
		})
	}
	if got := findings(r.check(map[string]string{"dir/" + secret: "x\n"})); !strings.Contains(got, "secret.github (a file name):0") {
		t.Errorf("name: %s", got)
	}
	if got := r.check(map[string]string{"gone/" + secret: "-"}); got.Blocked() {
		t.Errorf("a name that goes: %s", findings(got))
	}
	for _, where := range []string{"commit message", "branch", "title", "body"} {
		r.spec.Texts = map[string]string{where: "text\n" + secret}
		if got := findings(r.check(map[string]string{"a": "b\n"})); got != "secret.github "+where+":2" {
			t.Errorf("%s: %s", where, got)
		}
	}
	r.spec.Texts = nil
	r.spec.MaxFiles = 1
	if got := r.check(map[string]string{"dir/" + secret: "x\n", "b": "b\n"}); len(got.Findings) != 2 {
		t.Errorf("name in a change that is too large: %s", findings(got))
	}
}

func TestPatternsOfTheChangeAlone(t *testing.T) {
	token := "ghp_" + strings.ReplaceAll(canary(t), "-", "x")[:36]
	other := "ghp_" + strings.ReplaceAll(canary(t), "-", "x")[:36]
	sum := sha256.Sum256([]byte(other))
	digest := hex.EncodeToString(sum[:])
	base := map[string]string{"a": "t " + token + "\n", "b": "b\n", "moved": "x\n" + token + "\n"}
	r := newRig(t, base)
	clean := map[string]map[string]string{
		"the base has it": {"a": "t " + token + "\nmore\n"},
		"renamed":         {"moved": "-", "to": "x\n" + token + "\ny\n"},
		"example host":    {"b": "https://user:password@example.com/x\n"},
	}
	for name, files := range clean {
		t.Run(name, func(t *testing.T) {
			if got := r.check(files); got.Blocked() {
				t.Errorf("%s", findings(got))
			}
		})
	}
	added := map[string]string{"b": "b\nt " + other + "\n", ".agentmux/secret-allow": digest + "\n"}
	got := r.check(added)
	if findings(got) != "secret.github-token b:2" || got.Findings[0].SHA256 != digest {
		t.Errorf("new one, allowed by the change itself: %s", findings(got))
	}
	r.spec.Approved = []string{strings.ToUpper(digest)}
	if got := r.check(added); got.Blocked() {
		t.Errorf("approved: %s", findings(got))
	}
	r.spec.Approved = nil
	base[".agentmux/secret-allow"] = "# test value\n\n" + digest + "  fixture\n"
	r2 := newRig(t, base)
	if got := r2.check(map[string]string{"b": "b\nt " + other + "\n"}); got.Blocked() {
		t.Errorf("allowed by the base: %s", findings(got))
	}
}

func TestReportsRepeat(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	tree := r.tree(r.spec.Base, map[string]string{".envrc": "x\n", "-x": "x\n", "go.mod": "x\n", "AGENTS.md": "x\n", "l": "->/x"})
	one, two := r.checkTree(tree), r.checkTree(tree)
	if !slices.Equal(one.Findings, two.Findings) || !slices.Equal(one.Held, two.Held) || findings(one) != "name -x:0, path.blocked .envrc:0, type l:0" {
		t.Errorf("%s\n%s", findings(one), findings(two))
	}
	if got := one.Findings[0].String(); got != `name: "-x": name begins with -` {
		t.Errorf("text is %s", got)
	}
}

func TestAnUnknownTreeIsAnError(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	spec := r.spec
	spec.Tree = strings.Repeat("1", 40)
	if _, err := outgate.Check(context.Background(), r.store, spec); err == nil {
		t.Error("a tree that is not there was judged")
	}
}
