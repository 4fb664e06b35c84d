package ghsync_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/ghsynctest"
)

// runMeeting plays the script, in whose middle something happens to the repository.
func (st *stage) runMeeting(m *ghsync.Mirror, happens func()) error {
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

func TestGitHub9MirrorGoesOnUnderTheNewName(t *testing.T) {
	want := calmEnd(t, paces["in step"])
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
				if err := st.server.AddRepo(ghsynctest.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
					t.Fatal(err)
				}
				other := st.server.Repo(widgets)
				for range 12 {
					other.AddIssue(ghsynctest.IssueSpec{Title: "Another", Author: "read"})
				}
				other.SetRole(botLogin, ghsynctest.Write)
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
			if err := st.server.AddRepo(ghsynctest.RepoSpec{Owner: "octo", Name: "gadgets"}); err != nil {
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
			if !errors.Is(err, ghsync.ErrIssueGone) || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("error %v, want one that says %q", err, tc.says)
			}
			if more := st.server.Log()[before:]; len(more) != 0 {
				t.Errorf("written afterwards: %+v", more)
			}
		})
	}
}

// A write that is refused as not found while the issue stands is no reason to end.
func TestMirrorOutlivesAnAbsentThing(t *testing.T) {
	st := newStage(t)
	st.server.Inject(ghsynctest.Fault{Route: "POST .../issues/{number}/labels", From: 2, Status: 404, Message: "Not Found"})
	st.run(st.mirror(st.options()))
	if got := st.end(); !strings.Contains(got, "kind=final") || !strings.Contains(got, "### agentmux: done in") {
		t.Errorf("end:\n%s", got)
	}
}
