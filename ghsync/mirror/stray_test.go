package mirror_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const otherHost = "a_91_1"

// saved is the session as a checkpoint has it now.
func (st *stage) saved() *stage {
	st.t.Helper()
	dir := filepath.Join(st.t.TempDir(), filepath.Base(st.session.Dir))
	if err := os.CopyFS(dir, os.DirFS(st.session.Dir)); err != nil {
		st.t.Fatal(err)
	}
	s, err := session.Open(dir)
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { s.Close() })
	if err := s.Lock(0); err != nil {
		st.t.Fatal(err)
	}
	if _, err := s.Recover(sceneStart); err != nil {
		st.t.Fatal(err)
	}
	sc := *st.scene
	sc.session = s
	other := *st
	other.scene = &sc
	return &other
}

// continued is the mirror of the host that has the session now.
func (st *stage) continued(change ...func(*mirror.Options)) *mirror.Mirror {
	st.t.Helper()
	st.server.Sessions(filepath.Dir(st.session.Dir))
	o := st.options()
	for _, c := range change {
		c(&o)
	}
	o.Dir, o.Issue, o.Repo, o.Host = st.session.Dir, 12, octoWidgets, otherHost
	m, err := mirror.New(o)
	if err != nil {
		st.t.Fatal(err)
	}
	return m
}

// round plays a review round from its begin to its decision.
func (st *stage) round(minute, verdict, event string) {
	st.t.Helper()
	st.play(
		`10:`+minute+` 1 review_started {"iteration":0,"roles":["reviewer_logic"],"tree":"a41df31c0ffee"}`,
		`10:`+minute+` 1 verdict {"role":"reviewer_logic","iteration":0,"verdict":"`+verdict+`","tree":"a41df31c0ffee","findings":0}`,
		`10:`+minute+` 1 event {"event":"`+event+`","label":"x"}`)
}

// written are the comments of a kind.
func (st *stage) written(kind string) (bodies []string) {
	for _, c := range st.repo.Comments(12) {
		if m, ok := ghsync.ParseMarker(c.Body); ok && m.Kind == kind {
			bodies = append(bodies, c.Body)
		}
	}
	return bodies
}

const (
	moved    = `10:40 1 moved {"from_host":"h_5f3c9a0b11d2e4f7","checkpoint":"c0ffee","age":60}`
	question = ` 1 question_asked {"id":"q1","role":"planner","task":"","text":"Keep the flag?","options":[]}`
)

// A host is gone whose last comments are of records that no checkpoint has. The next host makes none of them twice: what
// it has to tell takes their place, whatever their numbers were, and what nobody tells again is said not to hold.
func TestWhatALostHostToldIsNotToldTwice(t *testing.T) {
	for name, c := range map[string]struct {
		before  string // a record of the lost host before its review
		between string // a record of the next host before its review, so that the numbers differ
		verdict string
		event   string
		title   string
	}{
		"the same":        {verdict: "fail", event: "review_failed", title: "### Review round 1: **fail**"},
		"another verdict": {verdict: "pass", event: "review_passed", title: "### Review round 1: **pass**"},
		"another verdict with its number": {
			before: `10:29 1 research {"id":"r1","status":"done"}`, verdict: "pass", event: "review_passed", title: "### Review round 1: **pass**",
		},
		"another number": {between: `10:41 1 research {"id":"r1","status":"done"}`, verdict: "pass", event: "review_passed", title: "### Review round 1: **pass**"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			st.play(`10:06 1 phase_entered {"phase":"reviewing","kind":"review"}`)
			m := st.mirror(st.options())
			st.finish(m)
			next := st.saved()
			if c.before != "" {
				st.play(c.before)
			}
			st.round("30", "fail", "review_failed")
			st.play(`10:31` + question)
			st.finish(m)
			ids := commentIDs(st)

			other := next.continued()
			next.play(moved)
			if c.between != "" {
				next.play(c.between)
			}
			next.round("42", c.verdict, c.event)
			next.finish(other)
			verdicts := next.written(ghsync.KindVerdict)
			if len(verdicts) != 1 || !strings.HasPrefix(verdicts[0], c.title) {
				t.Errorf("verdicts:\n%s", strings.Join(verdicts, "\n===\n"))
			}
			if asked := next.written(ghsync.KindQuestion); len(asked) != 1 || !strings.Contains(asked[0], "Keep the flag?") {
				t.Errorf("before the end, questions:\n%s", asked)
			}
			next.play(`10:50 1 done {"outcome":"done"}`)
			next.finish(next.continued())
			if asked := next.written(ghsync.KindQuestion); len(asked) != 1 || !strings.Contains(asked[0], "no longer holds") || strings.Contains(asked[0], "flag") {
				t.Errorf("at the end, questions:\n%s", asked)
			}
			if got := commentIDs(next); !slices.Equal(got[:len(ids)], ids) || len(got) != len(ids)+1 {
				t.Errorf("comments %v, before %v", got, ids)
			}
			before := len(st.server.Log())
			next.finish(next.continued())
			if n := len(st.server.Log()); n != before {
				t.Errorf("once more: %+v", st.server.Log()[before:])
			}
		})
	}
}

