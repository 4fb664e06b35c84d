package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// lookPause is between two looks at GitHub.
	lookPause = 250 * time.Millisecond
	// waitTime bounds how long one thing may take that the demonstration waits for. It only tells
	// a run that hangs from one on a machine that has much else to do.
	waitTime = 3 * time.Minute
)

// view is what GitHub shows.
type view struct {
	comments map[int64]comment
	labels   map[int][]string // by issue
	pull     pull             // the newest one
}

type comment struct {
	ID       int64  `json:"id"`
	Body     string `json:"body"`
	IssueURL string `json:"issue_url"`
	User     struct {
		Login string `json:"login"`
	} `json:"user"`
	Reactions struct {
		Seen    int `json:"eyes"`
		Done    int `json:"+1"`
		Refused int `json:"-1"`
	} `json:"reactions"`
}

// on is the number of the issue or pull request.
func (c comment) on() (number int) {
	_, _ = fmt.Sscan(c.IssueURL[strings.LastIndexByte(c.IssueURL, '/')+1:], &number)
	return number
}

type pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Draft  bool   `json:"draft"`
	Head   struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Updated time.Time `json:"updated_at"` // in whole seconds
}

// says reports whether the program says a text on an issue now.
func (v *view) says(issue int, text string) bool {
	for _, c := range v.comments {
		if c.on() == issue && c.User.Login == account && strings.Contains(c.Body, text) {
			return true
		}
	}
	return false
}

// has reports whether an issue has one of the labels.
func (v *view) has(issue int, labels ...string) bool {
	return slices.ContainsFunc(v.labels[issue], func(name string) bool { return slices.Contains(labels, name) })
}

// wait looks at GitHub and tells what is new there until something is so.
func (st *stage) wait(ctx context.Context, what string, is func(*view) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTime, fmt.Errorf("it did not happen within %s that %s", waitTime, what))
	defer cancel()
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		err := st.look(ctx)
		switch {
		case ctx.Err() != nil:
			return st.explain(context.Cause(ctx))
		case err != nil:
			return err
		case is(&st.view):
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		case <-st.bot.ended:
			return st.explain(errors.Join(errors.New("agentmux bot has ended"), st.bot.err))
		}
	}
}

// look reads what GitHub shows and tells what is new.
func (st *stage) look(ctx context.Context) error {
	var comments []comment
	if err := st.github.get(ctx, st.repo("/issues/comments?per_page=100"), &comments); err != nil {
		return err
	}
	var issues []struct {
		Number int
		Labels []struct{ Name string }
	}
	if err := st.github.get(ctx, st.repo("/issues?state=all"), &issues); err != nil {
		return err
	}
	var pulls []pull
	if err := st.github.get(ctx, st.repo("/pulls?state=all"), &pulls); err != nil {
		return err
	}
	v := view{comments: map[int64]comment{}, labels: map[int][]string{}}
	for _, c := range comments {
		v.comments[c.ID] = c
	}
	for _, i := range issues {
		for _, l := range i.Labels {
			v.labels[i.Number] = append(v.labels[i.Number], l.Name)
		}
	}
	if len(pulls) > 0 {
		v.pull = pulls[0]
	}
	former := st.view
	st.view = v
	slices.SortFunc(comments, func(a, b comment) int { return int(a.ID - b.ID) })
	for _, c := range comments {
		st.tell(former.comments[c.ID], c)
	}
	if p := v.pull; p.Number != 0 && former.pull.Number == 0 {
		st.did(account, fmt.Sprintf("opens pull request #%d: %s", p.Number, p.Title))
	} else if p.Head.SHA != former.pull.Head.SHA {
		st.did(account, fmt.Sprintf("pushes to pull request #%d", p.Number))
	}
	return nil
}

// tell prints what is new in a comment.
func (st *stage) tell(former, now comment) {
	if now.User.Login != account {
		st.tellReceipts(former, now)
		return
	}
	before := newsOf(former.Body)
	fresh := slices.DeleteFunc(newsOf(now.Body), func(line string) bool { return slices.Contains(before, line) })
	if len(fresh) == 0 {
		return
	}
	what := "edits its comment on"
	if former.ID == 0 {
		what = "comments on"
	}
	st.did(account, fmt.Sprintf("%s #%d: %s", what, now.on(), strings.Join(fresh, ". ")))
}

// tellReceipts prints what is new below a comment of a person.
func (st *stage) tellReceipts(former, now comment) {
	verb := strings.Join(strings.Fields(now.Body)[:2], " ")
	for _, r := range []struct {
		before, after int
		text          string
	}{
		{former.Reactions.Seen, now.Reactions.Seen, "👀 on %q: the session has it"},
		{former.Reactions.Done, now.Reactions.Done, "👍 on %q: done"},
		{former.Reactions.Refused, now.Reactions.Refused, "👎 on %q: refused"},
	} {
		if r.after > r.before {
			st.did(account, fmt.Sprintf(r.text, verb))
		}
	}
}

// newsOf are the lines of a comment of the program that are told when they change: its headline,
// what a ticket waits for, and what became of commands.
func newsOf(body string) (lines []string) {
	for i, line := range strings.Split(plain(body), "\n") {
		line = strings.NewReplacer("`", "", "**", "").Replace(line)
		switch {
		case i == 0:
			line = strings.TrimPrefix(strings.TrimLeft(line, "# "), "agentmux: ")
		case strings.HasPrefix(line, "Waits: "):
		case strings.HasPrefix(line, "| ") && strings.ContainsAny(line, "✅❌"):
			line = "Command: " + strings.ReplaceAll(strings.Trim(line, "| "), " | ", ", ")
		default:
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func (st *stage) repo(path string) string { return "/repos/" + st.scenario.name() + path }

// stopSessions closes the issues that are worked on, and waits until they are not.
func (st *stage) stopSessions(ctx context.Context) {
	live := func(v *view) bool { return v.has(firstIssue, states...) || v.has(secondIssue, states...) }
	if st.look(ctx) != nil || !live(&st.view) {
		return
	}
	for _, number := range []int{firstIssue, secondIssue} {
		_ = st.github.do(ctx, "PATCH", st.repo(fmt.Sprintf("/issues/%d", number)), state{"closed"}, nil) // endServers does the rest
	}
	_ = st.wait(ctx, "the sessions end", func(v *view) bool { return !live(v) })
}

// states are the labels of an issue that is worked on.
var states = []string{"agentmux:queued", "agentmux:running", "agentmux:needs-human"}

type state struct {
	State string `json:"state"`
}
