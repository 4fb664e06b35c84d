package mirror

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// view is what the mirror knows of a session: the fold of its records. Everything the
// mirror writes is a function of it, so a second mirror of the same records writes the same.
type view struct {
	facts

	seq     int
	session string
	mark    string // names the session in what is written on the server
	work    string // workflow
	repo    string
	issue   int
	branch  string
	config  string // config_source
	started time.Time
	ended   time.Time // of the last end; zero while it runs
	deaf    bool      // nobody reads commands in comments

	visits  []visit
	current string // phase

	subplans int
	done     map[string]bool
	fixes    int
	counted  story.Rounds
	strays   story.Strays
	cap      int // fix rounds at most; -1: unknown
	rounds   []*round
	shas     map[string]string // role -> blob of the review accepted last
	plan     string            // hash of the accepted plan

	paused    bool
	gate      string
	digest    string                  // of what the gate shows
	opened    orchestrator.GateReason // why the gate is open
	findings  []string                // of the output gate, shown at the gate
	decisions []story.Decision        // at gates, oldest first
	asks      story.Asks
	commands  story.Commands
	changes   []changeRequest

	outcome   string
	reason    string
	next      string
	actor     string // who stopped it
	byPerson  bool
	seconds   int
	tree      string // of the last review started
	commit    string
	head      string // the commit that was pushed last
	pushed    bool
	prNumber  int
	prURL     string
	prDraft   bool
	exhausted bool
}

// facts come from the host, not from records.
type facts struct {
	host    string
	sandbox string
	notes   []string // one line each, untrusted
	asked   asked
	edited  *time.Time // when the issue's text was seen to be another than that of asked

	settled   bool          // the next two were read
	humanWait time.Duration // how long questions and gates wait; 0: for ever
	onTimeout string        // what becomes of a question then: decide or park
}

// asked is what the snapshot says about the request.
type asked struct {
	login, level string
	at           time.Time
	digest       string
	report       ghsync.Report
	submodules   int
	lfs          int
	known        bool
}

// visit is one entry of a phase.
type visit struct {
	number int
	phase  string
	kind   string
	began  time.Time
	left   bool
	round  int    // of a review or fix, from 1
	agents string // who works in it
	plans  string // "3 of 3 subplans", once left
}

// changeRequest is what somebody wanted changed.
type changeRequest struct {
	at        time.Time
	who, text string
}

// round is one review round.
type round struct {
	iteration int
	number    int // from 1, over the whole life of the session
	tree      string
	roles     []string // in the order they were asked
	verdicts  map[string]verdict
	decided   bool
	passed    bool
}

// verdict is the result of one role in a round.
type verdict struct {
	role, verdict, sha, path string
	findings                 int
}

func newView() *view {
	return &view{done: map[string]bool{}, shas: map[string]string{}, cap: -1}
}

// row is the current visit.
func (v *view) row() *visit {
	if len(v.visits) == 0 {
		return nil
	}
	return &v.visits[len(v.visits)-1]
}

func (v *view) plansOf(row *visit) string {
	if row.kind != "implement" || v.subplans == 0 {
		return ""
	}
	unit := "subplans"
	if v.subplans == 1 {
		unit = "subplan"
	}
	return fmt.Sprintf("%d of %d %s", len(v.done), v.subplans, unit)
}

// live reports whether the session works or could, without a person's word.
func (v *view) live() bool { return v.outcome == "" }

// clock is a time of day, with its date if that is not the session's first.
func clock(t, start time.Time) string {
	t, start = t.UTC(), start.UTC()
	if t.YearDay() != start.YearDay() || t.Year() != start.Year() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("15:04")
}

// lasted is a span for people.
func lasted(seconds int) string {
	switch {
	case seconds < 90:
		return strconv.Itoa(seconds) + " s"
	case seconds < 90*60:
		return strconv.Itoa((seconds+30)/60) + " min"
	}
	return fmt.Sprintf("%d h %02d min", seconds/3600, seconds%3600/60)
}
