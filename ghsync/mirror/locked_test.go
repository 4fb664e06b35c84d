package mirror_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
)

// asApp is how an app mirrors, which may not comment where comments are locked.
func (st *stage) asApp() mirror.Options {
	o := st.options()
	token := st.server.ActionsToken(widgets, map[string]string{"issues": "write", "pull_requests": "write", "statuses": "write"}, 0)
	o.Server = mirror.On(tokenClient(st.t, st.server, token))
	return o
}

// kinds are those of the comments on an issue or a pull request.
func (st *stage) kinds(on int) []string {
	var kinds []string
	for _, c := range st.repo.Comments(on) {
		marker, _ := ghsync.ParseMarker(c.Body)
		kinds = append(kinds, marker.Kind)
	}
	return kinds
}

// refused counts what was refused with 403.
func (st *stage) refused() int {
	n := 0
	for _, c := range st.server.Calls() {
		if c.Status == http.StatusForbidden {
			n++
		}
	}
	return n
}

// changeRound is a session that is asked for changes after its pull request was opened: the
// verdict of the next round goes there.
var changeRound = []string{
	"sync",
	`11:00 7 resumed {"reason":"changes","changes":true}`,
	`11:01 7 phase_entered {"phase":"reviewing","kind":"review","reason":"completed"}`,
	`11:01 7 review_started {"iteration":0,"roles":["reviewer_logic"],"tree":"c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"}`,
	`11:02 7 verdict {"role":"reviewer_logic","iteration":0,"verdict":"pass","tree":"c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0","findings":0}`,
	`11:02 7 event {"event":"review_passed","label":"review passed"}`,
	"sync",
	`11:03 7 question_asked {"id":"q1","role":"coder","task":"","text":"Which?","options":["a","b"]}`,
	"sync",
	`11:05 8 done {"outcome":"done","commit":"","pr_url":"","seconds":1}`,
}

func TestCommentsGoToTheIssueOfALockedPullRequest(t *testing.T) {
	st := newStage(t)
	st.openPR()
	pr := st.repo.Pulls()[0].Number
	st.repo.Lock(pr, true)
	st.script = append(st.script, changeRound...)
	m := st.mirror(st.asApp())
	st.run(m)
	if m.Locked() {
		t.Error("the issue counts as locked")
	}
	want := []string{"status", "verdict", "verdict", "final", "verdict", "question", "final"}
	if got := st.kinds(12); !slices.Equal(got, want) {
		t.Errorf("on the issue %q, want %q", got, want)
	}
	if got := st.kinds(pr); len(got) != 0 {
		t.Errorf("on the locked pull request %q", got)
	}
	if n := st.refused(); n != 1 {
		t.Errorf("%d requests refused, want the one that told:\n%s", n, st.server.Transcript())
	}
	// The next mirror knows.
	st.play(`11:06 9 failed {"cause":"x","next":"agentmux resume"}`)
	next := st.mirror(st.asApp())
	st.finish(next)
	if next.Locked() || st.refused() != 1 {
		t.Errorf("locked %v, %d refused", next.Locked(), st.refused())
	}
}

func TestNoCommentIsMadeWhereIssueAndPullRequestAreLocked(t *testing.T) {
	st := newStage(t)
	st.openPR()
	pr := st.repo.Pulls()[0].Number
	st.repo.Lock(12, true)
	st.repo.Lock(pr, true)
	st.script = append(st.script, changeRound...)
	m := st.mirror(st.asApp())
	st.run(m)
	if !m.Locked() || len(st.kinds(12))+len(st.kinds(pr)) != 0 {
		t.Errorf("locked %v, comments %q, %q", m.Locked(), st.kinds(12), st.kinds(pr))
	}
	if n := st.refused(); n != 2 {
		t.Errorf("%d requests refused, want one at each:\n%s", n, st.server.Transcript())
	}
	if labels := st.repo.Issue(12).Labels; !slices.Contains(labels, "agentmux:done") {
		t.Errorf("labels %q", labels)
	}
}

// The status is on the pull request after the issue was locked for a while; then that is
// locked. The lock of the one is not the lock of the other.
func TestLockedPullRequestRefusesTheEditOfTheStatus(t *testing.T) {
	st := newStage(t)
	st.openPR()
	pr := st.repo.Pulls()[0].Number
	st.repo.Lock(12, true)
	st.run(st.mirror(st.asApp()))
	if got := st.kinds(pr); !slices.Contains(got, ghsync.KindStatus) {
		t.Fatalf("on the pull request %q", got)
	}
	st.repo.Lock(12, false)
	st.forget() // and with it that the issue was locked
	st.server.Inject(fakehub.Refuse("PATCH .../issues/comments/{id}", "locked"))
	st.play(`11:00 7 resumed {"reason":"changes","changes":true}`)
	m := st.mirror(st.late(st.asApp()))
	st.finish(m)
	if st.server.Hits() != 1 {
		t.Fatalf("%d edits refused", st.server.Hits())
	}
	if got := st.kinds(12); m.Locked() || !slices.Contains(got, ghsync.KindStatus) {
		t.Errorf("locked %v, on the issue %q", m.Locked(), got)
	}
	// Where comments are locked, only a person can delete one.
	for _, c := range st.repo.Comments(pr) {
		st.repo.DeleteComment(c.ID, "write")
	}
}
