package monitor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

const (
	minWidth  = 40
	wideWidth = 80 // from here on two columns
	gutter    = 3
	maxAsked  = 8 // lines of a question's text
	maxNamed  = 3 // lines of a reason that names agents of an agents file
)

// Render draws v as text of at most height lines of at most width columns, without
// colours; a height below 1 has no limit, a width below 40 is taken as 40. What a
// person has to decide is always at the bottom; old records are dropped first.
func Render(v View, width, height int) string {
	return draw(v, screen{width: width, height: height})
}

// screen is what a picture is drawn for.
type screen struct {
	width, height int
	palette       paint.Palette
	status        []line // the monitor's own: an open input, the fate of a command
}

func draw(v View, s screen) string {
	s.width = max(s.width, minWidth)
	head := s.fit(heading(v))
	foot := append(s.fit(decision(v, s.width)), s.fit(s.status)...)
	foot = append(foot, s.fit(keyHelp(v, s.width))...)
	room := s.height - len(head) - len(foot)
	if s.height < 1 {
		room = 1 << 20
	}
	all := append(append(head, s.body(v, room)...), foot...)
	if s.height > 0 && len(all) > s.height {
		all = all[len(all)-s.height:]
	}
	return strings.Join(all, "\n") + "\n"
}

func (s screen) fit(lines []line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.fit(s.width, s.palette))
	}
	return out
}

// body is everything between the heading and what waits for a person. If it does not fit, phases
// and subplans that are not worked on are dropped first.
func (s screen) body(v View, room int) []string {
	if room < 1 {
		return nil
	}
	if len(v.Members) > 0 {
		return s.teamBody(v, room)
	}
	plan := append(phaseLines(v), planLines(v)...)
	work := append(agentLines(v), rowLines("reviews", v.Reviews)...)
	work = append(work, rowLines("research", v.Research)...)
	if s.width >= wideWidth {
		work = append(work, recentLines(v, max(room-len(work), 0))...)
		return bounded(columns(plan, work, s.width, s.palette), room)
	}
	if len(plan)+len(work) > room {
		plan = append(phaseLines(active(v)), planLines(active(v))...)
	}
	lines := append(plan, work...)
	lines = append(lines, recentLines(v, max(room-len(lines), 0))...)
	return bounded(s.fit(lines), room)
}

// active leaves only the phase and the subplans that are worked on.
func active(v View) View {
	v.Phases = slices.Clone(v.Phases)
	v.Phases = slices.DeleteFunc(v.Phases, func(p Phase) bool { return !worked(p.Mark) })
	groups := v.Groups
	v.Groups = nil
	for _, g := range groups {
		g.Plans = slices.DeleteFunc(slices.Clone(g.Plans), func(r Row) bool { return !worked(r.Mark) })
		if len(g.Plans) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	return v
}

func worked(mark string) bool { return mark == MarkCurrent || mark == MarkFailed }

// bounded drops what does not fit, and says so.
func bounded(lines []string, room int) []string {
	if len(lines) <= room {
		return lines
	}
	kept := lines[:room-1]
	return append(kept, fmt.Sprintf("… %d more lines", len(lines)-len(kept)))
}

func heading(v View) []line {
	lines := []line{{left: []piece{{"agentmux ", paint.Faint}, {v.Headline, headInk(v)}}, right: piece{lasted(v.Elapsed), paint.Faint}}}
	field := func(name, text string) {
		if text != "" {
			lines = append(lines, line{left: []piece{{paint.Pad(name, 9), paint.Faint}, {text, paint.Plain}}})
		}
	}
	field("session", v.Session)
	field("issue", v.Title)
	branch := v.Branch
	if branch != "" && v.Base != "" {
		branch += " from " + v.Base
	}
	field("branch", branch)
	field("pull", v.PR)
	field("sandbox:", v.Sandbox)
	return lines
}

func headInk(v View) paint.Ink {
	switch {
	case v.Outcome != nil && v.Outcome.Good:
		return paint.Good
	case v.Outcome != nil:
		return paint.Bad
	case v.Gate != "", v.Question != nil, v.Paused:
		return paint.Ask
	}
	return paint.Strong
}

func section(name, right string) []line {
	return []line{{}, {left: []piece{{strings.ToUpper(name), paint.Strong}}, right: piece{right, paint.Faint}}}
}

func phaseLines(v View) []line {
	lines := section("phases", v.Workflow)
	for _, p := range v.Phases {
		right := ""
		if p.Mark != MarkPending && p.Mark != MarkSkipped {
			right = lasted(p.Spent)
		}
		text := p.ID
		if p.Note != "" {
			text += ", " + p.Note
		}
		lines = append(lines, marked(0, p.Mark, text, right))
	}
	return lines
}

func planLines(v View) []line {
	if len(v.Groups) == 0 {
		return nil
	}
	lines := section("subplans", v.Plan)
	for _, g := range v.Groups {
		lines = append(lines, plainLine(g.Name, paint.Faint))
		for _, p := range g.Plans {
			lines = append(lines, marked(1, p.Mark, p.Text, p.Right))
		}
	}
	return lines
}

func agentLines(v View) []line {
	if len(v.Agents) == 0 {
		return nil
	}
	lines := section("agents", "")
	for _, a := range v.Agents {
		mark, right := MarkCurrent, a.State
		if a.Alarm {
			mark = MarkFailed
		}
		if a.Since > 0 {
			right += " " + lasted(a.Since)
		}
		text := a.Key
		if a.Provider != "" {
			text += " (" + a.Provider + ")"
		}
		lines = append(lines, marked(0, mark, text, right))
		if a.Doing != "" {
			lines = append(lines, plainLine("  "+a.Doing, paint.Faint))
		}
	}
	return lines
}

func rowLines(name string, rows []Row) []line {
	if len(rows) == 0 {
		return nil
	}
	lines := section(name, "")
	for _, r := range rows {
		lines = append(lines, marked(0, r.Mark, r.Text, r.Right))
	}
	return lines
}

// recentLines are the newest records that fit into room, the newest last.
func recentLines(v View, room int) []line {
	lines := section("recent", "")
	if room <= len(lines) || len(v.Recent) == 0 {
		return nil
	}
	for _, r := range v.Recent[max(0, len(v.Recent)-min(room-len(lines), shownRecent)):] {
		lines = append(lines, line{left: []piece{{r.At.Format("15:04:05") + " ", paint.Faint}, {r.Text, paint.Plain}}})
	}
	return lines
}

// shownRecent bounds the records on one screen.
const shownRecent = 20
