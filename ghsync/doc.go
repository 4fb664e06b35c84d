// Package ghsync is the program's domain on GitHub and all its calls of GitHub's API.
//
// It owns the client (one per identity, for all sessions of a host), the reading of issues,
// permissions and labels, the snapshot an issue session works from, and the pull request of a
// session. Package transport sends the requests, package mirror shows a session on its issue,
// package gitrepo does git itself, refs and pushes. No type of the GitHub library leaves the package; every error a caller may branch
// on is a type of package transport.
//
// It promises:
//   - a creating request is never sent twice by the transport; what may have been applied
//     comes back as Ambiguous, and the callers here look before they create again;
//   - the token goes to the API's own origin and nowhere else, also across redirects;
//   - every wait ends with its context.
//
// It stores nothing.
package ghsync
