package fakehub

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/ban"
	"github.com/agentmux/agentmux/ghsync/fakehub/session"
)

// audit holds what arrives against what a well-behaved client does.
type audit struct {
	*hub
	canaries    []string
	leaks       []string // requests with a canary
	bans        []string // requests that approve or merge
	claims      claims
	sessionDirs []string
	unannounced []string // writes without an intent
}

// Canary adds values that must not arrive in anything but Authorization; Check reports
// those that did. Every token of an account or an App is one from the start.
func (a *audit) Canary(values ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.canaries = append(a.canaries, values...)
}

// watchFor looks for canaries in a request, and for what no client of ours may ask.
func (a *audit) watchFor(r *http.Request, body []byte) {
	if ban.Applies(r.Method, split(r.URL.EscapedPath()), body) {
		a.bans = append(a.bans, r.Method+" "+r.URL.Path)
	}
	for canary := range a.secrets() {
		if strings.Contains(r.URL.String(), canary) || bytes.Contains(body, []byte(canary)) {
			a.leaks = append(a.leaks, r.Method+" "+r.URL.Path)
		}
		for name, values := range r.Header {
			if name != "Authorization" && strings.Contains(strings.Join(values, "\n"), canary) {
				a.leaks = append(a.leaks, r.Method+" "+r.URL.Path+" header "+name)
			}
		}
	}
}

// secrets are the canaries and all tokens.
func (a *audit) secrets() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, canary := range a.canaries {
			if !yield(canary) {
				return
			}
		}
		for token := range a.tokens {
			if !yield(token) {
				return
			}
		}
	}
}

// Check reports the invariants of a well-behaved client that the server can see broken:
//
//	I1  a write of a session (by marker, or trailer of a pushed branch) after its claim
//	    was taken by another
//	I2  more than one branch or open pull request of a session
//	I3  more than one verdict comment for a round
//	I7  a canary in received bytes, pushed objects and names of refs included
//	banned: a request that approves, merges or changes who may
//	I10 two comments with the same marker, or two status comments of a session, by one author
//
// and those of the sessions that Sessions named.
func (a *audit) Check(tb TB) {
	tb.Helper()
	for _, problem := range a.Problems() {
		tb.Errorf("%s", problem)
	}
}

// Problems is what Check reports.
func (a *audit) Problems() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var problems []string
	for _, late := range a.claims.late {
		problems = append(problems, "I1: "+late)
	}
	for _, leak := range a.leaks {
		problems = append(problems, "I7: a canary arrived in "+leak)
	}
	for _, call := range a.bans {
		problems = append(problems, "banned: "+call)
	}
	for _, id := range slices.Sorted(maps.Keys(a.repos)) {
		r := a.repos[id]
		problems = append(problems, r.twinComments()...)
		problems = append(problems, r.twinPulls()...)
		problems = append(problems, r.twinBranches()...)
		problems = append(problems, a.pushedCanaries(r)...)
	}
	return append(problems, a.sessionProblems()...)
}

func (r *repo) twinComments() []string {
	var problems []string
	seen := map[string]int64{}
	for _, number := range slices.Sorted(maps.Keys(r.issues)) {
		for _, m := range r.issues[number].comments {
			k, has := session.MarkerOf(m.body)
			if !has {
				continue
			}
			name := fmt.Sprintf("I10: %s: comments of %s with the marker %s %s %s %s", r.fullName(), m.author.login, k.Session, k.Kind, k.Seq, k.Part)
			switch {
			case k.Kind == "status" && k.Part == "":
				name = fmt.Sprintf("I10: %s: status comments of %s by %s", r.fullName(), k.Session, m.author.login)
			case k.Kind == "verdict" && k.First():
				name = fmt.Sprintf("I3: %s: verdict comments of %s by %s for seq %s", r.fullName(), k.Session, m.author.login, k.Seq)
			}
			if first, twice := seen[name]; twice {
				problems = append(problems, fmt.Sprintf("%s: %d and %d", name, first, m.id))
			}
			seen[name] = m.id
		}
	}
	return problems
}

func (r *repo) twinPulls() []string {
	var problems []string
	seen := map[string]int{}
	for _, number := range slices.Sorted(maps.Keys(r.issues)) {
		i := r.issues[number]
		k, has := session.MarkerOf(i.body)
		if i.pull == nil || i.state != "open" || !has {
			continue
		}
		if first, twice := seen[k.Session]; twice {
			problems = append(problems, fmt.Sprintf("I2: %s: open pull requests of %s: %d and %d", r.fullName(), k.Session, first, number))
		}
		seen[k.Session] = number
	}
	return problems
}

// twinBranches finds sessions by the trailer of the tips.
func (r *repo) twinBranches() []string {
	out, err := r.git.Run("for-each-ref", "refs/heads",
		"--format=%(refname:short) %(contents:trailers:key=Agentmux-Session,valueonly,separator=%20)")
	if err != nil {
		return []string{"read the branches of " + r.fullName() + ": " + err.Error()}
	}
	var problems []string
	seen := map[string]string{}
	for line := range strings.Lines(out) {
		branch, session, _ := strings.Cut(strings.TrimSpace(line), " ")
		if first, twice := seen[session]; twice && session != "" && !r.wasMerged(branch, first) {
			problems = append(problems, fmt.Sprintf("I2: %s: branches of %s: %s and %s", r.fullName(), session, first, branch))
		}
		seen[session] = branch
	}
	return problems
}

// wasMerged is true when one of two branches holds the other by a merge or fast-forward,
// as the default branch does after a pull request.
func (r *repo) wasMerged(a, b string) bool {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if _, err := r.git.Run("merge-base", "--is-ancestor", "refs/heads/"+pair[0], "refs/heads/"+pair[1]); err == nil {
			return true
		}
	}
	return false
}

// pushedCanaries looks into every object that was pushed.
func (a *audit) pushedCanaries(r *repo) []string {
	data, err := r.git.Read("cat-file", "--batch-all-objects", "--batch", "--buffer")
	if err != nil {
		return []string{"read the objects of " + r.fullName() + ": " + err.Error()}
	}
	for canary := range a.secrets() {
		if bytes.Contains(data, []byte(canary)) {
			return []string{"I7: a canary is in the objects pushed to " + r.fullName()}
		}
	}
	return nil
}
