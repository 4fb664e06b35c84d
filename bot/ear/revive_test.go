package ear_test

import (
	"os"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestGitHub54ARetryOfASessionThatHasEnded: it continues that session and keeps its work. Another one is asked for if the
// text of the issue was edited, or if that session cannot continue.
func TestGitHub54ARetryOfASessionThatHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		at                  string
		edit, comment, lost bool
		another             bool
	}{
		"parked":                   {at: "parked"},
		"failed":                   {at: "failed"},
		"commented on":             {at: "failed", comment: true},
		"parked, edited":           {at: "parked", edit: true, another: true},
		"failed, edited":           {at: "failed", edit: true, another: true},
		"failed without a phase":   {at: "failed", lost: true, another: true},
		"done":                     {at: "done", another: true},
		"done with a pull request": {at: "done, pull request", another: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.decision = gate.Decision{Row: gate.RowStart, What: gate.Start}
			standings[c.at](s)
			snapshot, err := s.client.TakeSnapshot(t.Context(), ghsync.SnapshotSpec{Repo: octoWidgets, Issue: s.issue, CutOff: s.Now()})
			if err != nil {
				t.Fatal(err)
			}
			data, err := snapshot.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.sess.Path(session.SnapshotFile), data, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.lost {
				st := s.st.Clone()
				st.InterruptedPhase = ""
				s.commit(st)
			}
			if c.edit {
				s.repo.EditIssue(s.issue, "rea", nil, new("Tokens that expired, too."))
			}
			if c.comment {
				s.comment("Please.", "wil")
			}
			s.pass(hour)
			s.want(s.say("/agentmux retry", "wil"), "eyes +1", "")
			if got := slices.Contains(s.asked, "retry comment/ by wil"); got != c.another {
				t.Errorf("asked %q", s.asked)
			}
			if !c.another && s.st.Ended() || c.another && len(s.commands()) > 0 {
				t.Errorf("ended %v, commands %+v", s.st.Ended(), s.commands())
			}
			if !c.another && s.st.Phase == orchestrator.PhaseFailed {
				t.Errorf("in %s", s.st.Phase)
			}
		})
	}
}
