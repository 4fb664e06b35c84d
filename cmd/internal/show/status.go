// Package show writes, in words and in JSON, the status of sessions and how they ended, what a
// gate asks about, what a dry run would do, and the configuration and the workflows. It reads,
// and prints on the console it is given.
package show

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// agentWord says what an agent does, as far as a host has noticed.
func agentWord(agent orchestrator.Agent, running bool) string {
	switch {
	case !running:
		return "interrupted, launch " + string(agent.Launch)
	case agent.Waiting != "":
		return "waiting for " + string(agent.Waiting)
	case agent.Limited && !agent.Until.IsZero():
		return "waiting for its provider until " + agent.Until.Local().Format("2 Jan 15:04")
	case agent.Limited:
		return "waiting for its provider"
	}
	return "at work, launch " + string(agent.Launch)
}

// phaseText says where a session is, or how it ended.
func phaseText(e session.Entry) (text string, ink paint.Ink) {
	s := e.State
	switch {
	case s.Phase == orchestrator.PhaseDone && s.Outcome == orchestrator.OutcomeDone:
		return "done", paint.Good
	case s.Phase == orchestrator.PhaseDone:
		return "ended, " + outcomeWord(s), paint.Ask
	case s.Phase == orchestrator.PhaseFailed && s.Outcome == orchestrator.OutcomeCanceled:
		return "stopped in " + console.Dash(string(s.InterruptedPhase)), paint.Ask
	case s.Phase == orchestrator.PhaseFailed:
		return "failed in " + console.Dash(string(s.InterruptedPhase)), paint.Bad
	case s.Parked():
		return s.Phase + ", " + outcomeWord(s), paint.Ask
	case s.Paused, !e.Running:
		return s.Phase + " (" + e.Condition() + ")", paint.Ask
	}
	return s.Phase + " (" + e.Condition() + ")", paint.Busy
}

// PrintStatus writes everything about a session for a person. at is the site of its project; nil =
// the configuration is read.
func PrintStatus(ctx context.Context, a *site.Finder, at *site.Site, w io.Writer, e session.Entry) {
	s, p, st := e.State, a.Page(w), TellLater(ctx, e)
	p.Row("session", paint.Strong, "%s", e.Name)
	switch {
	case s.IssueNumber > 0:
		p.Row("issue", paint.Plain, "%s#%d %s", s.Repo, s.IssueNumber, s.IssueTitle)
	case s.IssueTitle != "":
		p.Row("request", paint.Plain, "%s", s.IssueTitle)
	}
	phase, ink := phaseText(e)
	p.Row("phase", ink, "%s", phase)
	printWhy(p, s, st)
	printCoolDowns(p, s)
	_, sandbox := a.Sandbox(at)
	p.Row("workflow", paint.Plain, "%s, config: %s, sandbox: %s", s.Workflow, s.ConfigSource, sandbox)
	if note := setupOf(a, at, e); note != "" {
		p.Row("setup", paint.Ask, "%s", note)
	}
	if note := agentSettingsOf(e).Note(); note != "" {
		p.Row("settings", paint.Ask, "%s", note)
	}
	if branch := branchOf(s); branch != "" {
		p.Row("branch", paint.Plain, "%s from %s", branch, s.BaseBranch)
	} else {
		p.Row("branches", paint.Plain, "one for each agent, from %s: agentmux agents status %s", s.BaseBranch, e.Name)
	}
	if c := s.Completion; c.PRURL != "" {
		p.Row("pull", paint.Plain, "%s", c.PRURL+draftNote(c))
	}
	if note := diskNote(e); note != "" {
		p.Row("disk", paint.Ask, "%s", note)
	}
	if trouble := mirror.Trouble(e.Dir); trouble != "" && s.Mirror {
		p.Row("github", paint.Bad, "%s", trouble)
	}
	if st.Unsaved != "" {
		p.Row("saved", paint.Plain, "%s", st.Unsaved)
	}
	if st.Moved != "" {
		p.Row("moved", paint.Plain, "%s", strings.TrimPrefix(st.Moved, "moved "))
	}
	for _, line := range st.Persons {
		p.Row("person", paint.Plain, "%s", line)
	}
	printWork(p, e, st)
	printUsage(p, st.Usage)
	printGate(ctx, a, p, e, st)
	for _, debt := range st.Owed {
		p.Row("owed", paint.Ask, "%s", debt.Text)
	}
	if next := st.Next(); next != "" {
		p.Row("next", paint.Strong, "%s", next)
	}
}

