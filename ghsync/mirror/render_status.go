package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
)

// maxRows is how many phases a status shows before its oldest rows give way.
const maxRows = 60

// renderStatus is the status comment's text without its marker: where the session is, who
// works, what it works from, how to join it. folds are texts of review rounds to show
// folded, newest last; most callers have none.
func renderStatus(v *view, n markdown.Neutralizer, folds []string) string {
	for rows := maxRows; ; rows /= 2 {
		for drop := range len(folds) + 2 {
			text := v.status(n, rows, folds[min(drop, len(folds)):], drop <= len(folds))
			if markdown.Units(text) <= markdown.MaxUnits || rows <= 1 && drop > len(folds) {
				return text
			}
		}
	}
}

func (v *view) status(n markdown.Neutralizer, rows int, folds []string, commands bool) string {
	out := []string{"### agentmux: " + v.headline(n), v.table(rows)}
	if v.live() {
		out = append(out, "", v.details(n))
	} else {
		out = append(out, "", v.result(n))
	}
	out = append(out, v.changesAsked(n)...)
	out = append(out, folds...)
	if commands && len(v.commands) > 0 {
		if !v.live() || len(folds) > 0 {
			out = append(out, "")
		}
		out = append(out, v.commandFold(n))
	}
	return strings.Join(out, "\n")
}

// maxRequest is how much of a request for changes the status shows, in characters.
const maxRequest = 1000

