package fakehub

import (
	"path"
	"strings"
)

// PushRule refuses updates of refs. Reason is the text behind "[remote rejected]";
// Remote are lines that git shows with "remote: " in front.
type PushRule struct {
	Ref    string // pattern of path.Match on the full name, "" is every ref; a "*" at the end takes the rest
	Actor  string // login; "" is every actor
	Reason string
	Remote []string
	// Times is how often the rule applies; 0 is always.
	Times int
}

// judge applies the rules of the repository. One refused ref refuses the push: the
// report says so for the others.
func (g *gitCall) judge() (refusals map[string]string, notes []string) {
	s := g.server
	s.mu.Lock()
	defer s.mu.Unlock()
	refusals = map[string]string{}
	for _, u := range g.updates {
		for canary := range s.secrets() {
			if strings.Contains(u.Ref, canary) {
				s.leaks = append(s.leaks, "the name of a ref pushed to "+g.repo.fullName())
			}
		}
		rule := g.repo.ruleFor(u.Ref, g.actor)
		if rule == nil {
			continue
		}
		refusals[u.Ref] = rule.Reason
		notes = append(notes, rule.Remote...)
	}
	return refusals, notes
}

// ruleFor returns the first rule that applies and uses it up by one.
func (r *repo) ruleFor(ref, actor string) *PushRule {
	for n := range r.pushRules {
		rule := &r.pushRules[n]
		if rule.Times < 0 || !refMatches(rule.Ref, ref) || (rule.Actor != "" && key(rule.Actor) != key(actor)) {
			continue
		}
		if rule.Times > 0 {
			rule.Times--
			if rule.Times == 0 {
				rule.Times = -1
			}
		}
		return rule
	}
	return nil
}

func refMatches(pattern, ref string) bool {
	if prefix, all := strings.CutSuffix(pattern, "*"); all && strings.HasPrefix(ref, prefix) {
		return true
	}
	matched, err := path.Match(pattern, ref)
	return pattern == "" || (err == nil && matched)
}

// Refusals as GitHub words them, by the class a client must tell apart.

// WorkflowRule refuses workflow files for an app's token.
func WorkflowRule(ref, file string) PushRule {
	return PushRule{Ref: ref, Reason: "refusing to allow a GitHub App to create or update workflow `" + file + "` without `workflows` permission"}
}

// WorkflowScopeRule refuses workflow files for a personal token.
func WorkflowScopeRule(ref, file string) PushRule {
	return PushRule{Ref: ref, Reason: "refusing to allow a Personal Access Token to create or update workflow `" + file + "` without `workflow` scope"}
}

// SecretRule refuses a push that holds a secret at the place given as commit, path and line.
func SecretRule(ref, place string) PushRule {
	return PushRule{Ref: ref, Reason: "push declined due to repository rule violations", Remote: []string{
		"error: GH013: Repository rule violations found for " + ref + ".", "",
		"- GITHUB PUSH PROTECTION", "  —————————————————————————————————————————",
		"    Resolve the following violations before pushing again", "",
		"    - Push cannot contain secrets", "",
		"      —— GitHub Personal Access Token ——————————————————————", "       locations:", "         - " + place,
	}}
}

// ProtectedRule refuses by the older branch protection.
func ProtectedRule(ref string) PushRule {
	return PushRule{Ref: ref, Reason: "protected branch hook declined", Remote: []string{
		"error: GH006: Protected branch update failed for " + ref + ".",
		"error: At least 1 approving review is required by reviewers with write access.",
	}}
}

// RulesetRule refuses by a ruleset; line is what it demands.
func RulesetRule(ref, line string) PushRule {
	return PushRule{Ref: ref, Reason: "push declined due to repository rule violations", Remote: []string{
		"error: GH013: Repository rule violations found for " + ref + ".",
		"Review all repository rules at https://github.com/rules", "", "- " + line,
	}}
}

// HiddenRule refuses refs outside of branches and tags.
func HiddenRule(ref string) PushRule {
	return PushRule{Ref: ref, Reason: "deny updating a hidden ref"}
}
