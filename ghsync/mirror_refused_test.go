package ghsync_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/ghsynctest"
)

// What one host was refused is owed to the next, which shows it as if nothing had been.
func TestMirrorOwesWhatWasRefused(t *testing.T) {
	want := calmEnd(t, paces["in step"])
	for _, route := range []string{
		"POST .../issues/{number}/labels", "DELETE .../issues/{number}/labels/{name}", "POST .../issues/{number}/comments", "PATCH .../issues/comments/{id}",
	} {
		t.Run(route, func(t *testing.T) {
			st := newStage(t)
			st.server.Inject(ghsynctest.Fault{Route: route, From: 2, Status: 403, Message: "Resource not accessible by integration"})
			st.run(st.mirror(st.options()))
			if ghsync.Shown(st.session.Dir, st.state.Seq) || !strings.Contains(ghsync.Trouble(st.session.Dir), "403") {
				t.Errorf("shown %v, trouble %q", ghsync.Shown(st.session.Dir, st.state.Seq), ghsync.Trouble(st.session.Dir))
			}
			st.server.Heal()
			st.finish(st.mirror(st.options()))
			if !ghsync.Shown(st.session.Dir, st.state.Seq) || ghsync.Trouble(st.session.Dir) != "" {
				t.Errorf("shown %v, trouble %q", ghsync.Shown(st.session.Dir, st.state.Seq), ghsync.Trouble(st.session.Dir))
			}
			if got := st.end(); got != want {
				t.Errorf("end:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// A server that lags may not find a comment that is there. What is made in its place is no
// twin at the end, and what stays is true.
func TestStatusThatWasNotFoundHasNoTwin(t *testing.T) {
	want := calmEnd(t, paces["in step"])
	for name, status := range map[string]int{"not found": 404, "gone": 410} {
		for from := 1; from <= 2; from++ {
			t.Run(name, func(t *testing.T) {
				st := newStage(t)
				st.server.Inject(ghsynctest.Fault{Route: "PATCH .../issues/comments/{id}", From: from, Times: 1, Status: status, Message: "Not Found"})
				st.run(st.mirror(st.options()))
				if st.server.Hits() != 1 {
					t.Fatal("no edit was refused: the test shows nothing")
				}
				if got := st.end(); got != want {
					t.Errorf("end:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}

// The verdict on the commit leads to the status comment, also where that came late.
func TestVerdictOnCommitWaitsForItsLink(t *testing.T) {
	st := newStage(t)
	st.openPR()
	paces["at once"](st)
	st.server.Inject(ghsynctest.Unavailable("POST .../issues/{number}/comments", 500, 1))
	st.run(st.mirror(st.options()))
	statuses := st.repo.Statuses(st.repo.Pulls()[0].HeadSHA)
	if len(statuses) != 1 || !strings.Contains(statuses[0].TargetURL, "#issuecomment-") {
		t.Errorf("statuses %+v", statuses)
	}
}
