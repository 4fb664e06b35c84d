// Package ban knows the requests that a program of ours never makes: a person approves and merges,
// and says who may.
package ban

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
)

// mutation finds mutations that approve, merge or have GitHub merge.
var mutation = regexp.MustCompile(`\b(?:mergePullRequest|enablePullRequestAutoMerge|enqueuePullRequest|mergeBranch|` +
	`addPullRequestReview|submitPullRequestReview|dismissPullRequestReview|updateBranchProtectionRule|deleteBranchProtectionRule)\b`)

// Applies reports whether a request approves, merges or changes who may. segments are those of its
// path, below the prefix of a server of one's own.
func Applies(method string, segments []string, body []byte) bool {
	switch {
	case method == http.MethodGet || method == http.MethodHead || len(segments) == 0:
		return false
	case segments[0] == "graphql":
		var in struct{ Query string }
		return json.Unmarshal(body, &in) == nil && mutation.MatchString(in.Query)
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
