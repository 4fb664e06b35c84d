package fakehub

import (
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

// eventTypes maps our kinds to the types of timeline items.
var eventTypes = map[string]string{
	"labeled": "LabeledEvent", "unlabeled": "UnlabeledEvent", "renamed": "RenamedTitleEvent", "closed": "ClosedEvent",
	"reopened": "ReopenedEvent", "locked": "LockedEvent", "unlocked": "UnlockedEvent", "merged": "MergedEvent",
	"review_requested": "ReviewRequestedEvent", "ready_for_review": "ReadyForReviewEvent",
}

// graphEvent is an entry of a timeline that says no more than who and when.
type graphEvent struct {
	typ       string
	ID        string         `graphql:"id"`
	CreatedAt any            `graphql:"createdAt"`
	Actor     graphql.Object `graphql:"actor"`
}

func (e graphEvent) TypeName() string { return e.typ }

type graphLabelEvent struct {
	graphEvent
	Label graphLabel `graphql:"label"`
}

type graphRenameEvent struct {
	graphEvent
	PreviousTitle string `graphql:"previousTitle"`
	CurrentTitle  string `graphql:"currentTitle"`
}

// enumOf is the name of a type in itemTypes: LabeledEvent is LABELED_EVENT.
func enumOf(typ string) string {
	var b strings.Builder
	for n, letter := range typ {
		if n > 0 && letter >= 'A' && letter <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(letter)
	}
	return strings.ToUpper(b.String())
}

func (m moment) typ() string {
	if m.event == nil {
		return "IssueComment"
	}
	return eventTypes[m.event.kind]
}

func (g graph) timeline(i *issue) graphql.Resolver {
	return func(a graphql.Args) any {
		wanted := a.List("itemTypes")
		since := parseTime(a.Text("since"))
		var list []moment
		for _, m := range i.timeline() {
			asked := len(wanted) == 0 || slices.Contains(wanted, enumOf(m.typ()))
			if asked && !m.at.Truncate(time.Second).Before(since) && g.lists(m.at) {
				list = append(list, m)
			}
		}
		typ := "IssueTimelineItems"
		if i.pull != nil {
			typ = "PullRequestTimelineItems"
		}
		return graphql.Connect(graphql.List[moment]{Type: typ, Items: list, ID: func(n int) int64 { return list[n].id }, Show: g.moment})(a)
	}
}

func (g graph) moment(m moment) graphql.Object {
	if m.event == nil {
		return g.comment(m.text)
	}
	e := m.event
	out := graphEvent{typ: m.typ(), ID: nodeID("EV", e.id), CreatedAt: stamp(e.at), Actor: g.actor(e.actor)}
	switch e.kind {
	case "labeled", "unlabeled":
		return graphLabelEvent{graphEvent: out, Label: newGraphLabel(&e.label)}
	case "renamed":
		return graphRenameEvent{graphEvent: out, PreviousTitle: e.from, CurrentTitle: e.to}
	}
	return out
}
