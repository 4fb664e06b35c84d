package mirror_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// What one host was refused is owed to the next, which shows it as if nothing had been.
func TestMirrorOwesWhatWasRefused(t *testing.T) {
	want := calmEnd(t, "in step")
	for _, route := range []string{
		"POST .../issues/{number}/labels", "DELETE .../issues/{number}/labels/{name}", "POST .../issues/{number}/comments", "PATCH .../issues/comments/{id}",
	} {
		t.Run(route, func(t *testing.T) {
			st := newStage(t)
			st.server.Inject(fakehub.Fault{Route: route, From: 2, Status: 403, Message: "Resource not accessible by integration"})
			st.run(st.mirror(st.options()))
			if mirror.Shown(st.session.Dir, st.state.Seq) || !strings.Contains(mirror.Trouble(st.session.Dir), "403") {
				t.Errorf("shown %v, trouble %q", mirror.Shown(st.session.Dir, st.state.Seq), mirror.Trouble(st.session.Dir))
			}
			st.server.Heal()
			st.finish(st.mirror(st.options()))
			if !mirror.Shown(st.session.Dir, st.state.Seq) || mirror.Trouble(st.session.Dir) != "" {
				t.Errorf("shown %v, trouble %q", mirror.Shown(st.session.Dir, st.state.Seq), mirror.Trouble(st.session.Dir))
			}
			if got := st.end(); got != want {
				t.Errorf("end:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// Where the comments that are there may not be read, none is made a second time, the labels go
// on, and the end does not wait for what waiting does not change.
func TestMirrorThatMayNotLookForItsCommentsEnds(t *testing.T) {
	for name, fault := range map[string]fakehub.Fault{
		"no token":          {Status: 401, Message: "Bad credentials"},
		"no reading":        {Route: "GET .../issues/{number}/comments", Status: 403, Message: "Resource not accessible by integration"},
		"not asked for now": {Route: "GET .../issues/{number}/comments", Times: 1, Status: 502, Message: "Bad Gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			st.run(st.mirror(st.options()))
			st.forget()
			before := st.end()
			st.server.Inject(fault)
			st.play(`11:00 9 resumed {"from":"done","to":"planning"}`)
			m := st.mirror(st.options())
			if name != "no token" {
				st.finish(m)
			} else if err := m.Finish(t.Context()); !transport.IsAway(err) {
				t.Errorf("finish: %v", err)
			}
			passes := fault.Times > 0
			if got := m.LastError(); (got == nil) != passes || mirror.Shown(st.session.Dir, st.state.Seq) != passes {
				t.Errorf("last error %v, shown %v", got, mirror.Shown(st.session.Dir, st.state.Seq))
			}
			got := st.end()
			if strings.Count(got, "kind=") != strings.Count(before, "kind=") || strings.Contains(got, "[agentmux:running bug]") != (name != "no token") {
				t.Errorf("end:\n%s\nbefore:\n%s", got, before)
			}
		})
	}
}

// A server that lags may not find a comment that exists. At the end there is one status
// comment, and it is true.
func TestStatusThatWasNotFoundHasNoTwin(t *testing.T) {
	want := calmEnd(t, "in step")
	for name, status := range map[string]int{"not found": 404, "gone": 410} {
		for from := 1; from <= 2; from++ {
			t.Run(name, func(t *testing.T) {
				st := newStage(t)
				st.server.Inject(fakehub.Fault{Route: "PATCH .../issues/comments/{id}", From: from, Times: 1, Status: status, Message: "Not Found"})
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

// A comment that is listed, but never found by its edit, as where something between here and GitHub refuses that, is
// tried a few times. Then the rest is shown, and the next host owes it.
func TestAStatusThatIsNeverFoundIsGivenUp(t *testing.T) {
	want := calmEnd(t, "in step")
	st := newStage(t)
	st.server.Inject(fakehub.Fault{Route: "PATCH .../issues/comments/{id}", Status: 404, Message: "Not Found"})
	st.run(st.mirror(st.options()))
	if hits := st.server.Hits(); hits < 3 || hits > 8 {
		t.Errorf("%d edits were sent", hits)
	}
	if trouble := mirror.Trouble(st.session.Dir); mirror.Shown(st.session.Dir, st.state.Seq) || !strings.Contains(trouble, "comment not found") {
		t.Errorf("shown %v, trouble %q", mirror.Shown(st.session.Dir, st.state.Seq), trouble)
	}
	st.server.Heal()
	st.finish(st.mirror(st.options()))
	if got := st.end(); got != want || mirror.Trouble(st.session.Dir) != "" {
		t.Errorf("end:\n%s\nwant:\n%s\ntrouble %q", got, want, mirror.Trouble(st.session.Dir))
	}
}

// A disk that takes nothing for a time, whenever that is, costs no comment and makes none twice.
func TestADiskThatIsFullForATimeLosesNothing(t *testing.T) {
	want := calmEnd(t, "in step")
	st := newStage(t)
	m := st.mirror(st.options())
	full, failed := false, 0
	m.OnSave(func(write func() error) error {
		if full {
			return syscall.ENOSPC
		}
		return write()
	})
	for _, line := range append(st.script, "sync") {
		if line != "sync" {
			st.play(line)
			continue
		}
		full = true
		if err := m.Finish(t.Context()); mirror.OfDisk(err) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
		full = false
		st.finish(m)
	}
	if failed < 3 {
		t.Errorf("the disk failed at %d moments: the test shows little", failed)
	}
	if got := st.end(); got != want {
		t.Errorf("end:\n%s\nwant:\n%s", got, want)
	}
}

// The verdict on the commit leads to the status comment, also where that came late.
func TestVerdictOnCommitWaitsForItsLink(t *testing.T) {
	st := newStage(t)
	st.openPR()
	paces["at once"](st)
	st.server.Inject(fakehub.Unavailable("POST .../issues/{number}/comments", 500, 1))
	st.run(st.mirror(st.options()))
	statuses := st.repo.Statuses(st.repo.Pulls()[0].HeadSHA)
	if len(statuses) != 1 || !strings.Contains(statuses[0].TargetURL, "#issuecomment-") {
		t.Errorf("statuses %+v", statuses)
	}
}

// The cause of a wait is named: a refused token is not a limit.
func TestRetryAfterNamesWhatItWaitsFor(t *testing.T) {
	for scope, want := range map[string]string{
		"primary": "try again in 7s (primary limit)", "own": "try again in 7s (own limit)", "server": "try again in 7s: GitHub does not answer",
		"token": "try again in 7s with a new token", "absence": "look again in 7s",
	} {
		t.Run(scope, func(t *testing.T) {
			if got := (&transport.RetryAfter{Wait: 7 * time.Second, Scope: scope}).Error(); got != want {
				t.Errorf("%s: %s", scope, got)
			}
		})
	}
}
