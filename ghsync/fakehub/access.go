package fakehub

import (
	"slices"
	"strings"
)

// SetScopes makes the account's tokens classic ones with these scopes, which every answer
// to them then names.
func (s *Server) SetScopes(login string, scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(login)
	for _, t := range s.tokens {
		if t.user == u && t.perms == nil {
			t.scopes = strings.Join(scopes, ", ")
			t.classic = true
		}
	}
}

// FineGrained makes a token of the account that may do what both the account's role and
// perms ("issues": "write") allow. No answer says what it may do.
func (s *Server) FineGrained(login string, perms map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &token{value: s.secret("github_pat_"), user: s.user(login), perms: perms, personal: true}
	s.tokens[t.value] = t
	return t.value
}

// mayPush judges a push from its first request on, which is a GET.
func (c *call) mayPush() bool {
	return c.can(Write, "contents") && (c.token.perms == nil || c.token.perms["contents"] == "write")
}

// Rule is one rule of a ruleset, as it holds for a branch.
type Rule struct {
	Branch string // pattern as in PushRule, without refs/heads/
	Type   string // creation, update, pull_request, required_signatures and so on
	ID     int64  // of the ruleset
}

// SetRules says which rules hold; pushes are refused by RefusePush alone.
func (h *Repo) SetRules(rules ...Rule) { h.locked(func() { h.r.rules = slices.Clone(rules) }) }

func listRules(c *call) reply {
	var list []Rule
	for _, rule := range c.repo.rules {
		if refMatches(rule.Branch, c.params["branch"]) {
			list = append(list, rule)
		}
	}
	return page(c, list, func(r Rule) any {
		return obj{"type": r.Type, "ruleset_source_type": "Repository", "ruleset_source": c.repo.fullName(), "ruleset_id": r.ID}
	})
}

// listWorkflows is empty: what runs is told by the files.
func listWorkflows(c *call) reply { return ok(obj{"total_count": 0, "workflows": []any{}}) }
