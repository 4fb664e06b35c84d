package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bodies of requests.
type (
	newIssue struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	}
	newLabels struct {
		Labels []string `json:"labels"`
	}
	newComment struct {
		Body string `json:"body"`
	}
	newReview struct {
		Event string `json:"event"`
		Body  string `json:"body"`
	}
)

// did prints one line of the story, with the second it happened in.
func (st *stage) did(who, what string) {
	head := fmt.Sprintf("%3d s  %-7s ", int(time.Since(st.began).Seconds()), who)
	for i, part := range fold(what, width-len(head)) {
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		st.page.print(head + part)
	}
}

// quote prints what a person wrote below the line that says so.
func (st *stage) quote(text string) { st.page.indented("               | ", strings.TrimSpace(text)) }

func (st *stage) introduce() {
	st.page.print(fmt.Sprintf(`A label turns an issue into a pull request; comments steer it on the way.
A GitHub on loopback, agentmux bot with one slot, scripted agents in tmux; no
token, no model, less than a minute. %s is a person, %s the bot's account.`, maintainer, account))
}

// label has the maintainer open both issues and ask for the first one.
func (st *stage) label(ctx context.Context) error {
	s := st.scenario
	st.page.heading("An issue gets the label " + s.Issue.Label)
	for number, i := range []issue{s.Issue, s.Second} {
		if err := st.github.post(ctx, st.repo("/issues"), newIssue{i.Title, i.Body}); err != nil {
			return err
		}
		st.did(maintainer, fmt.Sprintf("opens #%d: %s", number+1, i.Title))
		st.quote(i.Body)
	}
	return st.ask(ctx, firstIssue, s.Issue.Label)
}

// ask puts a label on an issue. GitHub makes a label that is not there.
func (st *stage) ask(ctx context.Context, number int, label string) error {
	st.did(maintainer, fmt.Sprintf("puts the label %s on #%d", label, number))
	return st.github.post(ctx, st.repo(fmt.Sprintf("/issues/%d/labels", number)), newLabels{[]string{label}})
}

// comment writes a comment of the maintainer.
func (st *stage) comment(ctx context.Context, number int, text string) error {
	st.did(maintainer, fmt.Sprintf("comments on #%d:", number))
	st.quote(text)
	return st.github.post(ctx, st.repo(fmt.Sprintf("/issues/%d/comments", number)), newComment{text})
}

// queue has the maintainer ask for the second issue while the bot works on the first.
func (st *stage) queue(ctx context.Context) error {
	if err := st.wait(ctx, "the bot takes the first issue", func(v *view) bool { return v.has(firstIssue, "agentmux:running") }); err != nil {
		return err
	}
	st.page.heading("Another issue waits for the one slot")
	if err := st.ask(ctx, secondIssue, st.scenario.Second.Label); err != nil {
		return err
	}
	return st.wait(ctx, "the second issue is queued", func(v *view) bool {
		return v.has(secondIssue, "agentmux:queued") && v.says(secondIssue, "Waits: for the slot")
	})
}

// steer has the maintainer tell something to the coder at work.
func (st *stage) steer(ctx context.Context) error {
	if err := st.wait(ctx, "a coder works", func(v *view) bool { return v.says(firstIssue, "### agentmux: implementing") }); err != nil {
		return err
	}
	st.page.heading("A comment steers the agent at work")
	if err := st.comment(ctx, firstIssue, st.scenario.Say); err != nil {
		return err
	}
	return st.wait(ctx, "the coder has the comment", func(v *view) bool { return v.done(st.scenario.Say) })
}

// done reports whether the command in a comment of the maintainer has its last receipt.
func (v *view) done(text string) bool {
	for _, c := range v.comments {
		if c.User.Login == maintainer && c.Body == text {
			return c.Reactions.Done > 0
		}
	}
	return false
}

// readTime is how long the maintainer reads a pull request. GitHub says in whole seconds when one
// changed, so that the bot cannot tell a review from a change that it saw in the same second.
const readTime = 2 * time.Second

// open waits for the pull request, and until the maintainer has read it.
func (st *stage) open(ctx context.Context) error {
	return st.wait(ctx, "there is a pull request", func(v *view) bool {
		return v.pull.Number != 0 && v.has(firstIssue, "agentmux:done") && time.Since(v.pull.Updated) > readTime
	})
}

