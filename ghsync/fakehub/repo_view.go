package fakehub

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// IssueView is an issue as it is now.
type IssueView struct {
	Number              int
	Title, Body, Author string
	State, Reason       string
	Locked              bool
	Labels              []string // in the order they were put on
	Created, Updated    time.Time
}

// CommentView is a comment as it is now.
type CommentView struct {
	ID               int64
	Issue            int
	Author, Body     string
	Created, Updated time.Time
	Edits            int
	Reactions        []string // "login content", oldest first
}

// PullView is a pull request as it is now.
type PullView struct {
	IssueView
	Head, Base, HeadSHA string
	Draft, Merged       bool
	Requested           []string
}

// StatusView is a commit status.
type StatusView struct {
	Context, State, Description, TargetURL, Creator string
}

// Issue returns an issue or the issue side of a pull request.
func (h *handle) Issue(number int) (view IssueView) {
	h.locked(func() { view = viewIssue(h.issue(number)) })
	return view
}

func viewIssue(i *issue) IssueView {
	v := IssueView{
		Number: i.number, Title: i.title, Body: i.body, Author: i.author.login, State: i.state, Reason: i.reason,
		Locked: i.locked, Created: i.created, Updated: i.updated, Labels: i.labelNames(),
	}
	return v
}

// Comments returns the comments of an issue or pull request, the oldest first.
func (h *handle) Comments(number int) (views []CommentView) {
	h.locked(func() {
		for _, m := range h.issue(number).comments {
			v := CommentView{
				ID: m.id, Issue: number, Author: m.author.login, Body: m.body, Created: m.created, Updated: m.updated, Edits: len(m.edits),
			}
			v.Reactions = viewReactions(m.reactions)
			views = append(views, v)
		}
	})
	return views
}

func viewReactions(list []*reaction) (views []string) {
	for _, r := range list {
		views = append(views, r.user.login+" "+r.content)
	}
	return views
}

// ReviewReactions returns the reactions to the reviews of a pull request, "login content".
func (h *handle) ReviewReactions(number int) (views []string) {
	h.locked(func() {
		for _, r := range h.issue(number).pull.reviews {
			views = append(views, viewReactions(r.reactions)...)
		}
	})
	return views
}

// Pulls returns all pull requests by number, those closed too.
func (h *handle) Pulls() (views []PullView) {
	h.locked(func() {
		for _, number := range slices.Sorted(maps.Keys(h.r.issues)) {
			i := h.r.issues[number]
			if i.pull == nil {
				continue
			}
			v := PullView{
				IssueView: viewIssue(i), Head: i.pull.headBranch, Base: i.pull.base, HeadSHA: i.pull.head(),
				Draft: i.pull.draft, Merged: i.pull.merged,
			}
			for _, u := range i.pull.requested {
				v.Requested = append(v.Requested, u.login)
			}
			views = append(views, v)
		}
	})
	return views
}

// Statuses returns all statuses of a commit, the oldest first.
func (h *handle) Statuses(sha string) (views []StatusView) {
	h.locked(func() {
		for _, t := range h.r.statuses[sha] {
			views = append(views, StatusView{
				Context: t.context, State: t.state, Description: t.desc, TargetURL: t.target, Creator: t.creator.login,
			})
		}
	})
	return views
}

// Dispatches returns the workflows started by hand, the oldest first.
func (h *handle) Dispatches() (list []Dispatch) {
	h.locked(func() { list = slices.Clone(h.r.dispatches) })
	return list
}

// Labels returns the names of the repository's labels, sorted.
func (h *handle) Labels() (names []string) {
	h.locked(func() {
		for _, l := range h.r.labels {
			names = append(names, l.name)
		}
		slices.Sort(names)
	})
	return names
}

// Picture is the issues and pull requests with labels and comments as text, without
// numbers and times that differ between two servers, to compare two histories.
func (h *handle) Picture() string {
	var b strings.Builder
	h.locked(func() {
		for _, number := range slices.Sorted(maps.Keys(h.r.issues)) {
			v := viewIssue(h.r.issues[number])
			slices.Sort(v.Labels)
			fmt.Fprintf(&b, "#%d %s %q %v\n%s\n", number, v.State, v.Title, v.Labels, v.Body)
			for _, m := range h.r.issues[number].comments {
				fmt.Fprintf(&b, "-- %s\n%s\n", m.author.login, m.body)
			}
		}
	})
	return b.String()
}

// Refs returns all refs by full name, read from git.
func (h *handle) Refs() (refs map[string]string) {
	h.locked(func() {
		if err := h.r.readRefs(); err != nil {
			panic("fakehub: " + err.Error())
		}
		refs = maps.Clone(h.r.refs)
	})
	return refs
}

// File returns the content of a file at a ref or commit; ok is false when there is none.
func (h *handle) File(ref, path string) (content string, ok bool) {
	h.locked(func() {
		data, found := h.r.git.File(ref, path)
		content, ok = string(data), found
	})
	return content, ok
}
