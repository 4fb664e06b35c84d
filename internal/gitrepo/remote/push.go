package remote

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// PushKind says why a push was not taken.
type PushKind string

const (
	PushStale     PushKind = "stale"     // the ref is not where it was expected
	PushWorkflows PushKind = "workflows" // the token may not change workflow files
	PushSecret    PushKind = "secret"    // the server found a secret
	PushRule      PushKind = "rule"      // a protected branch or a rule set
	PushHidden    PushKind = "hidden"    // the server keeps such refs for itself
	PushHook      PushKind = "hook"      // a hook of the server declined it, or another ref of the push
	PushDenied    PushKind = "denied"    // no write permission, or the token is not accepted
	PushNetwork   PushKind = "network"   // the server was not reached, or broke off: again later
	PushOther     PushKind = "other"
)

// PushError is a push that was not taken. Text is the server's, without control
// characters; for a secret Place is where the server saw it, never the value.
type PushError struct {
	Kind  PushKind
	Ref   string // empty if the whole push failed
	Text  string
	Place string
	// Now is where the server had the ref when it was asked after the refusal, "" for nowhere.
	// It is nil if it was not asked, or did not answer.
	Now *string
}

func (e *PushError) Error() string {
	if e.Ref == "" {
		return fmt.Sprintf("push (%s): %s", e.Kind, e.Text)
	}
	return fmt.Sprintf("push %s (%s): %s", e.Ref, e.Kind, e.Text)
}

// RefUpdate is one ref of a push.
type RefUpdate struct {
	Ref string
	New string // object id; empty deletes the ref
	Old string // where the server must have it; empty: the ref must not exist
}

// PushSpec is one push. Nothing is ever forced past Old.
type PushSpec struct {
	Updates []RefUpdate
	Atomic  bool // all or none
}

// Push moves refs on the server. A ref that is at New already counts as moved. The
// result has one entry per update, nil for a moved one; the error is the first
// refusal, or what kept the push from being tried. No hook runs. A branch only moves
// forward: ErrRewrite if New does not descend from Old, or if it would be deleted.
func (r Repository) Push(ctx context.Context, store *gitrepo.Store, spec PushSpec) ([]*PushError, error) {
	// A checkpoint has the files of the base below other names: git is to look for what the server has at all of them.
	args := []string{"-c", "pack.useSparse=false", "push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"}
	if spec.Atomic {
		args = append(args, "--atomic")
	}
	var refspecs []string
	for _, u := range spec.Updates {
		if err := u.checkIn(ctx, store); err != nil {
			return nil, fmt.Errorf("push %s: %w", u.Ref, err)
		}
		args = append(args, "--force-with-lease="+u.Ref+":"+u.Old)
		refspecs = append(refspecs, u.New+":"+u.Ref)
	}
	out, err := r.call(ctx, store, !spec.beats(), func(url string) []string {
		return append(append(args, "--", url), refspecs...)
	})
	if err == nil {
		return make([]*PushError, len(spec.Updates)), nil
	}
	if errors.As(err, new(*GoneError)) {
		return nil, &PushError{Kind: PushOther, Text: err.Error()}
	}
	var failed *git.Error
	if !errors.As(err, &failed) {
		return nil, fmt.Errorf("push: %w", err)
	}
	results := spec.read(string(out), failed.Stderr)
	if results == nil {
		if whole := classify(failed.Stderr); whole.Kind != PushNetwork || !r.arrived(ctx, store, spec) {
			return nil, whole
		}
		return make([]*PushError, len(spec.Updates)), nil
	}
	return results, r.settlePush(ctx, store, spec, results)
}

// beats reports whether a push replaces beats of ours alone. Its commits are known to no other repository, so the server
// compares them in this one or refuses: it need not be asked which one has the name, and no host is silent while that cannot be.
func (s PushSpec) beats() bool {
	return !slices.ContainsFunc(s.Updates, func(u RefUpdate) bool { return u.Old == "" || !strings.HasPrefix(u.Ref, "refs/agentmux/hosts/") })
}

// ErrRewrite says that a push would rewrite or delete a branch.
var ErrRewrite = errors.New("would rewrite the branch")

func (u RefUpdate) checkIn(ctx context.Context, store *gitrepo.Store) error {
	if err := u.check(); err != nil {
		return err
	}
	if !strings.HasPrefix(u.Ref, "refs/heads/") || u.Old == "" {
		return nil
	}
	forward := false
	if u.New != "" {
		var err error
		if forward, err = store.IsAncestor(ctx, u.Old, u.New); err != nil {
			return err
		}
	}
	if !forward {
		return ErrRewrite
	}
	return nil
}

func (u RefUpdate) check() error {
	for _, id := range []string{u.New, u.Old} {
		if id != "" && !git.IsID(id) {
			return fmt.Errorf("bad object id %q", id)
		}
	}
	if u.New == "" && u.Old == "" {
		return fmt.Errorf("nothing to do for %s", u.Ref)
	}
	return git.CheckRef(u.Ref)
}

