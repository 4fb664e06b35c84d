package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

func (st *stage) heading(text string) { fmt.Fprintf(st.Out, "\n== %s\n\n", text) }

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

type comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}

// feed prints comments as they appear and as the status comment changes.
type feed struct {
	st   *stage
	seen map[int64]string
	pull int
}

var marker = regexp.MustCompile(`(?m)^<!-- agentmux .*-->\n?`)

func (f *feed) poll(ctx context.Context) error {
	repo := "/repos/" + f.st.scenario.name()
	numbers := []int{1}
	if f.pull == 0 {
		var pulls []struct{ Number int }
		if err := f.st.github.get(ctx, repo+"/pulls?state=all", &pulls); err != nil {
			return err
		}
		if len(pulls) > 0 {
			f.pull = pulls[0].Number
		}
	}
	if f.pull > 0 {
		numbers = append(numbers, f.pull)
	}
	for _, number := range numbers {
		var comments []comment
		if err := f.st.github.get(ctx, fmt.Sprintf("%s/issues/%d/comments?per_page=100", repo, number), &comments); err != nil {
			return err
		}
		for _, c := range comments {
			f.print(number, c)
		}
	}
	return nil
}

func (f *feed) print(number int, c comment) {
	if f.seen == nil {
		f.seen = map[int64]string{}
	}
	body := strings.TrimSpace(marker.ReplaceAllString(c.Body, ""))
	before, known := f.seen[c.ID]
	f.seen[c.ID] = body
	first, _, _ := strings.Cut(body, "\n")
	old, _, _ := strings.Cut(before, "\n")
	switch {
	case !known:
		fmt.Fprintf(f.st.Out, "comment on #%d:\n%s\n", number, indent(body))
	case first != old:
		fmt.Fprintf(f.st.Out, "edited: %s\n", first)
	}
}

type pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Draft  bool   `json:"draft"`
	Head   struct {
		Ref string `json:"ref"`
	} `json:"head"`
}

// show prints what came out: branch, diff, pull request, tests on the branch.
func (st *stage) show(ctx context.Context) error {
	var pulls []pull
	if err := st.github.get(ctx, "/repos/"+st.scenario.name()+"/pulls?state=all", &pulls); err != nil {
		return err
	}
	if len(pulls) != 1 {
		return fmt.Errorf("%d pull requests, expected one", len(pulls))
	}
	pr := pulls[0]
	st.heading("The branch: " + pr.Head.Ref)
	if err := st.user(ctx, "git", "fetch", "--quiet", "origin", pr.Head.Ref); err != nil {
		return err
	}
	if err := st.user(ctx, "git", "--no-pager", "log", "--format=%h %an: %s%n%n%b", "origin/HEAD..FETCH_HEAD"); err != nil {
		return err
	}
	if err := st.user(ctx, "git", "--no-pager", "diff", "--stat", "--patch", "origin/HEAD...FETCH_HEAD"); err != nil {
		return err
	}
	state := "ready for review"
	if pr.Draft {
		state = "draft"
	}
	st.heading(fmt.Sprintf("Pull request #%d (%s): %s", pr.Number, state, pr.Title))
	fmt.Fprint(st.Out, indent(strings.TrimSpace(marker.ReplaceAllString(pr.Body, ""))))
	st.heading("The tests on the branch")
	if err := st.user(ctx, "git", "checkout", "--quiet", "--detach", "FETCH_HEAD"); err != nil {
		return err
	}
	if err := st.user(ctx, "go", "test", "./..."); err != nil {
		return err
	}
	st.farewell()
	return nil
}

// user types a command in the clone.
func (st *stage) user(ctx context.Context, argv ...string) error {
	fmt.Fprintln(st.Out, "$", strings.Join(argv, " "))
	cmd := st.command(ctx, st.clone(), argv...)
	cmd.Stdout, cmd.Stderr = st.Out, st.Out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return err
}

func (st *stage) farewell() {
	st.heading("For a repository of your own")
	fmt.Fprint(st.Out, `  cd your-clone
  agentmux init          # writes a small configuration and says what it found
  agentmux doctor        # probes everything a run needs
  agentmux issue 42      # the same on a real issue, with your coding agent
`)
	if st.Keep {
		fmt.Fprintf(st.Out, `
Kept: %s
  the clone            %s
  the session's files  %s/.agentmux/.sessions
  its log              %s/agentmux.log
Its GitHub has ended: in the clone agentmux status, logs and doctor SESSION work,
resume and changes do not.
Remove the directory when you are done with it.
`, st.dir, st.clone(), st.clone(), st.dir)
	}
}
