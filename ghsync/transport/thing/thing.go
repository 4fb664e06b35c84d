// Package thing says what a path of GitHub's API leads to, for messages: issue, comment, repository. It
// reads nothing and knows no server.
package thing

import (
	"path"
	"strings"
)

// At names the kind of resource at a path, for a message that it is missing.
func At(path string) string {
	kinds := map[string]string{
		"comments": "comment", "issues": "issue", "pulls": "pull request", "labels": "label",
		"collaborators": "user", "users": "user", "user": "user", "installations": "installation",
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if name, ok := kinds[parts[i]]; ok {
			return name
		}
		if parts[i] == "repos" || parts[i] == "repositories" {
			return "repository"
		}
	}
	return "resource"
}

// Missing names what is missing if the server does not find a path. For a list, and for what
// was to be created in it, that is what the list belongs to.
func Missing(place string) string {
	parent, name := path.Split(strings.TrimSuffix(place, "/"))
	switch name {
	case "comments", "issues", "pulls", "labels", "collaborators":
		return At(parent)
	}
	return At(place)
}
