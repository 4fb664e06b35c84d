package rehearsal

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/ghsync"
)

// Write is a write of a session, in the clone or on the server.
type Write struct {
	Request string // method and path; "PUSH ref" and "BRANCH name" for git
	Text    string // what it is, for a person
	Again   bool   // repeated later in the session
}

// Writes are what a session would write, in order. The zero value is ready.
type Writes struct {
	list []Write
	made int // what was given a number or an id
}

// List returns them.
func (w *Writes) List() []Write { return w.list }

// add appends a write, or notes that one is repeated: the status and its kin.
func (w *Writes) add(p Write) {
	same := func(old Write) bool { return old.Request == p.Request && old.Text == p.Text }
	if i := slices.IndexFunc(w.list, same); i >= 0 {
		w.list[i].Again = true
		return
	}
	w.list = append(w.list, p)
}

// request notes a request to the interface of a server.
func (w *Writes) request(method string, repo ghsync.Repo, path, text string) {
	w.add(Write{Request: fmt.Sprintf("%s repos/%s/%s", method, repo, path), Text: text})
}

// Numbers of what was never made: far above those of a server.
const (
	madeNumber = 1 << 40
	madeID     = 1 << 50
)

// number returns the next number of an issue or a pull request.
func (w *Writes) number() int {
	w.made++
	return madeNumber + w.made
}

// id returns the next id of a comment.
func (w *Writes) id() int64 {
	w.made++
	return madeID + int64(w.made)
}

// numbered is a number in a path; a word in place of one that the server has not given yet.
func numbered(n int) string {
	if n >= madeNumber {
		return "{number}"
	}
	return fmt.Sprint(n)
}

// identified is an id in a path, as numbered.
func identified(id int64) string {
	if id >= madeID {
		return "{id}"
	}
	return fmt.Sprint(id)
}