// changesAsked shows what people wanted changed, so that the rounds behind it can be judged.
func (v *view) changesAsked(n markdown.Neutralizer) (lines []string) {
	for _, c := range v.changes {
		who := ""
		if c.who != "" {
			who = " by " + n.Name(c.who)
		}
		lines = append(lines, "", "Changes asked for"+who+" at "+clock(c.at, v.started)+":", n.Quote(markdown.Shorten(c.text, maxRequest)))
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

// answers says who decided at the gates, and in what way that came.
func (v *view) answers(n markdown.Neutralizer) (lines []string) {
	for _, d := range v.decisions {
		d.Actor = n.Inline(markdown.Shorten(d.Actor, 80))
		text := d.String()
		lines = append(lines, strings.ToUpper(text[:1])+text[1:])
	}
	return lines
}

// headline says in a few words what is going on, the most pressing first.
func (v *view) headline(n markdown.Neutralizer) string {
	switch v.outcome {
	case orchestrator.OutcomeDone:
		return "done in " + lasted(v.seconds)
	case orchestrator.OutcomeNeedsHuman:
		return "needs a human: " + n.Inline(markdown.Shorten(markdown.FirstLine(v.reason), 200))
	case orchestrator.OutcomeFailed:
		return "failed after " + lasted(v.seconds)
	case orchestrator.OutcomeCanceled:
		return "stopped after " + lasted(v.seconds)
	}
	switch {
	case v.gate != "":
		return "waits for approval of the " + gateNoun(v.gate)
	case v.paused:
		return "paused in " + v.current
	case len(v.asks.Open()) > 0:
		return v.current + ", waits for an answer to " + v.openIDs()
	case v.current == "":
		return "starting"
	}
	row := v.row()
	if row != nil && row.phase == v.current && row.kind == "review" && v.cap >= 0 {
		return fmt.Sprintf("%s (round %d, at most %d)", v.current, row.round, v.counted.Of(v.cap))
	}
	return v.current
}

func gateNoun(gate string) string {
	if gate == orchestrator.GatePlan {
		return "plan"
	}
	return "result"
}

func (v *view) openIDs() string {
	var ids []string
	for _, q := range v.asks.Open() {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, ", ")
}

func (v *view) table(rows int) string {
	out := []string{"| Phase | State | Began (UTC) |", "|---|---|---|"}
	visits := v.visits
	if hidden := len(visits) - rows; hidden > 0 {
		out = append(out, fmt.Sprintf("| %d earlier | done | |", hidden))
		visits = visits[hidden:]
	}
	if len(visits) == 0 {
		out = append(out, "| **starting** | | "+clock(v.started, v.started)+" |")
	}
	for i := range visits {
		row := &visits[i]
		name := row.phase
		if v.live() && i == len(visits)-1 && !row.left {
			name = "**" + name + "**"
		}
		out = append(out, fmt.Sprintf("| %s | %s | %s |", name, v.rowState(row), clock(row.began, v.started)))
	}
	return strings.Join(out, "\n")
}

// rowState is the State cell of a phase.
func (v *view) rowState(row *visit) string {
	plans := row.plans
	if !row.left {
		plans = v.plansOf(row)
	}
	switch {
	case row.left && plans != "":
		return "done, " + plans
	case row.left:
		return "done"
	case v.outcome == orchestrator.OutcomeNeedsHuman:
		return "waits for a person"
	case v.outcome == orchestrator.OutcomeFailed:
		return "failed"
	case v.outcome != "":
		return "stopped"
	case v.paused:
		return "paused"
	case v.gate != "":
		return "waits for approval"
	case row.kind == "review":
		return cmp.Or(v.reviewState(), "running")
	case plans != "":
		return "running, " + plans
	case row.agents != "":
		return "running: " + codeFree(row.agents)
	}
	return "running"
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
func (v *view) reviewState() string {
	r := v.round()
	if r == nil {
		return ""
	}
	if r.decided && r.passed {
		return "passed, summary: running"
	}
	var parts []string
	for _, role := range r.roles {
		state := "running"
		if given, ok := r.verdicts[role]; ok {
			state = given.verdict
		}
		parts = append(parts, strings.TrimPrefix(codeFree(role), "reviewer_")+": "+state)
	}
	return strings.Join(parts, ", ")
}

// details are the lines below the table of a session at work.
func (v *view) details(n markdown.Neutralizer) string {
	out := []string{fmt.Sprintf("Branch %s, PR: %s, workflow %s", markdown.CodeSpan(v.branch), v.pr(), markdown.CodeSpan(v.work))}
	if line := v.askedLine(); line != "" {
		out = append(out, line)
	}
	out = append(out, v.answers(n)...)
	out = append(out, ghsync.StrayLines(v.strays, n)...)
	if v.edited != nil && v.live() {
		out = append(out, v.editedLine())
	}
	lines := v.notes
	if line := (ghsync.BaseNote{Submodules: v.asked.submodules, LFS: v.asked.lfs}).String(); line != "" {
		lines = append(lines[:len(lines):len(lines)], line)
	}
	for _, line := range lines {
		if line = n.Inline(markdown.Shorten(line, 500)); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	var place []string
	if v.sandbox != "" {
		place = append(place, "Sandbox "+codeFree(v.sandbox))
	}
	if v.config != "" {
		place = append(place, "config: "+markdown.CodeSpan(shortCommit(v.config)))
	}
	if v.host != "" {
		place = append(place, "host "+markdown.CodeSpan(v.host))
	}
	place = append(place, "attach: "+markdown.CodeSpan("agentmux attach "+v.name()))
	return strings.Join(append(out, strings.Join(place, ", ")), "\n")
}

// name is how people call the session on a command line.
func (v *view) name() string {
	if v.repo != "" && v.issue > 0 {
		return fmt.Sprintf("%s#%d", v.repo, v.issue)
	}
	return v.session
}

// shortCommit shortens what is a commit and leaves words as they are.
func shortCommit(s string) string {
	if len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" {
		return s[:7]
	}
	return s
}

func (v *view) pr() string {
	switch {
	case v.prNumber == 0:
		return "not yet"
	case v.prDraft:
		return fmt.Sprintf("#%d (draft)", v.prNumber)
	}
	return fmt.Sprintf("#%d (ready for review)", v.prNumber)
}

func (v *view) askedLine() string {
	a := v.asked
	if !a.known {
		return ""
	}
	var parts []string
	if a.login != "" {
		who := "Asked by " + markdown.CodeSpan(a.login)
		if a.level != "" && a.level != "none" {
			who += " (" + a.level + ")"
		}
		parts = append(parts, who)
	}
	parts = append(parts, "text of "+clock(a.at, v.started), "sha256 `"+markdown.Abbreviate(a.digest, 12)+"`")
	if removed := removedWords(a.report); removed != "" {
		parts = append(parts, "removed: "+removed)
	}
	if a.report.CutBytes > 0 {
		parts = append(parts, fmt.Sprintf("cut: %d bytes", a.report.CutBytes))
	}
	line := strings.Join(parts, ", ")
	if a.report.Suspicious {
		line += "\n**Many invisible characters were removed from the issue's text.** Look at its source before you trust it."
	}
	return line
}

// editedLine says which text counts, and how to get the new one worked on.
func (v *view) editedLine() string {
	next := "`/agentmux retry` takes the new text"
	if v.deaf {
		next = "`agentmux issue " + v.name() + " --new` takes the new text"
	}
	return fmt.Sprintf("Text edited, seen at %s; this session works from `%s`; %s", clock(*v.edited, v.started), markdown.Abbreviate(v.asked.digest, 12), next)
}

// removedWords names what cleaning took out, in a fixed order.
func removedWords(r ghsync.Report) string {
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
		switch n := r.Removed[class.key]; {
		case n == 1:
			parts = append(parts, "1 "+class.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, class.many))
		}
	}
	return strings.Join(parts, ", ")
}
