package comment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// maxRows is how many phases a status shows before its oldest rows give way.
const maxRows = 60

// StatusText is the status comment without its marker: where the session is, who works, what
// it works from, how to join it. folds are texts of review rounds to show folded, newest
// last; most callers have none.
func (v *View) StatusText(folds []string) string {
	for rows := maxRows; ; rows /= 2 {
		for drop := range len(folds) + 2 {
			text := v.status(rows, folds[min(drop, len(folds)):], drop <= len(folds))
			if markdown.Units(text) <= markdown.MaxUnits || rows <= 1 && drop > len(folds) {
				return text
			}
		}
	}
}

func (v *View) status(rows int, folds []string, commands bool) string {
	out := []string{"### agentmux: " + v.headline(), v.table(rows)}
	if v.Live() {
		out = append(out, "", v.details())
	} else {
		out = append(out, "", v.result())
	}
	out = append(out, v.changesAsked()...)
	out = append(out, folds...)
	if commands && len(v.Commands)+len(v.Noted) > 0 {
		if !v.Live() || len(folds) > 0 {
			out = append(out, "")
		}
		out = append(out, v.commandFold())
	}
	return strings.Join(out, "\n")
}

// maxRequest is how much of a request for changes the status shows, in characters.
const maxRequest = 1000

// changesAsked shows what people wanted changed, so that the rounds behind it can be judged.
func (v *View) changesAsked() (lines []string) {
	for _, c := range v.Requests {
		who := ""
		if c.Actor != "" {
			who = " by " + v.n.Name(c.Actor)
		}
		lines = append(lines, "", "Changes asked for"+who+" at "+v.at(c.At)+":", v.n.Quote(markdown.Shorten(markdown.Raw(c.Text), maxRequest)))
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

// answers says who decided at the gates, and in what way that came.
func (v *View) answers() (lines []string) {
	for _, d := range v.Decisions {
		d.Actor = v.n.Inline(markdown.Shorten(markdown.Raw(d.Actor), 80))
		text := d.String()
		lines = append(lines, strings.ToUpper(text[:1])+text[1:])
	}
	return lines
}

// moved says in a line from which machine the session came.
func (v *View) moved() (lines []string) {
	if line := v.Moved.Line(v.at, markdown.CodeSpan); line != "" {
		lines = append(lines, strings.ToUpper(line[:1])+line[1:])
	}
	return lines
}

// typed says in a line at whose panes a person took part.
func typed(v *View) (lines []string) {
	for _, line := range v.Persons.Lines() {
		lines = append(lines, v.n.Inline(markdown.Raw(strings.ToUpper(line[:1])+line[1:])))
	}
	return lines
}

// used says in a line how many tokens the agents used, if any of their programs tells.
func (v *View) used() (lines []string) {
	if line := v.Usages.Sum().Line(); line != "" {
		lines = append(lines, v.n.Inline(markdown.Raw(line)))
	}
	return lines
}

// headline says in a few words what the session does, the most urgent first.
func (v *View) headline() string {
	switch v.End.Outcome {
	case orchestrator.OutcomeDone:
		return "done in " + lasted(v.End.Seconds)
	case orchestrator.OutcomeNeedsHuman:
		return "needs a human: " + v.n.Inline(markdown.Shorten(markdown.FirstLine(markdown.Raw(v.End.Cause())), 200))
	case orchestrator.OutcomeFailed:
		return "failed after " + lasted(v.End.Seconds)
	case orchestrator.OutcomeCanceled:
		return "stopped after " + lasted(v.End.Seconds)
	}
	switch {
	case v.Gate.Name != "":
		return "waits for approval of the " + story.GateNoun(v.Gate.Name)
	case v.Paused:
		return "paused in " + v.Phase
	case len(v.Asks.Open()) > 0:
		return v.Phase + ", waits for an answer to " + v.openIDs()
	case v.Phase == "":
		return "starting"
	}
	row := v.Visits.Current()
	if row != nil && row.Phase == v.Phase && row.Kind == "review" && v.fixLimit() >= 0 {
		return fmt.Sprintf("%s (round %d, at most %d)", v.Phase, row.Round, v.Reviews.Number(v.fixLimit()))
	}
	return v.Phase
}

func (v *View) openIDs() string {
	var ids []string
	for _, q := range v.Asks.Open() {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, ", ")
}

func (v *View) table(rows int) string {
	out := []string{"| Phase | State | Began (UTC) |", "|---|---|---|"}
	visits := v.Visits
	if hidden := len(visits) - rows; hidden > 0 {
		out = append(out, fmt.Sprintf("| %d earlier | done | |", hidden))
		visits = visits[hidden:]
	}
	if len(visits) == 0 {
		out = append(out, "| **starting** | | "+v.at(v.Identity.Started)+" |")
	}
	for i := range visits {
		row := &visits[i]
		name := row.Phase
		if v.Live() && i == len(visits)-1 && !row.Left {
			name = "**" + name + "**"
		}
		out = append(out, fmt.Sprintf("| %s | %s | %s |", name, v.rowState(row), v.at(row.Began)))
	}
	return strings.Join(out, "\n")
}

// rowState is the State cell of a phase.
func (v *View) rowState(row *story.Visit) string {
	plans := v.subplans(row)
	switch {
	case row.Left && plans != "":
		return "done, " + plans
	case row.Left:
		return "done"
	case v.End.Outcome == orchestrator.OutcomeNeedsHuman:
		return "waits for a person"
	case v.End.Outcome == orchestrator.OutcomeFailed:
		return "failed"
	case v.End.Outcome != "":
		return "stopped"
	case v.Paused:
		return "paused"
	case v.Gate.Name != "":
		return "waits for approval"
	case row.Kind == "review":
		return cmp.Or(v.reviewState(), "running")
	case plans != "":
		return "running, " + plans
	case row.Role != "" && row.Provider != "":
		return "running: " + codeFree(row.Role+" ("+row.Provider+")")
	case row.Role != "":
		return "running: " + codeFree(row.Role)
	}
	return "running"
}

// subplans says how many subplans are done of an implementation: now, or when it was left.
func (v *View) subplans(row *story.Visit) string {
	count := row.Subplans
	if !row.Left {
		count = v.Plan.Count(*row)
	}
	switch count.Total {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%d of 1 subplan", count.Done)
	}
	return fmt.Sprintf("%d of %d subplans", count.Done, count.Total)
}

// codeFree drops what names of roles and providers never hold.
func codeFree(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("`|<>&@#[]*\n", r) {
			return -1
		}
		return r
	}, s)
}

