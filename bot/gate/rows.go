package gate

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A rule is one row. It returns a decision if it matches. One that depends on an answer which is
// not there sets view.need.
type rule struct {
	row   Row
	of    asks
	match func(*view) (Decision, bool)
}

// asks are the kinds of requests that a rule is for.
type asks int

const (
	byLabel asks = 1 << iota
	byComment
	byPerson // at a terminal

	fromGitHub = byLabel | byComment
	fromAll    = fromGitHub | byPerson
)

// table is the gate. The first rule that matches decides.
var table = []rule{
	{RowScope, fromGitHub, scope},
	{RowGone, fromAll, gone},
	{RowAbsent, fromAll, absent},
	{RowFork, fromGitHub, fork},
	{RowClaimed, fromAll, claimed},
	{RowDecided, fromGitHub, decided},
	{RowUnread, fromAll, unread},
	{RowSettling, byLabel, settling},
	{RowUnknown, byLabel, unknown},
	{RowDeleted, fromGitHub, deleted},
	{RowNoPerson, fromGitHub, noPerson},
	{RowOwn, fromGitHub, own},
	{RowPermission, fromGitHub, permission},
	{RowWorkflow, fromAll, workflow},
	{RowEdited, fromGitHub, edited},
	{RowUnsandboxed, fromAll, unsandboxed},
	{RowIssueDay, byLabel, issueDay},
	{RowBusy, fromGitHub, busy}, // a command has no queue to wait in
	{RowStart, fromAll, start},
}

// judges reports whether a rule is for the request.
func (r rule) judges(v *view) bool {
	kind := byLabel
	switch {
	case v.atTerminal():
		kind = byPerson
	case v.Ask != nil:
		kind = byComment
	}
	return r.of&kind != 0
}

func scope(v *view) (Decision, bool) {
	if !v.listed() && !v.ofOrg() {
		return ignore("%s is not a repository of this bot", v.Repo), true
	}
	if why := ReadOnly(v.Record.Repository); why != "" {
		return ignore("%s is %s", v.Repo, why), true
	}
	return Decision{}, false
}

// ReadOnly says why nothing can be written to a repository, and what to do; "" if it can.
func ReadOnly(r ghsync.Repository) string {
	switch {
	case r.Disabled:
		return "disabled, so nothing can be written to it: GitHub's support knows why"
	case r.Archived:
		return "archived, so nothing can be written to it: unarchive it"
	}
	return ""
}

func gone(v *view) (Decision, bool) {
	if transport.IsNotFound(v.RecordErr) {
		return ignore("%s#%d is not there", v.Repo, v.Issue), true
	}
	if v.RecordErr != nil {
		return Decision{}, false
	}
	repository := v.Record.Repository
	// A transferred issue is a request of the repository it is in now. Only one of GitHub's
	// interfaces follows it there.
	if at := v.Record.Issue.Repo; at != (ghsync.Repo{}) && !strings.EqualFold(at.String(), repository.String()) {
		return ignore("%s#%d was transferred to %s", v.Repo, v.Issue, at), true
	}
	if v.RepoID != 0 && repository.ID != 0 && repository.ID != v.RepoID {
		return ignore("%s is another repository now", v.Repo), true
	}
	return Decision{}, false
}

func absent(v *view) (Decision, bool) {
	switch {
	case errors.Is(v.RecordErr, transport.ErrPullRequest):
		return ignore("%s#%d is a pull request", v.Repo, v.Issue), true
	case v.RecordErr != nil:
		return Decision{}, false
	case v.Record.Issue.Closed:
		d := ignore("%s#%d is closed", v.Repo, v.Issue)
		d.Remedy = "reopen it to work on it"
		return d, true
	case v.Ask == nil && !v.labelled:
		return ignore("%s#%d does not have the label %s", v.Repo, v.Issue, v.Rules.Bot.Label), true
	}
	return Decision{}, false
}

// fork refuses once: a trigger that was decided is left to the row of those, which comes later.
func fork(v *view) (Decision, bool) {
	if v.RecordErr != nil || !v.Record.Repository.Fork || v.listed() || v.Rules.Gate.AllowForks {
		return Decision{}, false
	}
	if _, before := decided(v); before {
		return Decision{}, false
	}
	return refuse("the one who runs the bot can set gate.allow_forks: true, or name the repository in bot.repos; then "+v.again(),
		"%s is a fork that belongs to the bot through its organisation alone", v.Repo), true
}

// unprovenPause is until a host that may be gone is looked at again: half of the time between two beats.
const unprovenPause = time.Minute