func commentIDs(st *stage) (ids []int64) {
	for _, c := range st.repo.Comments(12) {
		ids = append(ids, c.ID)
	}
	return ids
}

// A comment whose number a record of another kind has now does not count as that one's.
func TestALostCommentIsNotTakenForAnother(t *testing.T) {
	st := newStage(t)
	st.play(`10:06 1 phase_entered {"phase":"reviewing","kind":"review"}`)
	m := st.mirror(st.options())
	st.finish(m)
	next := st.saved()
	st.play(`10:30 1 research {"id":"r1","status":"done"}`, `10:31`+question)
	st.finish(m)
	lost, _ := ghsync.ParseMarker(st.written(ghsync.KindQuestion)[0])

	next.play(moved, `10:42 1 needs_human {"reason":"limit"}`)
	if next.state.Seq != lost.Seq {
		t.Fatalf("record %d, want the number of the lost one, %d", next.state.Seq, lost.Seq)
	}
	next.state.Outcome = "needs_human"
	next.finish(next.continued())
	if final := next.written(ghsync.KindFinal); len(final) != 1 {
		t.Errorf("it is not told that a person is needed: %q", final)
	}
}

// away is a server that does not answer when it is asked for comments.
type away struct{ mirror.Comments }

func (away) Since(context.Context, ghsync.Repo, int, time.Time) ([]ghsync.Comment, error) {
	return nil, &transport.RetryAfter{Wait: time.Second}
}

// The host that begins to look for earlier comments is killed before it has; the next start of it looks all the same.
func TestEarlierCommentsAreLookedForUntilTheyAreFound(t *testing.T) {
	st := newStage(t)
	st.play(`10:06 1 phase_entered {"phase":"reviewing","kind":"review"}`)
	next := st.saved()
	st.finish(st.mirror(st.options()))

	m := next.continued(func(o *mirror.Options) { o.Server.Comments = away{} })
	if err := m.Step(t.Context()); err != nil || m.LastError() == nil {
		t.Fatalf("%v, last %v", err, m.LastError())
	}
	next.finish(next.continued())
	if n := len(next.written(ghsync.KindStatus)); n != 1 {
		t.Errorf("%d status comments", n)
	}
}

// A host that makes fewer comments than the one before it leaves those alone that its records hold.
func TestACommentOfAnotherModeStays(t *testing.T) {
	st := newStage(t)
	st.play(`10:06 1 phase_entered {"phase":"reviewing","kind":"review"}`)
	m := st.mirror(st.options())
	st.finish(m)
	st.round("30", "pass", "review_passed")
	next := st.saved()
	st.finish(m)
	want := st.written(ghsync.KindVerdict)

	next.play(moved, `10:50 1 done {"outcome":"done"}`)
	next.finish(next.continued(func(o *mirror.Options) { o.Mode = mirror.Quiet }))
	if got := next.written(ghsync.KindVerdict); len(want) != 1 || !slices.Equal(got, want) {
		t.Errorf("verdicts:\n%q\nbefore:\n%q", got, want)
	}
}
