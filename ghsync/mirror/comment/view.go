package comment

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// View is what can be said about a session on its issue: what its records have told, and
// what its host knows.
type View struct {
	*story.Progress
	Facts
	n markdown.Neutralizer
}

// New returns a view of the progress, which its owner may fold further. n makes the texts of
// other people and of agents harmless.
func New(p *story.Progress, f Facts, n markdown.Neutralizer) *View {
	return &View{Progress: p, Facts: f, n: n}
}

// Facts come from the host, not from records.
type Facts struct {
	Host      string
	Sandbox   string
	Deaf      bool     // commands in comments are not read
	DeafAfter bool     // nor are they once the session has ended
	Fleeting  bool     // the machine ends with the host
	Agent     string   // of an agents file that is shown alone; empty: the whole session is
	Notes     []string // one line each, untrusted
	Asked     Asked
	Edited    *time.Time     // when the issue's text was first seen to differ from that of Asked
	Settings  *Settings      // nil: not read yet
	Noted     story.Commands // those that never reached the session
}

// Settings are what the comments tell of the session's own settings.
type Settings struct {
	FixLimit  int           // fix rounds at most
	HumanWait time.Duration // how long questions and gates wait; 0: without end
	Park      bool          // a question without an answer stops the session
}

// Asked is what the snapshot says about the request. The zero value: there is no snapshot.
type Asked struct {
	Known        bool
	Login, Level string // of the requester
	At           time.Time
	Digest       string
	Removed      map[string]int // what cleaning took out of the text, by class
	CutBytes     int
	Suspicious   bool   // more was removed than could be there by accident
	Unseen       string // what of the repository the agents do not see; empty: nothing
}

// deafAfter reports whether commands in comments are not read once the session has ended.
func (v *View) deafAfter() bool { return v.Deaf || v.DeafAfter }

// fixLimit returns how many fix rounds there are at most, -1 if that is not known.
func (v *View) fixLimit() int {
	switch {
	case v.Reviews.LimitTold:
		return v.Reviews.Limit
	case v.Settings != nil:
		return v.Settings.FixLimit
	}
	return -1
}

// until returns when what was asked is decided without an answer; zero: never.
func (v *View) until(asked orchestrator.Time) time.Time {
	if v.Settings == nil || v.Settings.HumanWait <= 0 {
		return time.Time{}
	}
	return asked.Add(v.Settings.HumanWait)
}

// name is how people call the session on a command line.
func (v *View) name() string {
	if v.Identity.Repo != "" && v.Identity.Issue > 0 {
		return fmt.Sprintf("%s#%d", v.Identity.Repo, v.Identity.Issue)
	}
	return v.Identity.Session
}

// at is a time of day, with its date unless that is the day the session began.
func (v *View) at(t time.Time) string { return clock(t, v.Identity.Started) }

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
