package outgate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/redact"
)

// Spec says what is to be checked by which settings.
type Spec struct {
	Base, Tree string // trees or commits
	// Allow lifts blocked paths, by patterns from the top directory.
	Allow []string
	// Protected paths are held, with what is below them; a pattern without "/" counts
	// in any directory. Nil means DefaultProtected.
	Protected []string
	// MaxFiles and MaxBytes block. 0 means the default.
	MaxFiles int
	MaxBytes int64
	// Secrets finds values and patterns. It must not be nil.
	Secrets *redact.Redactor
	// Texts leave with the change and are scanned too: the commit message, the
	// branch, title and body of the pull request. The key is shown as their path.
	Texts map[string]string
	// Approved are SHA-256 sums, in hex, of pattern matches that a person let pass.
	Approved []string
}

// Finding is a reason to block. Line is 0 where no line is meant, Path is empty for
// the change as a whole.
type Finding struct {
	Rule string
	Path string
	Line int
	// SHA256 of a pattern's match that a person may let pass; empty if no person may.
	SHA256 string
	Text   string // what is wrong, without any value
}

func (f Finding) String() string {
	where := fmt.Sprintf("%q", f.Path)
	if f.Path == "" {
		where = "the change"
	}
	if f.Line > 0 {
		where += fmt.Sprintf(" line %d", f.Line)
	}
	return f.Rule + ": " + where + ": " + f.Text
}

// Note is a held or named path; Path is empty for the change as a whole.
type Note struct{ Rule, Path, Text string }

// Report is the outcome for one pair of trees, sorted by path.
type Report struct {
	Empty    bool // no change at all: never a success
	Findings []Finding
	Held     []Note
	Named    []Note
}

// Blocked reports whether the tree must not be pushed.
func (r Report) Blocked() bool { return len(r.Findings) > 0 }

// Texts returns the findings in words.
func (r Report) Texts() []string {
	texts := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		texts[i] = f.String()
	}
	return texts
}

// Paths returns what notes are about, each once: a path, or what is said of the change as a whole.
func Paths(notes []Note) []string {
	var paths []string
	for _, n := range notes {
		if path := cmp.Or(n.Path, n.Text); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// check is one run of the gate.
type check struct {
	Spec
	repo    *gitrepo.Store
	changes []gitrepo.Change
	sizes   map[string]int64 // of old and new blobs
	report  Report
	// tooLarge holds: the contents are not read any more.
	tooLarge bool
}

// Check judges the change from spec.Base to spec.Tree. The error says that it could
// not be judged, which must be taken as blocked.
func Check(ctx context.Context, repo *gitrepo.Store, spec Spec) (Report, error) {
	c := &check{Spec: spec, repo: repo}
	var err error
	if c.changes, err = repo.Changes(ctx, spec.Base, spec.Tree); err != nil {
		return Report{}, fmt.Errorf("check output: %w", err)
	}
	c.report.Empty = len(c.changes) == 0
	steps := []func(context.Context) error{c.size, c.types, c.names, c.paths, c.lfs, c.secrets}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return Report{}, fmt.Errorf("check output: %w", err)
		}
	}
	c.report.sort()
	return c.report, nil
}

// Approval is what a person let pass.
type Approval struct {
	Shown []string // the findings, in words, that the person saw
	Paths bool     // blocked paths among them pass, too
}

// CheckApproved is Check of a change that a person approved. What looks like a secret passes if it was
// shown. Nothing passes if something is found that was not shown or may not pass; a secret that the
// process holds never does.
func CheckApproved(ctx context.Context, repo *gitrepo.Store, spec Spec, a Approval) (Report, error) {
	report, err := Check(ctx, repo, spec)
	if err != nil || !report.Blocked() {
		return report, err
	}
	spec.Allow, spec.Approved = slices.Clone(spec.Allow), slices.Clone(spec.Approved)
	for _, f := range report.Findings {
		switch {
		case !slices.Contains(a.Shown, f.String()), f.SHA256 == "" && !a.Paths:
			return report, nil
		case f.SHA256 != "":
			spec.Approved = append(spec.Approved, f.SHA256)
		case f.Path != "":
			spec.Allow = append(spec.Allow, f.Path)
		}
	}
	return Check(ctx, repo, spec)
}

func (c *check) find(f Finding) { c.report.Findings = append(c.report.Findings, f) }

func (c *check) hold(n Note) { c.report.Held = append(c.report.Held, n) }

func (c *check) name(n Note) { c.report.Named = append(c.report.Named, n) }

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if d := strings.Compare(a.Path, b.Path); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
	r.Findings = slices.Compact(r.Findings)
	byPath := func(a, b Note) int { return strings.Compare(a.Path, b.Path) }
	for _, list := range []*[]Note{&r.Held, &r.Named} {
		slices.SortStableFunc(*list, byPath)
		*list = slices.Compact(*list)
	}
}

// The kinds of entry in a tree.
const (
	modeFile       = "100644"
	modeExecutable = "100755"
	modeSymlink    = "120000"
	modeGitlink    = "160000"
)

// distinct returns each id once: files with the same content are read once.
func distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

func blob(mode string) bool { return mode == modeFile || mode == modeExecutable || mode == modeSymlink }
