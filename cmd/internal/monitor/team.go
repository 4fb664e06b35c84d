package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

const (
	roleWidth = 60 // from here on the roles of members have a column
	minRest   = 8  // columns; less is not worth a text that is cut

	// Where not all members have room, they leave some to the newest records, unless there is little.
	keptRecords    = 4
	roomForRecords = 12
)

// teamBody is the body of a run of an agents file: the graph first, which leaves room for the
// newest records.
func (s screen) teamBody(v View, room int) []string {
	others := append(agentLines(v), rowLines("reviews", v.Reviews)...)
	others = append(others, rowLines("research", v.Research)...)
	spare := len(others)
	if room >= roomForRecords && len(section("", ""))+len(v.Members)+spare > room {
		spare += len(section("", "")) + min(room/4, keptRecords, len(v.Recent))
	}
	lines := append(s.members(v.Members, max(room-spare, room/2)), others...)
	lines = append(lines, recentLines(v, max(room-len(lines), 0))...)
	return bounded(s.fit(lines), room)
}

// members draws the agents of an agents file in at most room lines, those first that a person
// may have to do something about.
func (s screen) members(all []Member, room int) []line {
	lines := section("agents", tally(all))
	room = max(room-len(lines), 1)
	list, under := all, make([]int, len(all))
	for i := range all {
		under[i] = all[i].Under
	}
	if len(all) > room {
		list, under = pressing(all, under, room-1)
	}
	hidden := len(all) - len(list)
	tall := hidden == 0 && len(list)+len(slices.DeleteFunc(slices.Clone(list), func(m Member) bool { return m.Doing == "" })) <= room
	t := newTeamTable(list, under, s.width)
	for i, m := range list {
		alone := len(m.After) == 0 || len(m.After) == 1 && under[i] >= 0 && list[under[i]].Name == m.After[0]
		lines = append(lines, t.row(m, i, alone))
		if tall && m.Doing != "" {
			lines = append(lines, plainLine(strings.Repeat(" ", t.doing(i))+m.Doing, paint.Faint))
		}
	}
	if hidden > 0 {
		count := counted(all)
		for kind, n := range counted(list) {
			count[kind] -= n
		}
		lines = append(lines, plainLine(fmt.Sprintf("… %d more: %s", hidden, strings.Join(said(count), ", ")), paint.Faint))
	}
	return lines
}

// pressing returns the n most pressing members in their order, and under which of them each is.
func pressing(all []Member, under []int, n int) (list []Member, of []int) {
	indices := make([]int, len(all))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(all[a].Kind, all[b].Kind) })
	indices = indices[:max(n, 0)]
	slices.Sort(indices)
	for _, i := range indices {
		list = append(list, all[i])
	}
	return list, kept(under, indices)
}

// teamTable is how wide the columns of members are.
type teamTable struct {
	width                    int
	branches                 []string // in front of the names
	name, role, state, spent int
}

func newTeamTable(list []Member, under []int, width int) teamTable {
	t := teamTable{width: width, branches: branches(under)}
	for i, m := range list {
		t.name = max(t.name, paint.Width(t.branches[i]+m.Name))
		t.state = max(t.state, paint.Width(m.State))
		t.spent = max(t.spent, paint.Width(spent(m)))
		t.role = max(t.role, paint.Width(m.Role))
	}
	t.name = min(t.name, width/3)
	if width < roleWidth {
		return t
	}
	rest := width - len("> ") - t.name - 2 - t.role - 2
	if t.spent > 0 {
		rest -= 1 + t.spent
	}
	t.state = min(t.state, max(rest*3/5, rest-24))
	return t
}

func spent(m Member) string {
	if m.Spent < 1 {
		return ""
	}
	return lasted(m.Spent)
}

// doing is where under a name the next line begins.
func (t teamTable) doing(i int) int { return len("> ") + paint.Width(t.branches[i]) }

// row is a member in one line. alone: the lines of the graph show all that it depends on.
func (t teamTable) row(m Member, i int, alone bool) line {
	mark := memberMarks[m.Kind]
	name := t.branches[i] + m.Name
	head := []piece{{mark, memberInks[m.Kind]}, {" ", paint.Plain}}
	if t.width < roleWidth {
		right := strings.TrimSpace(m.State + " " + spent(m))
		room := t.width - len("> ") - min(paint.Width(name), t.width/2) - 1
		return line{left: append(head, piece{name, textInk(mark)}), right: piece{paint.Clip(right, room), memberInks[m.Kind]}}
	}
	row := append(head,
		piece{column(name, t.name) + "  ", textInk(mark)},
		piece{column(m.Role, t.role) + "  ", paint.Faint},
		piece{column(m.State, t.state), memberInks[m.Kind]})
	used := len("> ") + t.name + 2 + t.role + 2 + t.state
	if t.spent > 0 {
		row = append(row, piece{" " + strings.Repeat(" ", t.spent-paint.Width(spent(m))) + spent(m), paint.Faint})
		used += 1 + t.spent
	}
	return line{left: append(row, piece{rest(m, alone, t.width-used), paint.Faint})}
}

func column(text string, width int) string { return paint.Pad(paint.Clip(text, width), width) }

// rest is what else there is to say of a member, as far as there is room. A branch is shown whole or not.
func rest(m Member, alone bool, room int) string {
	out := ""
	add := func(text string, least int) {
		left := room - len("  ") - paint.Width(out)
		if text != "" && left >= min(paint.Width(text), least) {
			out += "  " + paint.Clip(text, left)
		}
	}
	add(m.Pull, room)
	if !alone {
		add("after "+strings.Join(m.After, ", "), minRest)
	}
	add(m.Branch, room)
	return out
}

// memberMarks are the marks of the kinds of members.
var memberMarks = map[MemberKind]string{
	MemberAsks: MarkAsks, MemberFailed: MarkFailed, MemberWorks: MarkCurrent, MemberInterrupted: MarkSkipped,
	MemberReady: MarkPending, MemberWaits: MarkPending, MemberBlocked: MarkSkipped, MemberDone: MarkDone,
}

var memberInks = map[MemberKind]paint.Ink{
	MemberAsks: paint.Ask, MemberFailed: paint.Bad, MemberWorks: paint.Busy, MemberInterrupted: paint.Ask,
	MemberReady: paint.Plain, MemberWaits: paint.Faint, MemberBlocked: paint.Faint, MemberDone: paint.Good,
}
