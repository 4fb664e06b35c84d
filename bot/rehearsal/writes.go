package rehearsal

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
)

// Write is a write of a session, in the clone or on the server.
type Write struct {
	Request string // method and path; "PUSH ref" and "BRANCH name" for git
	Text    string // what it is, for a person
	Again   bool   // repeated as the session goes on
}

// Writes are what a session would write, in order.
type Writes struct{ list []Write }

// List returns them.
func (w *Writes) List() []Write { return w.list }

// Hold takes a write that was not sent.
func (w *Writes) Hold(write ghsync.Write) {
	path := write.Path
	if at, _, found := strings.Cut(path, "/statuses/"); found { // of a commit that is not made yet
		path = at + "/statuses/{commit}"
	}
	w.add(Write{Request: write.Method + " " + path, Text: describe(write)})
}

// add appends a write, or notes that one is repeated: the status and its kin.
func (w *Writes) add(p Write) {
	for i := range w.list {
		if w.list[i].Request == p.Request && w.list[i].Text == p.Text {
			w.list[i].Again = true
			return
		}
	}
	w.list = append(w.list, p)
}

// describe says what a write is.
func describe(w ghsync.Write) string {
	marker, _ := ghsync.ParseMarker(w.Text("body"))
	switch path := w.Path; {
	case w.Method == "MUTATION":
		return "the draft becomes ready for review, if every review passed for exactly that tree"
	case w.Method == http.MethodPatch && strings.Contains(path, "/issues/comments/"):
		return "the status comment"
	case strings.HasSuffix(path, "/comments"):
		return "comment: " + marker.Kind
	case w.Method == http.MethodDelete && strings.Contains(path, "/labels/"):
		name, _ := url.PathUnescape(path[strings.LastIndex(path, "/")+1:])
		return "label " + name + " comes off"
	case strings.HasSuffix(path, "/labels"):
		names, _ := w.Body["labels"].([]any)
		return fmt.Sprintf("label %s", joinAny(names))
	case strings.HasSuffix(path, "/pulls"):
		return fmt.Sprintf("draft pull request against %s: %s", w.Text("base"), w.Text("title"))
	case strings.HasSuffix(path, "/requested_reviewers"):
		names, _ := w.Body["reviewers"].([]any)
		return "review asked of " + joinAny(names)
	case strings.Contains(path, "/statuses/"):
		return "commit status " + w.Text("context") + ": " + w.Text("state")
	}
	return ""
}

func joinAny(list []any) string {
	var names []string
	for _, v := range list {
		names = append(names, fmt.Sprint(v))
	}
	return strings.Join(names, ", ")
}