// review has the maintainer ask for changes, and stop the second issue, which has the slot now.
func (st *stage) review(ctx context.Context) error {
	st.page.heading("A review asks for changes; the slot is free for the other issue")
	head := st.view.pull.Head.SHA
	if err := st.askForChanges(ctx); err != nil {
		return err
	}
	// A host pushes at most six times a minute for claims. The round comes before the push that ends
	// the second claim, so that it need not wait for the next minute.
	err := st.wait(ctx, "the second issue has the slot and the first another round", func(v *view) bool {
		return v.has(secondIssue, "agentmux:running") && v.says(firstIssue, "Changes asked for by")
	})
	if err != nil {
		return err
	}
	if err := st.comment(ctx, secondIssue, st.scenario.Stop); err != nil {
		return err
	}
	return st.wait(ctx, "the pull request is changed and the second issue stopped", func(v *view) bool {
		return v.pull.Head.SHA != head && v.has(firstIssue, "agentmux:done") && !v.has(secondIssue, states...) && v.done(st.scenario.Stop)
	})
}

// askForChanges submits a review of the pull request, which the bot turns into another round.
func (st *stage) askForChanges(ctx context.Context) error {
	p := st.view.pull
	st.did(maintainer, fmt.Sprintf("reviews #%d and requests changes:", p.Number))
	st.quote(st.scenario.Review)
	return st.github.post(ctx, st.repo(fmt.Sprintf("/pulls/%d/reviews", p.Number)), newReview{"REQUEST_CHANGES", st.scenario.Review})
}

// show prints what came out: branch, diff, tests on the branch, and what GitHub shows.
func (st *stage) show(ctx context.Context) error {
	p := st.view.pull
	st.page.heading("The branch " + p.Head.Ref)
	for _, argv := range [][]string{
		{"git", "fetch", "--quiet", "origin", p.Head.Ref},
		{"git", "--no-pager", "log", "--format=%h %an: %s", "origin/HEAD..FETCH_HEAD"},
		{"git", "--no-pager", "diff", "--stat=80", "--patch", "origin/HEAD...FETCH_HEAD"},
		{"git", "checkout", "--quiet", "--detach", "FETCH_HEAD"},
		{"go", "test", "./..."},
	} {
		if err := st.user(ctx, argv...); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
		}
	}
	st.showComments(firstIssue)
	kind := "ready for review"
	if p.Draft {
		kind = "draft"
	}
	st.page.heading(fmt.Sprintf("Pull request #%d (%s): %s", p.Number, kind, p.Title))
	st.page.indented("  ", plain(p.Body))
	if err := st.showReviews(ctx, p.Number); err != nil {
		return err
	}
	st.showComments(p.Number)
	st.showComments(secondIssue)
	return nil
}

// showReviews prints the reviews of a pull request.
func (st *stage) showReviews(ctx context.Context, number int) error {
	var reviews []struct {
		Body  string `json:"body"`
		State string `json:"state"`
		User  struct {
			Login string `json:"login"`
		} `json:"user"`
	}
	if err := st.github.get(ctx, st.repo(fmt.Sprintf("/pulls/%d/reviews", number)), &reviews); err != nil {
		return err
	}
	st.page.heading(fmt.Sprintf("The reviews of #%d", number))
	for _, r := range reviews {
		st.page.print(r.User.Login + ": " + r.State)
		st.page.indented("  ", r.Body)
	}
	return nil
}

// showComments prints the comments on an issue or a pull request as they are now.
func (st *stage) showComments(number int) {
	var all []comment
	for _, c := range st.view.comments {
		if c.on() == number {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b comment) int { return int(a.ID - b.ID) })
	st.page.heading(fmt.Sprintf("The comments on #%d", number))
	for i, c := range all {
		if i > 0 {
			st.page.print("")
		}
		st.page.print(c.User.Login + ":")
		st.page.indented("  ", plain(c.Body))
	}
}

func (st *stage) farewell(context.Context) error {
	st.page.heading("For a repository of your own")
	st.page.print(`  cd your-clone
  agentmux init          # writes a small configuration and says what it found
  agentmux doctor        # probes everything a run needs
  agentmux bot           # serves the repository: put the label on an issue
  agentmux issue 42      # or one issue at your terminal`)
	if st.Keep {
		st.page.print(fmt.Sprintf(`
Kept: %[1]s
  bot.log          the log of the bot
  %[2]s          the clone
  home/.config     the configuration of the bot
  home/.local      its sessions: files, prompts and transcripts of the agents
Its GitHub has ended. Remove the directory when you are done with it.`, st.dir, st.scenario.Repository))
	}
	return nil
}
