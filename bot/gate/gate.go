// Package gate decides whether what somebody asked for becomes a session: the label of an issue,
// a command in a comment, or a person at a terminal. It is used by the bot, by jobs and by
// agentmux issue, so that the same rules hold whichever of them meets a request.
//
// Judge goes through a table of rows. Each row is a function over what is known, in the order
// of the table, and the first that matches decides. Row numbers are those of the documents, of
// the metrics and of the tests. A request that no rule refuses is claimed, and starts or waits.
// A second, short table judges again when a waiting request gets its slot: what the base commit
// holds, and what this machine can do.
//
// The package is pure: it has no clock, no file and no connection. It promises that what is not
// known is never taken for allowed. Where GitHub did not answer, the decision is Later, and the
// zero Decision starts nothing. Most rows need one reading of the issue alone. What costs a
// request of its own is asked for only by the row that depends on it (Need), so that a label set
// by a bot, or on a closed issue, costs nothing.
//
// The caller carries a decision out: it removes the label, writes what Refusal returns, claims.
// It keeps what was decided; the gate reads that as History.
package gate

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
)

// Facts is what a request is judged by.
type Facts struct {
	// Repo is the repository by the name that the configuration or a person has for it, and
	// RepoID its id, 0 if that is not known. Record may have another name.
	Repo   ghsync.Repo
	RepoID int64
	Issue  int
	// Record is the reading that is judged and that becomes the snapshot, or RecordErr says
	// why it could not be read.
	Record    ghsync.Record
	RecordErr error
	// Ask is what asked for the session; nil is the request label.
	Ask *Ask
	// Own is the account of the program.
	Own   ghsync.Account
	Rules Rules
	Claim *Claim // a live claim of the issue, if there is one
	// History is what was decided and started before; nil is nothing.
	History History
	Load    Load
	// Tries are the earlier ones of the same request.
	Tries Tries
	// Answers are the permissions that were asked for, by login. See Need.
	Answers map[string]Answer
}

// Rules are the settings of the one who runs the program.
type Rules struct {
	Bot  config.Bot // with the repositories and organisations of the command line
	Gate config.Gate
	// Named is the workflow of the command line, which is stronger than labels. It is not
	// looked at here.
	Named string
	// Workflows are the names of those there are. Nil if the base commit was not read yet: an
	// unknown name is found when the request gets its slot.
	Workflows []string
	// Unsandboxed tells that agents run at the level none.
	Unsandboxed bool
}

// Ask is something else than a label that asked for a session.
type Ask struct {
	Trigger Trigger
	By      ghsync.Account
	At      time.Time
	// Level is what a person at the terminal may do. Other people's is asked for.
	Level ghsync.Level
}

// Claim is a live claim of the issue.
type Claim struct {
	Host string
	// Unproven says that the host may be gone, which is known within minutes.
	Unproven bool
	// Served are the requests whose labels the host takes off itself, once the state label is on.
	Served []Trigger
	// Ending says that this host has told how its work ended, and still has the claim: who asks by then asks for something new.
	Ending bool
	// Unread says that the ticket of this host cannot be read, so that no label is known to be that of another request.
	Unread bool
	// Serves is the one that another host has claimed the issue for, as [Trigger.String].
	Serves string
}

// Load is what runs already.
type Load struct {
	Running  int  // sessions of the repository
	FreeSlot bool // another session can run
	Paused   bool // the file PAUSED is in the state directory
	// OpenPulls is how many open pull requests of the program the repository has. Nil if
	// that was not asked; see Need.
	OpenPulls *Count
}

// Count is a number, or why it is not known.
type Count struct {
	N   int
	Err error
}

// Answer is what the server says an account may do, or why it is not known.
type Answer struct {
	Permission ghsync.Permission
	Err        error
}

// Tries counts how often in a row a request was judged Later by the same row.
type Tries struct {
	Row Row
	N   int
}

// After returns the tries after another decision.
func (t Tries) After(d Decision) Tries {
	if d.What != Later {
		return Tries{}
	}
	return Tries{Row: d.Row, N: t.of(d.Row) + 1}
}

// of counts the tries of a row.
func (t Tries) of(r Row) int {
	if t.Row != r {
		return 0
	}
	return t.N
}

// Texts are SHA-256 of the raw title and body of an issue, in hex.
type Texts struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// TextsOf hashes the texts of an issue.
func TextsOf(i ghsync.Issue) Texts {
	return Texts{Title: ghsync.HashOf(string(i.Title)), Body: ghsync.HashOf(string(i.Body))}
}

// History is what is remembered of a repository. Times are counted back from now.
type History interface {
	// Decided reports whether a trigger of the issue was decided.
	Decided(issue int, t Trigger) bool
	// LabelStarts counts the sessions of the issue that a label started.
	LabelStarts(issue int, within time.Duration) int
	// StartsBy counts the sessions that an account started, by label or comment.
	StartsBy(actor int64, within time.Duration) int
	// FirstSeen returns the texts of the issue when the trigger was first seen.
	FirstSeen(issue int, t Trigger) (Texts, bool)
}

