// Package feedback reads what reviewers and checks say of a pull request: the checks of its head,
// what is known of a failed one, and the comments of a review in the code.
//
// Texts come as they were written, as sanitize.Raw: those of a check are written by whatever runs
// there, which may be the change under review. What is long is cut to what was asked for.
//
// It only reads, and stores nothing. Errors are those of ghsync/transport.
package feedback

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// Reader reads the feedback on the pull requests of one repository. It is safe for use by many
// goroutines.
type Reader struct {
	Client *ghsync.Client
	Repo   ghsync.Repo
}

func (r Reader) path(format string, args ...any) string {
	return "repos/" + r.Repo.String() + fmt.Sprintf(format, args...)
}

// State returns what became of a pull request.
func (r Reader) State(ctx context.Context, pr int) (ghsync.PullRequestState, error) {
	var pull struct {
		State  ghsync.PullRequestState `json:"state"`
		Merged bool                    `json:"merged"`
	}
	if err := r.Client.Read(ctx, r.path("/pulls/%d", pr), &pull); err != nil {
		return "", fmt.Errorf("read pull request %d: %w", pr, err)
	}
	if pull.Merged {
		return ghsync.PullRequestMerged, nil
	}
	return pull.State, nil
}

// Comment is a comment of a review at a line.
type Comment struct {
	Author  ghsync.Account
	Path    sanitize.Raw
	Line    int // 0: of the whole file
	Removed bool
	Hunk    sanitize.Raw // the part of the difference that ends at the line
	Body    sanitize.Raw
}

// maxComments is one page.
const maxComments = 100

// Comments returns the comments of a review in the code, at most a hundred, oldest first.
func (r Reader) Comments(ctx context.Context, pr int, review int64) ([]Comment, error) {
	var answer []struct {
		Path         sanitize.Raw `json:"path"`
		Line         int          `json:"line"`
		OriginalLine int          `json:"original_line"`
		Side         string       `json:"side"`
		Hunk         sanitize.Raw `json:"diff_hunk"`
		Body         sanitize.Raw `json:"body"`
		User         struct {
			Login string `json:"login"`
			ID    int64  `json:"id"`
			Type  string `json:"type"`
		} `json:"user"`
	}
	if err := r.Client.Read(ctx, r.path("/pulls/%d/reviews/%d/comments?per_page=%d", pr, review, maxComments), &answer); err != nil {
		return nil, fmt.Errorf("read the comments of review %d: %w", review, err)
	}
	var all []Comment
	for _, c := range answer {
		k := Comment{
			Author: ghsync.Account{Login: c.User.Login, ID: c.User.ID, Type: c.User.Type},
			Path:   c.Path, Line: cmp.Or(c.Line, c.OriginalLine), Removed: c.Side == "LEFT", Hunk: c.Hunk, Body: c.Body,
		}
		if k.Line == 0 {
			k.Line, k.Removed = endOf(string(c.Hunk))
		}
		all = append(all, k)
	}
	return all, nil
}

// hunkHead is the first line of a hunk: where it begins in the file before and after.
var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@`)

// endOf returns the line that a hunk ends at, and whether it is one that was removed. The server's
// list of one review does not say it otherwise. 0: it is not a hunk.
func endOf(hunk string) (line int, removed bool) {
	head, rest, _ := strings.Cut(hunk, "\n")
	m := hunkHead.FindStringSubmatch(head)
	if m == nil {
		return 0, false
	}
	before, _ := strconv.Atoi(m[1]) // digits, few enough
	after, _ := strconv.Atoi(m[2])
	before, after = before-1, after-1
	for l := range strings.SplitSeq(strings.TrimRight(rest, "\n"), "\n") {
		removed = strings.HasPrefix(l, "-")
		switch {
		case removed:
			before++
		case strings.HasPrefix(l, "+"):
			after++
		case !strings.HasPrefix(l, "\\"): // "\ No newline at end of file" is not a line
			before, after = before+1, after+1
		}
	}
	if removed {
		return before, true
	}
	return after, false
}

// Output is what a check run says of itself.
type Output struct {
	Title, Summary, Text sanitize.Raw
	Annotations          []Annotation
}

// IsZero reports whether the check run says nothing.
func (o Output) IsZero() bool {
	return o.Title == "" && o.Summary == "" && o.Text == "" && len(o.Annotations) == 0
}

// Annotation is what a check run says of a line.
type Annotation struct {
	Path    sanitize.Raw
	Line    int
	Level   string // notice, warning or failure
	Message sanitize.Raw
}

const maxAnnotations = 50

// Output returns what a check run says of itself, with at most fifty annotations.
func (r Reader) Output(ctx context.Context, check int64) (Output, error) {
	var answer struct {
		Output struct {
			Title       sanitize.Raw `json:"title"`
			Summary     sanitize.Raw `json:"summary"`
			Text        sanitize.Raw `json:"text"`
			Annotations int          `json:"annotations_count"`
		} `json:"output"`
	}
	if err := r.Client.Read(ctx, r.path("/check-runs/%d", check), &answer); err != nil {
		return Output{}, fmt.Errorf("read check run %d: %w", check, err)
	}
	o := Output{Title: answer.Output.Title, Summary: answer.Output.Summary, Text: answer.Output.Text}
	if answer.Output.Annotations == 0 {
		return o, nil
	}
	var notes []struct {
		Path    sanitize.Raw `json:"path"`
		Line    int          `json:"start_line"`
		Level   string       `json:"annotation_level"`
		Message sanitize.Raw `json:"message"`
	}
	if err := r.Client.Read(ctx, r.path("/check-runs/%d/annotations?per_page=%d", check, maxAnnotations), &notes); err != nil {
		return o, fmt.Errorf("read the annotations of check run %d: %w", check, err)
	}
	for _, n := range notes {
		o.Annotations = append(o.Annotations, Annotation(n))
	}
	return o, nil
}

// Log returns the end of the log of a job of Actions, whose id is that of its check run: whole
// lines, at most joblog.MaxTail bytes. It is empty if a text without a line end is longer. A log
// that lies on a host where it is not read is a *joblog.ElsewhereError.
func (r Reader) Log(ctx context.Context, job int64) (sanitize.Raw, error) {
	text, cut, err := r.Client.LogTail(ctx, r.path("/actions/jobs/%d/logs", job))
	if err != nil {
		return "", fmt.Errorf("read the log of job %d: %w", job, err)
	}
	if cut { // the first line is not whole, and may begin within a secret
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return sanitize.Raw(text), nil
}

// Head is the head of a pull request with its checks.
type Head struct {
	SHA      string
	Open     bool
	OpenedAt time.Time // the pull request
	Checks   []Check
	// Known says that the server told which checks are required. If not, none is marked.
	Known bool
	Cut   bool // the head has more checks than are read
}

// Counts returns the checks that count: the required ones, or all where no check is marked or it is
// not known.
func (h Head) Counts() []Check {
	var required []Check
	for _, c := range h.Checks {
		if c.Required {
			required = append(required, c)
		}
	}
	if len(required) == 0 {
		return h.Checks
	}
	return required
}
