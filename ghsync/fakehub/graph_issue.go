package fakehub

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

// graphSubject is what an Issue and a PullRequest both have.
type graphSubject struct {
	ID                string           `graphql:"id"`
	DatabaseID        int64            `graphql:"databaseId"`
	FullDatabaseID    string           `graphql:"fullDatabaseId"`
	Number            int              `graphql:"number"`
	Title             string           `graphql:"title"`
	Body              string           `graphql:"body"`
	State             string           `graphql:"state"`
	Locked            bool             `graphql:"locked"`
	ActiveLockReason  any              `graphql:"activeLockReason"`
	URL               string           `graphql:"url"`
	CreatedAt         any              `graphql:"createdAt"`
	UpdatedAt         any              `graphql:"updatedAt"`
	ClosedAt          any              `graphql:"closedAt"`
	LastEditedAt      any              `graphql:"lastEditedAt"`
	Editor            graphql.Object   `graphql:"editor"`
	Author            graphql.Object   `graphql:"author"`
	AuthorAssociation string           `graphql:"authorAssociation"`
	Repository        graphql.Resolver `graphql:"repository"`
	Labels            graphql.Resolver `graphql:"labels"`
	Comments          graphql.Resolver `graphql:"comments"`
	TimelineItems     graphql.Resolver `graphql:"timelineItems"`
	UserContentEdits  graphql.Resolver `graphql:"userContentEdits"`
}

type graphIssue struct {
	graphSubject
	StateReason any `graphql:"stateReason"`
}

func (graphIssue) TypeName() string { return "Issue" }

// issue is an Issue or a PullRequest.
func (g graph) issue(i *issue) graphql.Object {
	subject := graphSubject{
		ID: nodeID(i.kind(), i.id), DatabaseID: i.id, FullDatabaseID: strconv.FormatInt(i.id, 10), Number: i.number,
		Title: i.title, Body: i.body, State: strings.ToUpper(i.state), Locked: i.locked,
		URL: i.htmlURL(g.URL()), CreatedAt: stamp(i.created), UpdatedAt: stamp(i.updated), ClosedAt: stamp(i.closed),
		LastEditedAt: lastEdit(i.edits), Editor: g.editor(i.edits), Author: g.actor(i.author),
		AuthorAssociation: g.association(i.author, i.repo),
		Repository:        func(graphql.Args) any { return g.repo(i.repo) },
		Labels:            g.labels(i),
		Comments:          g.comments(i),
		TimelineItems:     g.timeline(i),
		UserContentEdits:  g.edits(i.edits, edit{editor: i.author, at: i.created}),
	}
	if i.pull == nil {
		return graphIssue{graphSubject: subject, StateReason: orNull(strings.ToUpper(i.reason))}
	}
	return g.pull(i, subject)
}

func lastEdit(edits []edit) any {
	if len(edits) == 0 {
		return nil
	}
	return stamp(edits[len(edits)-1].at)
}

func (g graph) editor(edits []edit) graphql.Object {
	if len(edits) == 0 {
		return nil
	}
	return g.actor(edits[len(edits)-1].editor)
}

type graphLabel struct {
	ID          string `graphql:"id"`
	Name        string `graphql:"name"`
	Color       string `graphql:"color"`
	Description any    `graphql:"description"`
}

func (graphLabel) TypeName() string { return "Label" }

func newGraphLabel(l *label) graphLabel {
	return graphLabel{ID: nodeID("LA", l.id), Name: l.name, Color: l.color, Description: orNull(l.description)}
}

func (g graph) labels(i *issue) graphql.Resolver {
	return graphql.Connect(graphql.List[*label]{Type: "Label", Items: i.labels, Show: func(l *label) graphql.Object { return newGraphLabel(l) }})
}

type graphComment struct {
	ID                string           `graphql:"id"`
	DatabaseID        int64            `graphql:"databaseId"`
	FullDatabaseID    string           `graphql:"fullDatabaseId"`
	Body              string           `graphql:"body"`
	URL               string           `graphql:"url"`
	Author            graphql.Object   `graphql:"author"`
	AuthorAssociation string           `graphql:"authorAssociation"`
	CreatedAt         any              `graphql:"createdAt"`
	UpdatedAt         any              `graphql:"updatedAt"`
	LastEditedAt      any              `graphql:"lastEditedAt"`
	Editor            graphql.Object   `graphql:"editor"`
	IsMinimized       bool             `graphql:"isMinimized"`
	MinimizedReason   any              `graphql:"minimizedReason"`
	Issue             graphql.Resolver `graphql:"issue"`
	Repository        graphql.Resolver `graphql:"repository"`
	UserContentEdits  graphql.Resolver `graphql:"userContentEdits"`
}

func (graphComment) TypeName() string { return "IssueComment" }

func (g graph) comments(i *issue) graphql.Resolver {
	var list []*comment
	for _, m := range i.comments {
		if g.lists(m.created) {
			list = append(list, m)
		}
	}
	return graphql.Connect(graphql.List[*comment]{
		Type: "IssueComment", Items: list, ID: func(n int) int64 { return list[n].id },
		Show: func(m *comment) graphql.Object { return g.comment(m) },
	})
}

func (g graph) comment(m *comment) graphComment {
	reason := any(nil)
	if m.minimized {
		reason = "off-topic"
	}
	return graphComment{
		ID: nodeID("IC", m.id), DatabaseID: m.id, FullDatabaseID: strconv.FormatInt(m.id, 10), Body: m.body,
		URL: m.htmlURL(g.URL()), Author: g.actor(m.author), AuthorAssociation: g.association(m.author, m.issue.repo),
		CreatedAt: stamp(m.created), UpdatedAt: stamp(m.updated), LastEditedAt: lastEdit(m.edits), Editor: g.editor(m.edits),
		IsMinimized: m.minimized, MinimizedReason: reason,
		Issue:            func(graphql.Args) any { return g.issueOf(m) },
		Repository:       func(graphql.Args) any { return g.repo(m.issue.repo) },
		UserContentEdits: g.edits(m.edits, edit{editor: m.author, at: m.created}),
	}
}

// issueOf is the issue of a comment. GitHub shows that of a pull request as an Issue, too.
func (g graph) issueOf(m *comment) graphql.Object {
	switch subject := g.issue(m.issue).(type) {
	case graphPull:
		return graphIssue{graphSubject: subject.graphSubject}
	default:
		return subject
	}
}

type graphEdit struct {
	ID        string         `graphql:"id"`
	CreatedAt any            `graphql:"createdAt"`
	EditedAt  any            `graphql:"editedAt"`
	UpdatedAt any            `graphql:"updatedAt"`
	DeletedAt any            `graphql:"deletedAt"`
	Diff      any            `graphql:"diff"`
	Editor    graphql.Object `graphql:"editor"`
}

func (graphEdit) TypeName() string { return "UserContentEdit" }

// edits lists the newest first; the oldest entry is the writing itself. A text that was never
// edited has no entries.
func (g graph) edits(edits []edit, first edit) graphql.Resolver {
	var list []edit
	if len(edits) > 0 {
		list = append([]edit{first}, edits...)
		slices.Reverse(list)
	}
	return graphql.Connect(graphql.List[edit]{Type: "UserContentEdit", Items: list, Show: func(e edit) graphql.Object {
		return graphEdit{
			ID: nodeID("UCE", e.at.UnixNano()), CreatedAt: stamp(e.at), EditedAt: stamp(e.at), UpdatedAt: stamp(e.at),
			Diff: orNull(e.text), Editor: g.actor(e.editor),
		}
	}})
}
