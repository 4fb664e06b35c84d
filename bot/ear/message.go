package ear

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// message is a comment or the body of a review.
type message struct {
	source  string // comment/<id> or review/<id>
	id      int64
	node    string // of a review
	on      int    // the issue or the pull request
	pull    bool   // on is a pull request
	author  ghsync.Account
	body    sanitize.Raw
	url     string
	written time.Time // by the server
	edited  time.Time // last, by the server; written if that is not known
	reacted bool      // it has reactions
}

const (
	commentSource = "comment/"
	reviewSource  = "review/"
)

func ofComment(c ghsync.IssueComment) message {
	return message{
		source: fmt.Sprint(commentSource, c.ID), id: c.ID, on: c.On, pull: isOnPull(c.URL), author: c.Author, body: c.Body, url: c.URL,
		written: c.CreatedAt, edited: c.EditedAt, reacted: c.Reacted,
	}
}

// isOnPull reports whether the address of a comment is on a pull request. Owners and repositories may be called pull.
func isOnPull(address string) bool {
	page, _, _ := strings.Cut(address, "#")
	return path.Base(path.Dir(page)) == "pull"
}

// ofReview takes a review of a pull request. REST does not tell of its edits and reactions.
func ofReview(pull int, r ghsync.Review) message {
	return message{
		source: fmt.Sprint(reviewSource, r.ID), id: r.ID, node: r.NodeID, on: pull, pull: true, author: r.Author, body: sanitize.Raw(r.Body),
		written: r.SubmittedAt, edited: r.SubmittedAt,
	}
}

// isReview reports whether a source is a review.
func isReview(source string) bool { return strings.HasPrefix(source, reviewSource) }

// idOf is the id in a source.
func idOf(source string) int64 {
	_, number, _ := strings.Cut(source, "/")
	id, _ := strconv.ParseInt(number, 10, 64)
	return id
}
