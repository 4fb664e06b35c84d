package mirror_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// runMeeting plays the script, in whose middle something happens to the repository.
func (st *stage) runMeeting(m *mirror.Mirror, happens func()) error {
	st.t.Helper()
	for i, line := range st.script {
		if i == len(st.script)/2 {
			happens()
		}
		if line != "sync" {
			st.play(line)
			continue
		}
		if err := m.Finish(st.t.Context()); err != nil {
			return err
		}
	}
	return m.Finish(st.t.Context())
}

func TestGitHub9MirrorContinuesUnderTheNewName(t *testing.T) {
	want := calmEnd(t, "in step")
	for name, restarts := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			m := st.mirror(st.options())
			err := st.runMeeting(m, func() { st.repo.Rename("gadgets") })
			if err != nil {
				t.Fatal(err)
			}
			if restarts {
				// Somebody else has the old name now: it no longer leads to the issue.
				if err := st.server.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
					t.Fatal(err)
				}
				other := st.server.Repo(widgets)
				for range 12 {
					other.AddIssue(fakehub.IssueSpec{Title: "Another", Author: "read"})
				}
				other.SetRole(botLogin, fakehub.Write)
				before := other.Picture()
				st.play(`11:00 9 question_asked {"id":"q9","role":"coder","task":"","text":"Which?","options":["a","b"]}`)
				st.finish(st.mirror(st.options()))
				if after := other.Picture(); after != before {
					t.Errorf("written in the other repository:\n%s", after)
				}
				if got := st.end(); !strings.Contains(got, "Which?") {
					t.Errorf("end:\n%s", got)
				}
				return
			}
			if got := st.end(); got != want {
				t.Errorf("end:\n%s\nwant:\n%s", got, want)
			}
			moved := 0
			for _, c := range st.server.Calls() {
				if c.Status == http.StatusTemporaryRedirect {
					moved++
				}
			}
			if moved != 1 {
				t.Errorf("%d writes to the old name, want the one that told:\n%s", moved, st.server.Transcript())
			}
		})
	}
}

func TestMirrorEndsWithTheIssue(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*stage)
		says    string
	}{
		"transferred": {func(st *stage) {
			if err := st.server.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "gadgets"}); err != nil {
				st.t.Fatal(err)
			}
			st.repo.Transfer(12, "octo/gadgets")
		}, "octo/widgets#12 was transferred and is octo/gadgets#1 now"},
		"deleted":            {func(st *stage) { st.repo.DeleteIssue(12) }, "octo/widgets#12"},
		"repository deleted": {func(st *stage) { st.repo.Delete() }, "repository octo/widgets"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			before := 0
			m := st.mirror(st.options())
			err := st.runMeeting(m, func() {
				tc.happens(st)
				before = len(st.server.Log())
			})
			if !errors.Is(err, mirror.ErrIssueGone) || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("error %v, want one that says %q", err, tc.says)
			}
			if more := st.server.Log()[before:]; len(more) != 0 {
				t.Errorf("written afterwards: %+v", more)
			}
		})
	}
}

// A write that is refused as not found is not a reason to end while the issue exists.
func TestMirrorOutlivesAnAbsentThing(t *testing.T) {
	st := newStage(t)
	st.server.Inject(fakehub.Fault{Route: "POST .../issues/{number}/labels", From: 2, Status: 404, Message: "Not Found"})
	st.run(st.mirror(st.options()))
	if got := st.end(); !strings.Contains(got, "kind=final") || !strings.Contains(got, "### agentmux: done in") {
		t.Errorf("end:\n%s", got)
	}
}

// Somebody else has the old name at once, so that writes there are told "not found". Whatever
// is written first after that is written at the new place.
func TestMirrorContinuesWhereTheOldNameLeadsElsewhere(t *testing.T) {
	t.Parallel()
	want := calmEnd(t, "in step")
	for at := range strings.Count(strings.Join(newStage(t).script, " "), "sync") {
		t.Run(fmt.Sprintf("before sync %d", at+1), func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			m := st.mirror(st.options())
			part := 0
			for lines := range st.parts() {
				st.play(lines...)
				if part == at {
					st.giveNameAway()
				}
				part++
				st.finish(m)
			}
			if got := st.end(); got != want || m.LastError() != nil {
				t.Errorf("last error %v, end:\n%s\nwant:\n%s", m.LastError(), got, want)
			}
		})
	}
}

// giveNameAway renames the repository and gives its name to another one, without an issue.
func (st *stage) giveNameAway() {
	st.t.Helper()
	st.repo.Rename("gadgets")
	if err := st.server.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
		st.t.Fatal(err)
	}
	st.server.Repo(widgets).SetRole(botLogin, fakehub.Write)
}

