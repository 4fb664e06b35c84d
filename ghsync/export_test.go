package ghsync

import (
	"encoding/json"

	"github.com/google/go-github/v62/github"
)

// Hooks for the tests of this package, which are outside it.

// DecodeIssue reads an issue as the REST interface and webhooks write it.
func DecodeIssue(data []byte) (Issue, error) {
	var i github.Issue
	err := json.Unmarshal(data, &i)
	return toIssue(&i), err
}

// DecodeComment reads a comment.
func DecodeComment(data []byte) (Comment, error) {
	var c github.IssueComment
	err := json.Unmarshal(data, &c)
	return toComment(&c), err
}

// DecodePull reads a pull request.
func DecodePull(data []byte) (*github.PullRequest, error) {
	var p github.PullRequest
	return &p, json.Unmarshal(data, &p)
}
