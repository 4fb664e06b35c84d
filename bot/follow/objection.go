package follow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/internal/sanitize"
	"github.com/agentmux/agentmux/orchestrator"
)

// Objection is a review that requests changes, or a failed check; one of the two is set.
type Objection struct {
	Source string // which: review/<id>, check/<id>/<head>, status/<context>/<head>
	// At is when it was made: the server's time, or when it was first seen here if that is earlier.
	At     time.Time
	Review *ghsync.Review
	Check  *feedback.Check
}

// Facts are what is known of an open pull request. Nothing in them is read again.
type Facts struct {
	Now   time.Time
	Rules config.Followup
	Bot   config.Bot // who may ask
	Own   ghsync.Account
	State *orchestrator.State // of the session
	Past  Past
	// Pushed is the commit that the session pushed last, and PushedAt when that was first known here.
	Pushed   string
	PushedAt time.Time

	Head    feedback.Head
	Reviews []ghsync.Review
	Answers map[string]gate.Answer // by login: what the authors of objections may do
	Seen    map[string]time.Time   // by source: when an objection was first seen
}

// Objections returns what is said against the head and has not led to a round yet, oldest first,
// whoever said it.
func (f Facts) Objections() []Objection {
	var all []Objection
	for _, r := range f.standing() {
		all = append(all, f.objection(Objection{Source: ReviewSource(r.ID), At: r.SubmittedAt, Review: &r}))
	}
	for _, c := range f.Head.Counts() {
		if c.Done && c.Failed {
			all = append(all, f.objection(Objection{Source: c.Source(f.Head.SHA), At: c.At, Check: &c}))
		}
	}
	all = slices.DeleteFunc(all, func(o Objection) bool { return f.Past.Sources[o.Source] })
	slices.SortStableFunc(all, func(a, b Objection) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Source, b.Source))
	})
	return all
}

// ReviewSource names a review, as the ear names a command in its body.
func ReviewSource(id int64) string { return "review/" + strconv.FormatInt(id, 10) }

// objection sets the time. A clock that is behind the server's would have it made in the future.
func (f Facts) objection(o Objection) Objection {
	if seen, ok := f.Seen[o.Source]; ok && (o.At.IsZero() || seen.Before(o.At)) {
		o.At = seen
	}
	return o
}

// standing are the reviews by people that request changes of the head and were not taken back: an
// approval by the same person takes back what was requested before, and a dismissed review has
// another state. One that begins with a command is that command, and the ear's.
func (f Facts) standing() []ghsync.Review {
	var all []ghsync.Review
	for _, r := range f.Reviews {
		switch r.State {
		case "APPROVED":
			all = slices.DeleteFunc(all, func(of ghsync.Review) bool { return of.Author.ID == r.Author.ID })
		case "CHANGES_REQUESTED":
			ours := r.Author.ID == f.Own.ID
			if r.Commit == f.Head.SHA && r.Author.IsPerson() && !ours && !ghsync.IsCommand(sanitize.Raw(r.Body)) {
				all = append(all, r)
			}
		}
	}
	return all
}

// Authors are the accounts whose permission the decision needs, each once.
func Authors(all []Objection) []ghsync.Account {
	var who []ghsync.Account
	for _, o := range all {
		if o.Review != nil && !slices.Contains(who, o.Review.Author) {
			who = append(who, o.Review.Author)
		}
	}
	return who
}

// admitted returns the objections of those who may ask for changes. unknown is a permission that
// was not answered, the reason to wait.
func (f Facts) admitted(all []Objection) (admitted []Objection, unknown string) {
	for _, o := range all {
		if o.Review == nil {
			admitted = append(admitted, o)
			continue
		}
		a, asked := f.Answers[o.Review.Author.Login]
		d, may := gate.MayAsk(f.Bot, o.Review.Author, a)
		switch {
		case !asked || d.What == gate.Later:
			unknown = "the permission of " + o.Review.Author.Login + " is not known"
		case may:
			admitted = append(admitted, o)
		}
	}
	return admitted, unknown
}
