package job

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// maxSummary is below what a runner takes for a step, 1 MiB.
const maxSummary = 900 << 10

// maxRow bounds a text of others in the summary.
const maxRow = 2000

// Summary is the page of the job: the outcome first. Texts of others are code in it. Issue and pull request are links to
// server, the address of its web pages, if the result says the same of itself; an agent may have written that.
func Summary(r outcome.Result, server string) string {
	at := strings.TrimSuffix(server, "/") + "/" + r.Repo
	if !webAddress().MatchString(at) {
		at = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### agentmux: %s\n\n", strings.ReplaceAll(r.Outcome, "_", " "))
	room := func() bool { return b.Len() < maxSummary }
	row := func(name, text string) {
		if text != "" && room() {
			fmt.Fprintf(&b, "- %s: %s\n", name, text)
		}
	}
	row("why", span(r.Sentence))
	if r.Issue > 0 {
		row("issue", link(span(fmt.Sprintf("%s#%d", r.Repo, r.Issue)), at, "issues", r.Issue))
	}
	if r.PRNumber > 0 {
		if r.PRURL != fmt.Sprintf("%s/pull/%d", at, r.PRNumber) {
			at = ""
		}
		text := link("#"+strconv.Itoa(r.PRNumber), at, "pull", r.PRNumber)
		if r.Draft {
			text += ", a draft"
		}
		if at == "" {
			text += " " + span(r.PRURL)
		}
		row("pull request", text)
	}
	row("branch", span(r.Branch))
	row("commit", span(r.HeadSHA))
	row("session", span(r.Session))
	row("from a checkpoint", span(r.Moved))
	row("workflow", span(r.Workflow))
	row("text", span(r.Digest))
	row("checkpoint", span(r.Checkpoint))
	for _, n := range r.Dispatched {
		row("started once more", "#"+strconv.Itoa(n))
	}
	for i := 0; i < len(r.Held) && room(); i++ {
		row("needs a look", span(r.Held[i]))
	}
	for i := 0; i < len(r.Questions) && room(); i++ {
		row("question "+span(r.Questions[i].ID), span(r.Questions[i].Text))
	}
	table(&b, "| Phase | Time |\n|---|---|\n", len(r.Phases), func(i int) string {
		p := r.Phases[i]
		return fmt.Sprintf("| %s | %s |\n", cell(p.Name), (time.Duration(p.Seconds * float64(time.Second))).Round(time.Second))
	})
	table(&b, "| Role | Verdict | Findings |\n|---|---|---|\n", len(r.Verdicts), func(i int) string {
		v := r.Verdicts[i]
		return fmt.Sprintf("| %s | %s | %d |\n", cell(v.Role), cell(v.Verdict), v.Findings)
	})
	usageTable(&b, r.Usage)
	if r.Next != "" {
		fmt.Fprintf(&b, "\nNext: %s\n", span(r.Next))
	}
	return b.String()
}

// webAddress is an address of a repository that says nothing else in Markdown.
var webAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._-]+)+$`)
})

// link is a text that leads to what has a number below the address at; the text alone if that is empty.
func link(text, at, what string, number int) string {
	if at == "" {
		return text
	}
	return fmt.Sprintf("[%s](%s/%s/%d)", text, at, what, number)
}

func table(b *strings.Builder, head string, n int, row func(int) string) {
	if n == 0 {
		return
	}
	b.WriteString("\n" + head)
	for i := range n {
		if b.Len() > maxSummary {
			return
		}
		b.WriteString(row(i))
	}
}

// usageTable says what the launches used, by role and in all. A role whose programs told nothing has no
// figures: that is not to say that it used nothing.
func usageTable(b *strings.Builder, roles []story.RoleSpent) {
	if len(roles) == 0 {
		return
	}
	row := func(name string, s story.Spent) string {
		figures := " | | "
		if s.Known() {
			figures = fmt.Sprintf("%d | %d | ", s.Input, s.Output)
			if s.Money > 0 {
				figures += strconv.FormatFloat(s.Money, 'f', 2, 64)
			}
		}
		return fmt.Sprintf("| %s | %s | %d | %d |\n", name, figures, s.Launches, s.Unknown)
	}
	table(b, "| Role | Tokens in | Tokens out | USD | Launches | not known |\n|---|---|---|---|---|---|\n", len(roles)+1, func(i int) string {
		if i == len(roles) {
			return row("all", story.Total(roles))
		}
		return row(cell(roles[i].Role), roles[i].Spent)
	})
}

// span is a text of others in one line of code.
func span(text string) string {
	text = strings.Join(strings.Fields(markdown.Clip(text, maxRow)), " ")
	if text == "" {
		return ""
	}
	return markdown.CodeSpan(markdown.Valid(text))
}

func cell(text string) string { return strings.ReplaceAll(span(text), "|", "\\|") }

// Outputs are those of the action, in the form of the runner's file. A value is one line.
func Outputs(r outcome.Result) string {
	number := ""
	if r.PRNumber > 0 {
		number = strconv.Itoa(r.PRNumber)
	}
	var b strings.Builder
	for _, o := range [][2]string{
		{"outcome", r.Outcome}, {"exit-code", strconv.Itoa(r.ExitCode)}, {"session", r.Session}, {"branch", r.Branch}, {"pr-number", number},
		{"pr-url", r.PRURL}, {"head-sha", r.HeadSHA}, {"verdict", r.Verdict}, {"digest", r.Digest}, {"result-file", ResultFile()},
	} {
		fmt.Fprintf(&b, "%s=%s\n", o[0], strings.Join(strings.Fields(o[1]), " "))
	}
	return b.String()
}

// Report appends outputs and summary of the job's result to the runner's files; "" for neither.
func Report(output, summary string) error {
	r, err := ReadResult(ResultFile())
	if err != nil {
		return err
	}
	artifact := ""
	if dir, err := os.Lstat(artifactDir()); err == nil && dir.IsDir() { // a link could name any directory
		artifact = "artifact=" + artifactDir() + "\n" // of the action's next step alone
	}
	for file, text := range map[string]string{output: Outputs(r) + artifact, summary: Summary(r, os.Getenv("GITHUB_SERVER_URL"))} {
		if file == "" {
			continue
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		_, err = f.WriteString(text)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}