func draftNote(c orchestrator.Completion) string {
	if c.Draft {
		return " (a draft)"
	}
	return ""
}

// printWhy says why a session ended or waits, and what keeps it from continuing.
func printWhy(p *console.Page, s *orchestrator.State, st story.Story) {
	if why := whyText(s, st); why != "" {
		p.Row("reason", paint.Plain, "%s", why)
	}
	for _, finding := range st.Findings {
		p.Row("finding", paint.Bad, "%s", finding)
	}
	if st.Advice != "" {
		p.Row("you can", paint.Plain, "%s", st.Advice)
	}
	for _, o := range st.Outages {
		p.Row("outage", paint.Bad, "%s", outageText(o, time.Now()))
	}
}

// whyText is the reason's name with the sentence about it.
func whyText(s *orchestrator.State, st story.Story) string {
	switch reason := string(s.OutcomeReason); {
	case reason == "":
		return st.Sentence
	case st.Sentence == "":
		return reason
	default:
		return reason + ": " + st.Sentence
	}
}

// outageText says what fails, since when, how often it was tried, and when the next try is.
func outageText(o story.Outage, now time.Time) string {
	var b strings.Builder
	b.WriteString(map[story.OutageKind]string{
		story.OutageStep: o.What + " fails", story.OutageMirror: "GitHub does not take what is to be shown",
		story.OutageProvider: o.What + " waits for its provider", story.OutageAgent: o.What + " was lost",
	}[o.Kind])
	if !o.Since.IsZero() {
		fmt.Fprintf(&b, " since %s (%s)", o.Since.Local().Format("15:04:05"), span(now.Sub(o.Since)))
	}
	if o.Tries > 0 {
		b.WriteString(", " + console.Counted(o.Tries, "try", "tries"))
	}
	if o.Error != "" {
		b.WriteString(": " + o.Error)
	}
	if o.Again.After(now) {
		b.WriteString("; again in " + span(o.Again.Sub(now)))
	}
	return b.String()
}

// span is how long something takes, for people.
func span(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

// maxStrays is how many files that were changed outside of the plan the text names; --json
// names all.
const maxStrays = 20

func printWork(p *console.Page, e session.Entry, st story.Story) {
	s := e.State
	if s.ChangeRequest != "" {
		p.Row("asked", paint.Plain, "%s", s.ChangeRequest)
	}
	if s.SubplanCount > 0 {
		p.Row("subplans", paint.Plain, "%d of %d done", len(s.CompletedSubplans), s.SubplanCount)
	}
	if len(st.Strays) > 0 {
		p.Row("unowned", paint.Ask, "%s", st.Strays.Tell(maxStrays, func(path string) string { return path }))
	}
	for _, v := range verdicts(s, st) {
		ink := paint.Good
		if v.Verdict != "pass" {
			ink = paint.Bad
		}
		p.Row("review", ink, "round %d, %s: %s%s", v.Round, v.Role, v.Verdict, findingsNote(v.Findings))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		if agent := s.Agents[key]; agent.Launch != "" {
			p.Row("agent", paint.Plain, "%s: %s", key, agentWord(agent, e.Running))
		}
	}
	for _, q := range s.Questions {
		if !q.Open() {
			continue
		}
		p.Row("question", paint.Ask, "%s from %s: %s", q.ID, orchestrator.KeyOf(q.Role, q.Task), q.Text)
		for i, option := range q.Options {
			p.Row("", paint.Plain, "%d) %s", i+1, option)
		}
	}
}

// printUsage says what the launches that have ended used, in all and by role.
func printUsage(p *console.Page, sum *story.Sum) {
	if sum == nil {
		return
	}
	p.Row("usage", paint.Plain, "%s", sum)
	for _, r := range sum.Roles {
		if len(sum.Roles) > 1 && sum.Known() {
			p.Row("", paint.Plain, "%s: %s", r.Role, r)
		}
	}
}

func findingsNote(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + console.Counted(n, "finding", "findings")
}