// reviewState lists the roles of the round and what they said.
func (v *View) reviewState() string {
	r := v.Reviews.Current()
	if r == nil {
		return ""
	}
	if r.Decided && r.Passed {
		return "passed, summary: running"
	}
	var parts []string
	for _, role := range r.Roles {
		state := "running"
		if given, ok := r.Verdicts[role]; ok {
			state = given.Verdict
		}
		parts = append(parts, strings.TrimPrefix(codeFree(role), "reviewer_")+": "+state)
	}
	return strings.Join(parts, ", ")
}

// details are the lines below the table of a session at work.
func (v *View) details() string {
	out := []string{fmt.Sprintf("Branch %s, PR: %s, workflow %s", markdown.CodeSpan(v.Result.Branch), v.pr(), markdown.CodeSpan(v.Identity.Workflow))}
	if line := v.askedLine(); line != "" {
		out = append(out, line)
	}
	if line := limitedLine(v.Agents, v.at); line != "" {
		out = append(out, line)
	}
	out = append(out, v.moved()...)
	out = append(out, v.answers()...)
	out = append(out, typed(v)...)
	out = append(out, v.Strays.Lines(v.n.Name)...)
	out = append(out, v.used()...)
	if v.Edited != nil && v.Live() {
		out = append(out, v.editedLine())
	}
	lines := v.Notes
	if line := v.Asked.Unseen; line != "" {
		lines = append(lines[:len(lines):len(lines)], line)
	}
	for _, line := range lines {
		if line = v.n.Inline(markdown.Shorten(markdown.Raw(line), 500)); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	var place []string
	if v.Sandbox != "" {
		place = append(place, "Sandbox "+codeFree(v.Sandbox))
	}
	if v.Identity.Config != "" {
		place = append(place, "config: "+markdown.CodeSpan(shortCommit(v.Identity.Config)))
	}
	if v.Host != "" {
		place = append(place, "host "+markdown.CodeSpan(v.Host))
	}
	place = append(place, "attach: "+markdown.CodeSpan("agentmux attach "+v.name()))
	return strings.Join(append(out, strings.Join(place, ", ")), "\n")
}

// limitedLine names the agents that wait for their providers, and until when.
func limitedLine(agents story.Agents, at func(time.Time) string) string {
	var waits []string
	for _, key := range slices.Sorted(maps.Keys(agents)) {
		switch a := agents[key]; {
		case !a.Limited:
		case a.Until.IsZero():
			waits = append(waits, markdown.CodeSpan(string(key)))
		default:
			waits = append(waits, markdown.CodeSpan(string(key))+" until "+at(a.Until)+" (UTC)")
		}
	}
	if len(waits) == 0 {
		return ""
	}
	return "Waiting for a provider: " + strings.Join(waits, ", ")
}

// shortCommit shortens a commit id and leaves other words as they are.
func shortCommit(s string) string {
	if len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" {
		return s[:7]
	}
	return s
}

