package fakehub

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Canary adds values that must not arrive in anything but Authorization; Check reports
// those that did. Every token of an account or an App is one from the start.
func (s *Server) Canary(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.canaries = append(s.canaries, values...)
}

// watchFor looks for canaries in a request, and for what no client of ours may ask.
func (s *Server) watchFor(r *http.Request, body []byte) {
	if banned(r.Method, split(r.URL.EscapedPath()), body) {
		s.bans = append(s.bans, r.Method+" "+r.URL.Path)
	}
	for canary := range s.secrets() {
		if strings.Contains(r.URL.String(), canary) || bytes.Contains(body, []byte(canary)) {
			s.leaks = append(s.leaks, r.Method+" "+r.URL.Path)
		}
		for name, values := range r.Header {
			if name != "Authorization" && strings.Contains(strings.Join(values, "\n"), canary) {
				s.leaks = append(s.leaks, r.Method+" "+r.URL.Path+" header "+name)
			}
		}
	}
}

// secrets are the canaries and all tokens.
func (s *Server) secrets() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, canary := range s.canaries {
			if !yield(canary) {
				return
			}
		}
		for token := range s.tokens {
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
// and those of the sessions it was told of, see Sessions.
func (s *Server) Check(tb TB) {
	tb.Helper()
	for _, problem := range s.Problems() {
		tb.Errorf("%s", problem)
	}
}

// Problems is what Check reports.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []string
	for _, late := range s.claims.late {
		problems = append(problems, "I1: "+late)
	}
	for _, leak := range s.leaks {
		problems = append(problems, "I7: a canary arrived in "+leak)
	}
	for _, call := range s.bans {
		problems = append(problems, "banned: "+call)
	}
	for _, id := range slices.Sorted(maps.Keys(s.repos)) {
		r := s.repos[id]
		problems = append(problems, r.twinComments()...)
		problems = append(problems, r.twinPulls()...)
		problems = append(problems, s.twinBranches(r)...)
		problems = append(problems, s.pushedCanaries(r)...)
	}
	return append(problems, s.sessionProblems()...)
}

// lastMarker is the marker that is the last line of a text.
func lastMarker(body string) []string {
	body = strings.TrimRight(body, "\r\n ")
	found := marker.FindStringSubmatch(body[strings.LastIndexByte(body, '\n')+1:])
	if found == nil || found[0] != body[strings.LastIndexByte(body, '\n')+1:] {
		return nil
	}
	return found
}

func (r *repo) twinComments() []string {
	var problems []string
	seen := map[string]int64{}
	for _, number := range slices.Sorted(maps.Keys(r.issues)) {
		for _, m := range r.issues[number].comments {
			found := lastMarker(m.body)
			if found == nil {
				continue
			}
			session, kind, seq, part := found[1], found[2], found[3], found[4]
			name := fmt.Sprintf("I10: %s: comments of %s with the marker %s %s %s %s", r.fullName(), m.author.login, session, kind, seq, part)
			switch {
			case kind == "status" && part == "":
				name = fmt.Sprintf("I10: %s: status comments of %s by %s", r.fullName(), session, m.author.login)
			case kind == "verdict" && (part == "" || strings.HasPrefix(part, "1/")):
				name = fmt.Sprintf("I3: %s: verdict comments of %s by %s for seq %s", r.fullName(), session, m.author.login, seq)
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
		found := lastMarker(i.body)
		if i.pull == nil || i.state != "open" || found == nil {
			continue
		}
		if first, twice := seen[found[1]]; twice {
			problems = append(problems, fmt.Sprintf("I2: %s: open pull requests of %s: %d and %d", r.fullName(), found[1], first, number))
		}
		seen[found[1]] = number
	}
	return problems
}

// twinBranches finds sessions by the trailer of the tips.
func (s *Server) twinBranches(r *repo) []string {
	out, err := s.git(r.dir, nil, "for-each-ref", "refs/heads",
		"--format=%(refname:short) %(contents:trailers:key=Agentmux-Session,valueonly,separator=%20)")
	if err != nil {
		return []string{"read the branches of " + r.fullName() + ": " + err.Error()}
	}
	var problems []string
	seen := map[string]string{}
	for line := range strings.Lines(out) {
		branch, session, _ := strings.Cut(strings.TrimSpace(line), " ")
		if first, twice := seen[session]; twice && session != "" && !s.wasMerged(r, branch, first) {
			problems = append(problems, fmt.Sprintf("I2: %s: branches of %s: %s and %s", r.fullName(), session, first, branch))
		}
		seen[session] = branch
	}
	return problems
}

// wasMerged is true when one of two branches holds the other by a merge or fast-forward,
// as the default branch does after a pull request.
func (s *Server) wasMerged(r *repo, a, b string) bool {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if _, err := s.git(r.dir, nil, "merge-base", "--is-ancestor", "refs/heads/"+pair[0], "refs/heads/"+pair[1]); err == nil {
			return true
		}
	}
	return false
}

// pushedCanaries looks into every object that was pushed.
func (s *Server) pushedCanaries(r *repo) []string {
	data, err := s.gitRaw(r.dir, "cat-file", "--batch-all-objects", "--batch", "--buffer")
	if err != nil {
		return []string{"read the objects of " + r.fullName() + ": " + err.Error()}
	}
	for canary := range s.secrets() {
		if bytes.Contains(data, []byte(canary)) {
			return []string{"I7: a canary is in the objects pushed to " + r.fullName()}
		}
	}
	return nil
}