// Judge decides about a request. With a Need it decides nothing: the caller asks the server, puts
// the answer into the facts and calls Judge again. Decide does that.
func Judge(f Facts) (Decision, Need) {
	v := newView(f)
	for _, r := range table {
		if !r.judges(v) {
			continue
		}
		d, matches := r.match(v)
		if v.need != (Need{}) {
			return Decision{}, v.need
		}
		if matches {
			if d.Row == 0 {
				d.Row = r.row
			}
			d.Asked, d.Warnings = v.asked, v.warnings
			return d, Need{}
		}
	}
	panic("gate: the last row matches everything")
}

// Server answers what a decision depends on.
type Server interface {
	// CurrentPermission reads what an account may do, without a memory.
	CurrentPermission(ctx context.Context, repo ghsync.Repo, login string) (ghsync.Permission, error)
	// OpenPulls counts the open pull requests of the program.
	OpenPulls(ctx context.Context, repo ghsync.Repo) (int, error)
}

// Decide judges f and asks the server for what the decision needs.
func Decide(ctx context.Context, f Facts, s Server) Decision {
	answers := map[string]Answer{}
	for login, a := range f.Answers {
		answers[key(login)] = a
	}
	f.Answers = answers
	for {
		d, need := Judge(f)
		switch {
		case need.Permission != "":
			p, err := s.CurrentPermission(ctx, f.Record.Repository.Repo, need.Permission)
			answers[key(need.Permission)] = Answer{Permission: p, Err: err}
		case need.OpenPulls:
			n, err := s.OpenPulls(ctx, f.Record.Repository.Repo)
			f.Load.OpenPulls = &Count{N: n, Err: err}
		default:
			return d
		}
	}
}

// key is a login as GitHub compares it.
func key(login string) string { return strings.ToLower(login) }

// A view is the facts with what the rows derive from them.
type view struct {
	Facts
	labelled bool           // the request label is on
	request  ghsync.Request // what the labels ask for
	asked    Asked
	warnings []string
	need     Need // a row could not decide without it
}

func newView(f Facts) *view {
	if f.History == nil {
		f.History = nothing{}
	}
	v := &view{Facts: f}
	v.request, v.labelled = f.Record.Request(f.Rules.Bot.Label)
	switch {
	case f.Ask != nil:
		v.asked = Asked{Trigger: f.Ask.Trigger, By: ghsync.Permission{Account: f.Ask.By, Level: f.Ask.Level}, CutOff: f.Ask.At}
	case v.labelled:
		newest := v.newest()
		v.asked = Asked{Trigger: LabelTrigger(newest), By: ghsync.Permission{Account: newest.Actor}, CutOff: newest.At}
		for _, e := range v.request.Events {
			if t := LabelTrigger(e); t != v.asked.Trigger {
				v.asked.With = append(v.asked.With, t)
			}
		}
	}
	return v
}

// newest returns the event that set the request label. Where the history does not know it, the
// time of the last change takes its place: when the label is set again, that is another trigger.
func (v *view) newest() ghsync.LabelEvent {
	if len(v.request.Events) > 0 {
		return v.request.Trigger()
	}
	return ghsync.LabelEvent{Name: v.Rules.Bot.Label, Added: true, At: v.Record.Issue.UpdatedAt}
}

// known reports whether the history says of each request label that is on who set it.
func (v *view) known() bool {
	on := map[string]bool{}
	for _, name := range v.Record.Issue.Labels {
		if _, ok := ghsync.RequestLabel(name, v.Rules.Bot.Label); ok {
			on[key(name)] = true
		}
	}
	return len(v.request.Events) == len(on)
}

// atTerminal reports whether a person at a terminal asked.
func (v *view) atTerminal() bool { return v.Ask != nil && v.Ask.Trigger.Kind == CLI }

// permission returns what an account may do. It is not known if ok is false.
func (v *view) permission(login string) (a Answer, ok bool) {
	for name, a := range v.Answers {
		if strings.EqualFold(name, login) {
			return a, true
		}
	}
	v.need.Permission = login
	return Answer{}, false
}

// again is how the request is made once more.
func (v *view) again() string {
	switch {
	case v.Ask == nil:
		return "set the label " + selector(v.Rules.Bot.Label, v.request.Workflows...) + " again"
	case v.atTerminal():
		return "type the command again"
	}
	return "comment /agentmux retry again"
}

// listed reports whether the configuration names the repository.
func (v *view) listed() bool {
	return slices.ContainsFunc(v.Rules.Bot.Repos, func(name string) bool {
		return strings.EqualFold(name, v.Repo.String()) || strings.EqualFold(name, v.Record.Repository.String())
	})
}

// ofOrg reports whether the repository is one of an organisation that the configuration names.
func (v *view) ofOrg() bool {
	owner := v.Repo.Owner
	if v.RecordErr == nil {
		owner = v.Record.Repository.Owner
	}
	return slices.ContainsFunc(v.Rules.Bot.Orgs, func(name string) bool { return strings.EqualFold(name, owner) })
}

// nothing is the history of a repository without one.
type nothing struct{}

func (nothing) Decided(int, Trigger) bool            { return false }
func (nothing) LabelStarts(int, time.Duration) int   { return 0 }
func (nothing) StartsBy(int64, time.Duration) int    { return 0 }
func (nothing) FirstSeen(int, Trigger) (Texts, bool) { return Texts{}, false }