func claimed(v *view) (Decision, bool) {
	if v.Claim == nil {
		return Decision{}, false
	}
	if v.Claim.Unproven { // a request label that is dropped now would be lost with the host
		return later(unprovenPause, "it is not known yet whether host %s still works on %s#%d", v.Claim.Host, v.Repo, v.Issue), true
	}
	d := ignore("host %s works on %s#%d", v.Claim.Host, v.Repo, v.Issue)
	d.served = v.Claim.Unread || v.served()
	switch n := v.Tries.of(RowClaimed); {
	case d.served || v.Ask != nil:
	case n < len(givingBack) && v.shows(ghsync.LabelNeedsHuman, ghsync.LabelDone, ghsync.LabelFailed):
		return later(givingBack[n], "host %s may be giving back its claim of %s#%d", v.Claim.Host, v.Repo, v.Issue), true
	case n < len(givingBack) && v.Claim.Serves != "" && !v.shows(ghsync.LabelRunning):
		return later(givingBack[n], "host %s may be about to begin with %s#%d, or to give its claim back", v.Claim.Host, v.Repo, v.Issue), true
	case v.Claim.Ending:
		return later(givingBack[min(n, len(givingBack)-1)], "this host is giving back its claim of %s#%d", v.Repo, v.Issue), true
	}
	return d, true
}

// givingBack is how long a host may hold the claim of a session that has ended, or of a request that was refused or
// stopped: the receipts of its last commands are owed, and a repository takes six pushes a minute. Who reads how it ended
// and asks again at once has not asked twice. What waits in the queue of another host may have ended so. That host takes
// off what was set beside it itself, and once its state label is on the label of its own request: before, it reads from
// one that is gone that a person has withdrawn it.
var givingBack = []time.Duration{2 * time.Second, 10 * time.Second, 45 * time.Second}

// shows reports whether one of these state labels is on.
func (v *view) shows(states ...string) bool {
	return slices.ContainsFunc(states, func(state string) bool {
		return slices.ContainsFunc(v.Record.Issue.Labels, func(on string) bool {
			return strings.EqualFold(on, v.Rules.Bot.Label+":"+state)
		})
	})
}

// served reports whether the host that has the issue takes off every request label that is on.
func (v *view) served() bool {
	if v.known() && v.Claim.Serves != "" && v.Claim.Serves == v.asked.Trigger.String() {
		return true
	}
	return v.known() && slices.Contains(v.Claim.Served, v.asked.Trigger) &&
		!slices.ContainsFunc(v.asked.With, func(t Trigger) bool { return !slices.Contains(v.Claim.Served, t) })
}

func decided(v *view) (Decision, bool) {
	if v.RecordErr != nil || !v.History.Decided(v.Issue, v.asked.Trigger) {
		return Decision{}, false
	}
	return ignore("%s was decided before", v.asked.Trigger), true
}

func unread(v *view) (Decision, bool) {
	if v.RecordErr == nil {
		return Decision{}, false
	}
	return unanswered(v.RecordErr, "the issue", v.Tries), true
}

// unanswered waits for GitHub to tell what is missing.
func unanswered(err error, what string, t Tries) Decision {
	const most = 90 * time.Second
	wait := min(5*time.Second<<min(t.of(RowUnread), 5), most)
	if said, again := transport.Later(err); again && said > 0 {
		wait = said
	}
	d := later(wait, "GitHub did not answer about %s", what)
	d.Row, d.Err = RowUnread, err
	return d
}

// settling waits for a second label that is set together with the first. The wait is by two
// clocks, the server's and this machine's. Where ours is so slow that the label is still to come,
// one whole wait is enough.
func settling(v *view) (Decision, bool) {
	const together = 5 * time.Second
	read, set := v.Record.ReadAt, v.asked.CutOff
	if v.request.Settled(read) || v.Tries.of(RowSettling) > 0 && read.Before(set) {
		return Decision{}, false
	}
	return later(min(set.Add(together).Sub(read), together), "another label may follow"), true
}

// lagging is how long a history may lack a label that the issue has.
var lagging = []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}

func unknown(v *view) (Decision, bool) {
	if v.known() {
		return Decision{}, false
	}
	if n := v.Tries.of(RowUnknown); n < len(lagging) {
		return later(lagging[n], "GitHub does not say yet who set the label"), true
	}
	return refuse("take the label off, if it is on, and "+v.again(), "GitHub does not say who set the label %s", v.Rules.Bot.Label), true
}

func deleted(v *view) (Decision, bool) {
	if v.asked.By.Account.Login != "" {
		return Decision{}, false
	}
	return refuse("a person with write permission can "+v.again(), "the account that asked for it is deleted"), true
}

func noPerson(v *view) (Decision, bool) {
	who := v.asked.By.Account
	if who.IsPerson() {
		return Decision{}, false
	}
	return silently("%s is not the account of a person", who.Login), true
}

func own(v *view) (Decision, bool) {
	if !v.Rules.Bot.MachineAccount || v.Own.ID == 0 || v.asked.By.Account.ID != v.Own.ID {
		return Decision{}, false
	}
	return silently("%s is the program's own account", v.Own.Login), true
}

func start(*view) (Decision, bool) { return Decision{What: Start}, true }