// read takes the porcelain lines "flag TAB from:to TAB summary" of the refused refs.
// It is nil if the server gave none: then the push failed as a whole.
func (s PushSpec) read(out, stderr string) []*PushError {
	index := map[string]int{}
	for i, u := range s.Updates {
		index[u.Ref] = i
	}
	var results []*PushError
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) != 3 {
			continue
		}
		_, ref, _ := strings.Cut(f[1], ":")
		i, asked := index[ref]
		if !asked {
			continue
		}
		if results == nil {
			results = make([]*PushError, len(s.Updates))
		}
		if f[0] == "!" {
			e := classify(f[2])
			if e.Kind == PushOther || e.Kind == PushRule || e.Kind == PushHook { // the notes say which rule, or that it is a secret
				e = classify(f[2] + "\n" + stderr)
			}
			e.Ref = ref
			results[i] = e
		}
	}
	return results
}

// settlePush clears the refusals of refs that the server has at their new place: an
// earlier try, whose answer was lost, had moved them.
func (r Repository) settlePush(ctx context.Context, store *gitrepo.Store, spec PushSpec, results []*PushError) error {
	var first *PushError
	var now map[string]string
	for i, e := range results {
		if e == nil {
			continue
		}
		unsure := e.Kind == PushStale || e.Kind == PushNetwork
		if unsure && now == nil {
			now = r.ids(ctx, store, spec)
		}
		if unsure && now != nil {
			at := now[e.Ref]
			if at == spec.Updates[i].New {
				results[i] = nil
				continue
			}
			e.Now = &at
		}
		if first == nil {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// arrived reports whether the server has all refs at their new place.
func (r Repository) arrived(ctx context.Context, store *gitrepo.Store, spec PushSpec) bool {
	now := r.ids(ctx, store, spec)
	for _, u := range spec.Updates {
		if now == nil || now[u.Ref] != u.New {
			return false
		}
	}
	return true
}

// ids is nil if the server does not answer.
func (r Repository) ids(ctx context.Context, store *gitrepo.Store, spec PushSpec) map[string]string {
	var names []string
	for _, u := range spec.Updates {
		names = append(names, u.Ref)
	}
	refs, err := r.Refs(ctx, store, names...)
	if err != nil {
		return nil
	}
	ids := map[string]string{}
	for _, ref := range refs {
		ids[ref.Name] = ref.ID
	}
	return ids
}

// refusal is how a server, or git, says no.
type refusal struct {
	kind PushKind
	text *regexp.Regexp
}

// refusals are tried in order; the first that matches gives the kind.
var refusals = sync.OnceValue(func() []refusal {
	return []refusal{
		{PushSecret, regexp.MustCompile(`(?i)push protection|GH013[^\n]*secret|push cannot contain secrets`)},
		{PushWorkflows, regexp.MustCompile("(?i)without `?workflows?`? (permission|scope)|workflow scope")},
		{PushRule, regexp.MustCompile(`directory file conflict|exists; cannot create`)}, // a branch called like the directory of this one
		{PushStale, regexp.MustCompile(`stale info|\(fetch first\)|\(non-fast-forward\)|cannot lock ref|reference already exists|incorrect old value|atomic push failed`)},
		{PushRule, regexp.MustCompile(`GH006|GH013|protected branch|repository rule violations`)},
		{PushHidden, regexp.MustCompile(`deny updating a hidden ref`)},
		{PushNetwork, regexp.MustCompile(`(?i)rate limit|abuse detection`)}, // a 403, too, but one that passes
		{PushDenied, regexp.MustCompile(`(?i)permission to \S+ denied|write access to repository not granted|authentication failed|repository not found|could not read (username|password)`)},
		// The server let the push begin and then said no without a word on permissions, as limits do.
		{PushNetwork, regexp.MustCompile(`RPC failed; HTTP 403`)},
		{PushDenied, regexp.MustCompile(`error: 40[13]`)},
		{PushNetwork, regexp.MustCompile(`(?i)could not resolve|couldn't connect|failed to connect|connection (refused|reset|timed out)|timed out|empty reply|remote end hung up|unexpected disconnect|early EOF|RPC failed|error: (5\d\d|429|408)|gnutls|ssl|failed to report status|not valid: is this a git repository|git-http-push failed|expected flush after|expected 'packfile'|bad pack header`)},
		{PushHook, regexp.MustCompile(`hook declined`)},
	}
})

func classify(text string) *PushError {
	e := &PushError{Kind: PushOther, Text: plainText(text)}
	for _, r := range refusals() {
		if r.text.MatchString(text) {
			e.Kind = r.kind
			break
		}
	}
	if e.Kind == PushSecret {
		e.Place = strings.Join(secretPlace().FindAllString(e.Text, 10), "; ")
		e.Text = "the server found a secret"
	}
	return e
}

// secretPlace is how GitHub names a finding: "path: config/a.env:3".
var secretPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`path: \S+:\d+`) })

// plainText keeps the printable characters and lines of the server's text.
func plainText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || (r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f)) {
			return r
		}
		return -1
	}, text)
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "remote:"))
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