// A mirror that lost its memory does not take another repository's answer for the deletion
// of its comments.
func TestLostMemoryIsRebuiltUnderTheNewName(t *testing.T) {
	st := newStage(t)
	st.run(st.mirror(st.options()))
	before := st.end()
	st.forget()
	st.giveNameAway()
	st.finish(st.mirror(st.late(st.options())))
	if after := st.end(); strings.Count(after, "kind=") != strings.Count(before, "kind=") {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// forget loses what the mirror knows of its work.
func (st *stage) forget() {
	st.t.Helper()
	if err := os.Remove(st.session.Path(session.MirrorFile)); err != nil {
		st.t.Fatal(err)
	}
}

// late is an hour later.
func (st *stage) late(o mirror.Options) mirror.Options {
	o.Now = func() time.Time { return st.clock().Add(time.Hour) }
	return o
}

// lateClock is the stage's clock, which can be put forward.
type lateClock struct {
	now  func() time.Time
	late time.Duration
}

func (c *lateClock) time() time.Time { return c.now().Add(c.late) }

// absentStage is a stage in whose middle the issue is deleted and one more record written,
// and a mirror with true pauses between two looks.
func absentStage(t *testing.T) (*stage, *mirror.Mirror, *lateClock, mirror.Options) {
	t.Helper()
	st := newStage(t)
	clock := &lateClock{now: st.clock}
	o := st.options()
	o.Now, o.Pace.Gone = clock.time, 0
	m := st.mirror(o)
	st.play(st.script[0])
	st.finish(m)
	st.repo.DeleteIssue(12)
	st.play(`10:07 1 failed {"cause":"x","next":"agentmux resume"}`)
	return st, m, clock, o
}

func TestMirrorEndsAfterTwoLooksMinutesApart(t *testing.T) {
	st, m, clock, o := absentStage(t)
	before := st.server.Requests(botLogin)
	step := func(late time.Duration, requests int) error {
		t.Helper()
		clock.late = late
		err := m.Step(t.Context())
		if got := st.server.Requests(botLogin) - before; got > requests {
			t.Errorf("%d requests after %s, want at most %d:\n%s", got, late, requests, st.server.Transcript())
		}
		return err
	}
	for _, late := range []time.Duration{0, time.Second, time.Minute, 2 * time.Minute} {
		if err := step(late, 3); err != nil || m.LastError() == nil {
			t.Fatalf("after %s: %v, last error %v", late, err, m.LastError())
		}
	}
	if mirror.Shown(st.session.Dir, st.state.Seq) {
		t.Error("one look is taken for the truth")
	}
	if err := step(4*time.Minute, 5); !errors.Is(err, mirror.ErrIssueGone) || !m.CaughtUp(st.state.Seq) {
		t.Fatalf("after two looks: %v", err)
	}
	st.play(`10:08 1 resumed {"reason":"x"}`)
	if !mirror.Shown(st.session.Dir, st.state.Seq) {
		t.Error("what cannot be shown is owed")
	}
	before = st.server.Requests(botLogin)
	m = st.mirror(o)
	if err := step(5*time.Minute, 2); !errors.Is(err, mirror.ErrIssueGone) {
		t.Errorf("the next mirror: %v", err)
	}
}

// The second look is made by the mirror that runs then: a mirror that was stopped in between has
// not lost the first.
func TestSecondLookIsTheNextMirrors(t *testing.T) {
	st, m, clock, o := absentStage(t)
	if err := m.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.late = time.Hour
	if err := st.mirror(o).Step(t.Context()); !errors.Is(err, mirror.ErrIssueGone) {
		t.Errorf("error %v", err)
	}
}

func TestMirrorOutlivesAMomentWithoutItsIssue(t *testing.T) {
	want := calmEnd(t, "in step")
	for name, read := range map[string]string{
		"repository": "GET ...", "issue": "GET .../issues/{number}",
	} {
		for pace, between := range map[string]time.Duration{"same mirror": 20 * time.Millisecond, "next mirror": time.Hour} {
			t.Run(name+", "+pace, func(t *testing.T) {
				st := newStage(t)
				o := st.options()
				o.Pace.Gone = between
				m := st.mirror(o)
				for i, line := range st.script {
					if i == len(st.script)/2 {
						st.server.Inject(
							fakehub.Fault{Route: "PATCH .../issues/comments/{id}", Times: 1, Status: 404},
							fakehub.Fault{Route: read, Times: 1, Status: 404},
						)
					}
					switch {
					case line != "sync":
						st.play(line)
					case between < time.Hour:
						st.finish(m)
					default:
						if err := m.Step(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				if between == time.Hour {
					late := st.options()
					late.Now = func() time.Time { return st.clock().Add(2 * time.Hour) }
					m = st.mirror(late)
				}
				st.finish(m)
				if st.server.Hits() != 2 {
					t.Fatalf("%d faults met", st.server.Hits())
				}
				if got := st.end(); got != want {
					t.Errorf("end:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}