func (v *View) pr() string {
	switch {
	case v.Result.Pull == 0:
		return "not yet"
	case v.Result.Draft:
		return fmt.Sprintf("#%d (draft)", v.Result.Pull)
	}
	return fmt.Sprintf("#%d (ready for review)", v.Result.Pull)
}

func (v *View) askedLine() string {
	a := v.Asked
	if !a.Known {
		return ""
	}
	var parts []string
	if a.Login != "" {
		who := "Asked by " + markdown.CodeSpan(a.Login)
		if a.Level != "" && a.Level != "none" {
			who += " (" + a.Level + ")"
		}
		parts = append(parts, who)
	}
	parts = append(parts, "text of "+v.at(a.At), "sha256 `"+markdown.Abbreviate(a.Digest, 12)+"`")
	if removed := removedWords(a.Removed); removed != "" {
		parts = append(parts, "removed: "+removed)
	}
	if a.CutBytes > 0 {
		parts = append(parts, fmt.Sprintf("cut: %d bytes", a.CutBytes))
	}
	line := strings.Join(parts, ", ")
	if a.Suspicious {
		line += "\n**Many invisible characters were removed from the issue's text.** Look at its source before you trust it."
	}
	return line
}

// editedLine says which text the session works from, and how to use the new one.
func (v *View) editedLine() string {
	next := "`/agentmux retry` takes the new text"
	if v.deafAfter() {
		next = "`agentmux issue " + v.name() + " --new` takes the new text"
	}
	return fmt.Sprintf("Text edited, seen at %s; this session works from `%s`; %s", v.at(*v.Edited), markdown.Abbreviate(v.Asked.Digest, 12), next)
}

// removedWords names what cleaning took out, in a fixed order.
func removedWords(removed map[string]int) string {
	var parts []string
	for _, class := range []struct{ key, one, many string }{
		{"comment", "HTML comment", "HTML comments"},
		{"attribute", "attribute", "attributes"},
		{"invisible", "invisible character", "invisible characters"},
		{"bidi", "direction character", "direction characters"},
		{"entity", "entity", "entities"},
		{"image", "image", "images"},
		{"link", "link", "links"},
		{"tag", "tag", "tags"},
		{"diagram", "diagram", "diagrams"},
		{"cell", "table cell", "table cells"},
		{"math", "hidden part of a formula", "hidden parts of formulas"},
	} {
		switch n := removed[class.key]; {
		case n == 1:
			parts = append(parts, "1 "+class.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, class.many))
		}
	}
	return strings.Join(parts, ", ")
}
