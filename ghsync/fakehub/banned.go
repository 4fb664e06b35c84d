package fakehub

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
)

// A person approves and merges; the program has no call for it. Check reports one that
// does, whatever it was answered.

// bannedMutation finds mutations that approve, merge or have GitHub merge.
var bannedMutation = regexp.MustCompile(`\b(?:mergePullRequest|enablePullRequestAutoMerge|enqueuePullRequest|mergeBranch|` +
	`addPullRequestReview|submitPullRequestReview|dismissPullRequestReview|updateBranchProtectionRule|deleteBranchProtectionRule)\b`)

// banned reports whether a request approves, merges or changes who may.
func banned(method string, segments []string, body []byte) bool {
	switch {
	case method == http.MethodGet || method == http.MethodHead || len(segments) == 0:
		return false
	case segments[0] == "graphql":
		var in struct{ Query string }
		return json.Unmarshal(body, &in) == nil && bannedMutation.MatchString(in.Query)
	case segments[0] == "repositories" && len(segments) > 2:
		segments = segments[2:] // by id
	case segments[0] == "repos" && len(segments) > 3:
		segments = segments[3:]
	default:
		return false
	}
	switch segments[0] {
	case "merges", "collaborators", "branches", "rulesets", "keys", "hooks":
		return true
	case "pulls":
		if slices.Contains(segments, "merge") {
			return true
		}
		var in struct{ Event string }
		return slices.Contains(segments, "reviews") && (json.Unmarshal(body, &in) != nil || in.Event != "COMMENT")
	}
	return false
}
