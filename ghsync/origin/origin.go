// Package origin finds out which session has made a pull request, from the pull request alone: a machine that never had
// the session is asked, too, as by a comment there.
//
// Promises:
//
//   - A pull request from a fork is of no session, whatever it says of itself. To push to the repository
//     itself takes the right to write, which steers sessions anyway.
//   - One whose text a person changed is still of its session: the branch and the trailer of its commits tell it.
//   - The text alone is never believed: many programs put texts of strangers into pull requests. Where the branch does not name the
//     issue, as that of an agent of an agents file, the commits have to name the same session.
//   - A branch of another name that has commits of a session, as one that is stacked on it, is not of the session.
//
// It only reads. Errors are those of ghsync/transport.
package origin

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// pull is what is looked at of a pull request.
type pull struct {
	Body sanitize.Raw `json:"body"`
	Head struct {
		Ref  string `json:"ref"`
		SHA  string `json:"sha"`
		Repo struct {
			FullName string `json:"full_name"`
		} `json:"repo"`
	} `json:"head"`
}

// commit is what is looked at of a commit.
type commit struct {
	Commit struct {
		Message string `json:"message"`
	} `json:"commit"`
	Parents []struct {
		SHA string `json:"sha"`
	} `json:"parents"`
}

var (
	// namedIssue is where the host of a session names its issue in a pull request. It writes the last line about an
	// issue, unless the repository's template has one below it; the request itself is above it.
	namedIssue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:Closes|Refs) #([1-9][0-9]{0,8})\s*$`) })
	// ofIssue is where the name of a session of an issue, or of its branch, has the issue.
	ofIssue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[/-])issue-([1-9][0-9]{0,8})(?:-|$)`) })
	// inSubject is where the first line of a commit names the issue of an agent of an agents file, whose session has none.
	inSubject = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\n]* \(#([1-9][0-9]{0,8})\)(?:\n|$)`) })
	trailer   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Agentmux-Session: ([A-Za-z0-9_-]{1,100})$`) })
)

// OfPull returns the issue that a pull request of a session is for, and that session by its name on the server; 0 if it is
// not of a session. It may be closed.
func OfPull(ctx context.Context, c *ghsync.Client, repo ghsync.Repo, number int) (issue int, session string, err error) {
	var p pull
	if err := c.Read(ctx, fmt.Sprintf("repos/%s/%s/pulls/%d", repo.Owner, repo.Name, number), &p); err != nil {
		return 0, "", fmt.Errorf("read pull request: %w", err)
	}
	if !strings.EqualFold(p.Head.Repo.FullName, repo.String()) {
		return 0, "", nil
	}
	said, session := p.says()
	of := issueIn(p.Head.Ref)
	switch {
	case of != 0 && of == said && of == issueIn(session):
		return of, session, nil
	case of == 0 && session == "": // commits of a session alone do not make a branch its own
		return 0, "", nil
	}
	newest, err := trailed(ctx, c, repo, p.Head.SHA)
	if err != nil {
		return 0, "", err
	}
	same := newest.session == session
	if named := issueIn(newest.session); of != 0 && named != 0 {
		same = of == named
	}
	if !same || newest.issue == 0 {
		return 0, "", nil
	}
	return newest.issue, newest.session, nil
}

// says is what the text of a pull request says of it; 0 if nothing.
func (p pull) says() (issue int, session string) {
	of, marked := ghsync.ParseMarker(p.Body)
	found := namedIssue().FindAllStringSubmatch(string(p.Body), -1)
	if !marked || len(found) == 0 {
		return 0, ""
	}
	issue, _ = strconv.Atoi(found[len(found)-1][1]) // few digits
	return issue, of.Session
}

// issueIn is the issue in the name of a session or of a branch; 0 if there is none.
func issueIn(name string) int {
	return numberOf(ofIssue().FindStringSubmatch(name))
}

// numberOf is the number that was found; 0 if there is none.
func numberOf(found []string) int {
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // few digits
	return n
}

// mostAbove bounds how many commits of people are looked through above that of a session.
const mostAbove = 10

// made is what a commit of a session tells of it.
type made struct {
	issue   int // 0 = none
	session string
}

// trailed is what the newest commit with a trailer tells; the zero value if there is none.
func trailed(ctx context.Context, c *ghsync.Client, repo ghsync.Repo, sha string) (made, error) {
	for range mostAbove {
		var at commit
		if err := c.Read(ctx, fmt.Sprintf("repos/%s/%s/commits/%s", repo.Owner, repo.Name, url.PathEscape(sha)), &at); err != nil {
			return made{}, fmt.Errorf("read commit %s: %w", sha, err)
		}
		if found := trailer().FindAllStringSubmatch(at.Commit.Message, -1); found != nil {
			m := made{session: found[len(found)-1][1]}
			if m.issue = issueIn(m.session); m.issue == 0 {
				m.issue = numberOf(inSubject().FindStringSubmatch(at.Commit.Message))
			}
			return m, nil
		}
		if len(at.Parents) == 0 {
			break
		}
		sha = at.Parents[0].SHA
	}
	return made{}, nil
}
