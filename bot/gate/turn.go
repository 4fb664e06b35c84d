package gate

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows"
)

// Turn is what decides whether an accepted request may run now. It is the row RowBusy by itself:
// one that waits is judged by it again.
type Turn struct {
	Actor   int64 // who asked
	Gate    config.Gate
	History History
	Load    Load
	Tries   Tries
}

// Judge returns Start, or Queue with the reason, or Later if GitHub did not answer. A Need is as
// for the function Judge.
func (t Turn) Judge() (Decision, Need) {
	if t.History == nil {
		t.History = nothing{}
	}
	d := t.judge()
	d.Row = RowBusy
	switch {
	case d.What != "":
		return d, Need{}
	case t.Load.OpenPulls == nil:
		return Decision{}, Need{OpenPulls: true}
	case t.Load.OpenPulls.Err != nil:
		return unanswered(t.Load.OpenPulls.Err, "open pull requests", t.Tries), Need{}
	case t.Load.OpenPulls.N >= t.Gate.OpenPRs:
		d = queue("merge or close one, or raise gate.open_prs", "%d pull requests of agentmux are open", t.Load.OpenPulls.N)
	default:
		return Decision{Row: RowStart, What: Start}, Need{}
	}
	d.Row = RowBusy
	return d, Need{}
}

// judge looks at what costs no request.
func (t Turn) judge() Decision {
	switch most := t.Gate.UserHour; {
	case t.Load.Paused:
		return queue("remove the file PAUSED from the state directory of the bot", "the bot is paused")
	case t.History.StartsBy(t.Actor, time.Hour) >= most:
		return queue("", "the same account started %d sessions in an hour, which is all that gate.user_hour allows", most)
	case t.Load.Running >= t.Gate.RepoRunning:
		return queue("", "%d sessions of this repository are running, which is all that gate.repo_running allows", t.Load.Running)
	case !t.Load.FreeSlot:
		return queue("", "all slots are in use")
	}
	return Decision{}
}

func busy(v *view) (Decision, bool) {
	d, need := Turn{Actor: v.asked.By.Account.ID, Gate: v.Rules.Gate, History: v.History, Load: v.Load, Tries: v.Tries}.Judge()
	v.need = need
	return d, need == (Need{}) && d.What != Start
}

// Slot is what a request is judged by when it gets its slot, and its base commit was fetched.
type Slot struct {
	// Base is what is wrong with configuration, workflow and prompts of the base commit.
	Base document.Problems
	// Machine is what this machine lacks now: a program, a login, memory, disk.
	Machine []string
	// Label is the request label.
	Label string
	// Workflow is the one that is asked for; empty: the default one. Files are those of the base commit; nil: it is not looked for.
	Workflow string
	Files    fs.FS
}

// machineWait is how long a request waits for its machine before it is judged again.
const machineWait = time.Minute

// Judge returns Start, Refuse for what the repository has to correct, or Queue for what the
// machine lacks, which people on the issue cannot change.
func (s Slot) Judge() Decision {
	if bad := s.Base.Errors(); len(bad) > 0 {
		d := refuse(fmt.Sprintf("correct it on the base branch, then set the label %s again", selector(s.Label, s.Workflow)), "the base commit cannot be worked from")
		d.Row, d.Details = RowBase, bad.Lines()
		return d
	}
	if s.Workflow != "" && s.Files != nil {
		if known := workflows.Names(s.Files); !slices.Contains(known, s.Workflow) {
			d := refuse(choice(s.Label, known), "there is no workflow %q: it is not built in, and not a file in %s of the base branch", s.Workflow, workflows.ProjectWorkflows)
			d.Row = RowBase
			return d
		}
	}
	if len(s.Machine) > 0 {
		d := queue("", "the machine of the bot is not ready")
		d.Row, d.Details, d.After = RowMachine, s.Machine, machineWait
		return d
	}
	return Decision{Row: RowStart, What: Start}
}
