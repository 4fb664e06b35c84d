package show

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// Diff returns what a gate asks about, else the work so far, for a person. At the gate of the
// plan that is the plan. With stat it is only the plan's titles, or the number of lines of each
// file.
func Diff(ctx context.Context, a *site.Finder, entry session.Entry, stat bool) ([]byte, error) {
	if s := entry.State; s.Kind == orchestrator.KindAgents {
		return nil, exit.Usage(fmt.Errorf("%s has a branch for each agent: agentmux agents status %s shows them, and git diff %s...BRANCH what one changes", entry.Name, entry.Name, s.BaseBranch))
	}
	out := &diffPage{palette: paint.New(a.Raw), redact: a.Redactor().Redact}
	if s := entry.State; s.Gate != nil && s.Gate.Name == orchestrator.GatePlan {
		err := out.plan(entry, stat)
		return out.text.Bytes(), err
	}
	err := workOf(ctx, a, out, entry, stat)
	return out.text.Bytes(), err
}

// difference reads what a session's commit changes, from the store of its project.
func difference(ctx context.Context, a *site.Finder, e session.Entry, patch bool) (work.Difference, error) {
	a.Project = site.ProjectOf(e)
	s, err := a.Cleaner(ctx)
	if err == nil {
		err = a.AtBase(ctx, s, e.State)
	}
	if err != nil {
		return work.Difference{}, err
	}
	return s.Host.Difference(ctx, e.Dir, e.State, s.Config, patch)
}

// workOf shows what the commit of a session changes.
func workOf(ctx context.Context, a *site.Finder, out *diffPage, e session.Entry, stat bool) error {
	d, err := difference(ctx, a, e, !stat)
	if err != nil {
		return err
	}
	out.head(e, d.String())
	for _, finding := range e.State.Completion.Findings {
		out.line(paint.Bad, "the output gate found: "+finding)
	}
	for _, path := range e.State.Completion.Asked {
		out.line(paint.Ask, path+" is held: approve also approves it")
	}
	if e.State.Gate != nil || len(e.State.Completion.Findings) > 0 {
		out.line(paint.Plain, "")
	}
	if stat || d.Large {
		out.stats(d.Stats)
	}
	if d.Large {
		out.line(paint.Ask, fmt.Sprintf("the rest is too large to show; git diff %s %s in the store shows it", d.From, d.To))
	}
	out.patch(d.Patch)
	return nil
}

// diffPage collects what is shown: text of agents, made fit for a terminal line by line.
type diffPage struct {
	text    bytes.Buffer
	palette paint.Palette
	redact  func(string) string
}

func (p *diffPage) line(ink paint.Ink, text string) {
	p.text.WriteString(p.palette.Paint(visible(p.redact(text)), ink) + "\n")
}

// head says what is asked, and how it is answered.
func (p *diffPage) head(e session.Entry, what string) {
	s := e.State
	line := "session " + e.Name + ": "
	if s.Gate == nil {
		p.line(paint.Strong, line+what)
		return
	}
	p.line(paint.Strong, line+"the "+story.GateNoun(s.Gate.Name)+" waits for approval ("+what+")")
	if why := story.GateWhy(s.Gate.Reason); why != "" {
		p.line(paint.Plain, why)
	}
	p.line(paint.Plain, fmt.Sprintf("agentmux approve %s --of %s", e.Name, orchestrator.ShortDigest(s.GateDigest())))
}

// stats lists the files with the lines they gain and lose.
func (p *diffPage) stats(stats []gitrepo.Stat) {
	width := 0
	for _, s := range stats {
		width = max(width, paint.Width(visible(s.Path)))
	}
	for _, s := range stats {
		path := visible(p.redact(s.Path))
		pad := strings.Repeat(" ", max(width-paint.Width(path), 0))
		change := p.palette.Paint(fmt.Sprintf("+%d", s.Added), paint.Good) + " " + p.palette.Paint(fmt.Sprintf("-%d", s.Removed), paint.Bad)
		if s.Binary {
			change = "binary"
		}
		fmt.Fprintf(&p.text, " %s%s | %s\n", path, pad, change)
	}
}

func (p *diffPage) patch(patch []byte) {
	if len(patch) == 0 {
		return
	}
	body := false // below the lines that name a file
	for line := range strings.SplitSeq(strings.TrimSuffix(p.redact(string(patch)), "\n"), "\n") {
		ink := paint.Plain
		switch {
		case strings.HasPrefix(line, "diff --git "):
			ink, body = paint.Strong, false
		case strings.HasPrefix(line, "@@"):
			ink, body = paint.Busy, true
		case !body:
			ink = paint.Strong
		case strings.HasPrefix(line, "+"):
			ink = paint.Good
		case strings.HasPrefix(line, "-"):
			ink = paint.Bad
		}
		p.text.WriteString(p.paintTabbed(visible(line), ink) + "\n")
	}
}

// paintTabbed paints a line between its tabs, which a palette would turn into blanks.
func (p *diffPage) paintTabbed(line string, ink paint.Ink) string {
	parts := strings.Split(line, "\t")
	for i := range parts {
		parts[i] = p.palette.Paint(parts[i], ink)
	}
	return strings.Join(parts, "\t")
}

// plan shows the plan that was accepted, from the bytes that count.
func (p *diffPage) plan(e session.Entry, stat bool) error {
	sess, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	data, err := sess.Blob(e.State.PlanSHA256)
	if err != nil {
		return err
	}
	plan, problems := artifact.ParsePlan(data)
	if err := problems.Err(); err != nil {
		return err
	}
	p.head(e, console.Counted(len(plan.Subplans), "subplan", "subplans"))
	p.line(paint.Plain, "")
	if stat {
		for _, s := range plan.Subplans {
			p.line(paint.Plain, fmt.Sprintf(" %d. %s | %s", s.Index, console.OneLine(s.Title), strings.Join(s.OwnedFiles, ", ")))
		}
		return nil
	}
	for line := range strings.Lines(string(plan.Markdown())) {
		ink := paint.Plain
		if strings.HasPrefix(line, "#") {
			ink = paint.Strong
		}
		p.line(ink, strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// visible shows each character of a line that would steer a terminal or is not seen.
func visible(line string) string {
	odd := func(r rune) bool { return r != '\t' && (!unicode.IsPrint(r) || r == utf8.RuneError) }
	if !strings.ContainsFunc(line, odd) {
		return line
	}
	var b strings.Builder
	for i, r := range line {
		_, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<%02X>", line[i])
		case odd(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
