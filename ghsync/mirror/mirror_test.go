package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// quickPace waits next to nothing.
var quickPace = mirror.Pace{
	Debounce: time.Millisecond, Between: time.Millisecond, Busy: time.Millisecond, Look: 5 * time.Millisecond,
	Again: 5 * time.Millisecond, Labels: time.Hour, Backoff: time.Millisecond, Scan: 5 * time.Millisecond,
	Gone: 20 * time.Millisecond,
}

// stage is a server with issue 12, labelled, and a scene to be mirrored on it.
type stage struct {
	*scene
	server *fakehub.Server
	repo   *fakehub.Repo
	script []string
	files  map[string][]byte
	clock  func() time.Time     // of the server and of this machine
	dies   func(*mirror.Mirror) // see runKilled
}

func newStage(t *testing.T, change ...func(*fakehub.Options)) *stage {
	t.Helper()
	began := time.Now()
	clock := func() time.Time { return sceneStart.Add(time.Since(began)) }
	s := world(t, append([]func(*fakehub.Options){func(o *fakehub.Options) { o.Now = clock }}, change...)...)
	r := s.Repo(widgets)
	for range 12 {
		r.AddIssue(fakehub.IssueSpec{Title: "Add retry", Author: "read"})
	}
	r.Label(12, "agentmux", "write")
	r.Label(12, "bug", "write")
	_, files := archive(t, "testdata/feature.txtar")
	delete(files, "notes")
	sc := newScene(t, files)
	s.Sessions(filepath.Dir(sc.session.Dir))
	st := &stage{scene: sc, server: s, repo: r, clock: clock, files: files}
	for line := range strings.Lines(string(files["script"])) {
		if line = strings.TrimSpace(line); line != "" {
			st.script = append(st.script, line)
		}
	}
	return st
}

// openPR makes the branch and the pull request that the script speaks of, and puts their
// true names into it.
func (st *stage) openPR() {
	st.t.Helper()
	sha := st.repo.Commit(fakehub.CommitSpec{Branch: "agentmux/issue-12-add-retry", Message: "m", Files: map[string]string{"a": "b"}})
	pr, err := (&ghsync.PullRequest{Client: clientOf(st.t, st.server, botLogin)}).Ensure(st.t.Context(), ghsync.PullRequestSpec{
		Repo: octoWidgets, Branch: "agentmux/issue-12-add-retry", Base: "main", Title: "Add retry", Ready: true, Reviewer: "write",
		Body: markdown.Finish(redact.New(), "text\n"+ghsync.Marker{Session: "of-this-test", Kind: ghsync.KindStatus, Seq: 42}.String()),
	})
	if err != nil {
		st.t.Fatal(err)
	}
	for i := range st.script {
		st.script[i] = strings.ReplaceAll(st.script[i], "b07d3e9000000000000000000000000000000000", sha)
		st.script[i] = strings.ReplaceAll(st.script[i], `"number":88`, fmt.Sprintf(`"number":%d`, pr.Number))
	}
}

func (st *stage) options() mirror.Options {
	return mirror.Options{Server: mirror.On(clientOf(st.t, st.server, botLogin)), RepoID: st.repo.ID(), Pace: quickPace, Now: st.clock}
}

// run plays the script and lets the mirror catch up at each sync.
func (st *stage) run(m *mirror.Mirror) {
	st.t.Helper()
	for lines := range st.parts() {
		st.play(lines...)
		st.finish(m)
	}
}

// parts yields what the script says until each sync, and until its end.
func (st *stage) parts() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		rest := st.script
		for len(rest) > 0 {
			n := slices.Index(rest, "sync")
			if n < 0 {
				yield(rest)
				return
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n+1:]
		}
	}
}

// end is what the issue shows, comments by kind and labels.
func (st *stage) end() string {
	var b strings.Builder
	for _, c := range st.repo.Comments(12) {
		b.WriteString(c.Body + "\n====\n")
	}
	labels := slices.Clone(st.repo.Issue(12).Labels)
	slices.Sort(labels)
	fmt.Fprintln(&b, labels)
	return b.String()
}

func TestGitHub71ReferenceSessionStaysWithinItsBudget(t *testing.T) {
	st := newStage(t)
	c := clientOf(t, st.server, botLogin)
	record, err := c.Record(t.Context(), octoWidgets, 12)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Permission(t.Context(), record.Repository.Repo, "write"); err != nil {
		t.Fatal(err)
	}
	o := st.options()
	o.Server = mirror.On(c)
	m := st.mirror(o)
	for i := range st.script {
		if strings.Contains(st.script[i], "commit_created") {
			st.openPR() // and puts its names into the script
		}
		if st.script[i] == "sync" {
			st.finish(m)
			continue
		}
		st.play(st.script[i])
	}
	st.finish(m)
	st.server.AssertBudget(t, botLogin, fakehub.Reference)
	t.Logf("%d requests, %g content writes", st.server.Requests(botLogin), st.server.ContentWrites(botLogin))
	if labels := st.repo.Issue(12).Labels; !slices.Equal(labels, []string{"bug", "agentmux:done"}) {
		t.Errorf("labels %q", labels)
	}
	comments := st.repo.Comments(12)
	if len(comments) != 4 || !strings.HasPrefix(comments[0].Body, "### agentmux: done in 52 min") {
		t.Errorf("%d comments:\n%s", len(comments), st.end())
	}
	statuses := st.repo.Statuses(st.repo.Pulls()[0].HeadSHA)
	if len(statuses) != 1 || statuses[0].State != "success" || !strings.Contains(statuses[0].TargetURL, fmt.Sprint(comments[0].ID)) {
		t.Errorf("commit statuses %+v", statuses)
	}
	if !m.CaughtUp(st.state.Seq) || m.CaughtUp(st.state.Seq+1) {
		t.Error("caught up is wrong")
	}
}

func TestSecondMirrorOfTheSameRecordsWritesTheSame(t *testing.T) {
	live := newStage(t)
	live.openPR()
	live.run(live.mirror(live.options()))
	replay := newStage(t)
	replay.openPR()
	for _, line := range replay.script {
		if line != "sync" {
			replay.play(line)
		}
	}
	replay.finish(replay.mirror(replay.options()))
	// The commits differ by their dates.
	first := strings.ReplaceAll(live.end(), live.repo.Pulls()[0].HeadSHA[:7], "COMMIT")
	second := strings.ReplaceAll(replay.end(), replay.repo.Pulls()[0].HeadSHA[:7], "COMMIT")
	if first != second {
		t.Errorf("live:\n%s\nreplayed:\n%s", first, second)
	}
}

func TestGitHub50LostMemoryIsRebuiltFromOurComments(t *testing.T) {
	calm := newStage(t)
	calm.run(calm.mirror(calm.options()))
	st := newStage(t)
	// Of another account, and older than the mirror's: it would be taken first.
	theirs := "text\n" + ghsync.Marker{Session: st.state.SessionID, Kind: ghsync.KindStatus, Seq: 4}.String()
	id := st.repo.Comment(12, theirs, "write")
	st.run(st.mirror(st.options()))
	if err := os.Remove(st.session.Path(session.MirrorFile)); err != nil {
		t.Fatal(err)
	}
	st.finish(st.mirror(st.options()))
	if c := st.repo.Comments(12)[0]; c.ID != id || c.Body != theirs {
		t.Errorf("a person's comment is now %d: %s", c.ID, c.Body)
	}
	st.repo.DeleteComment(id, "write")
	if after, want := st.end(), calm.end(); after != want {
		t.Errorf("after:\n%s\nwant:\n%s", after, want)
	}
}

func TestLockedIssueGetsLabelsAndThePullRequestTheComments(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "during": false} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			st.openPR()
			o := st.options()
			asApp := st.server.ActionsToken(widgets, map[string]string{"issues": "write", "pull_requests": "write", "statuses": "write"}, 0)
			o.Server = mirror.On(tokenClient(t, st.server, asApp))
			m := st.mirror(o)
			for i, line := range st.script {
				if i == 0 && before || strings.Contains(line, "subplan_done") && !before {
					st.repo.Lock(12, true)
				}
				if line == "sync" {
					st.finish(m)
					continue
				}
				st.play(line)
			}
			st.finish(m)
			if !m.Locked() {
				t.Error("the lock was not noticed")
			}
			refused := 0
			for _, c := range st.server.Calls() {
				if c.Method == http.MethodPost && strings.HasSuffix(c.Path, "/issues/12/comments") && c.Status == 403 {
					refused++
				}
			}
			if refused != 1 {
				t.Errorf("%d comments tried on the locked issue:\n%s", refused, st.server.Transcript())
			}
			pr := st.repo.Pulls()[0].Number
			var kinds []string
			for _, c := range st.repo.Comments(pr) {
				marker, _ := ghsync.ParseMarker(c.Body)
				kinds = append(kinds, marker.Kind)
			}
			if before && !slices.Contains(kinds, ghsync.KindStatus) || !slices.Contains(kinds, ghsync.KindFinal) {
				t.Errorf("on the pull request: %q", kinds)
			}
			if labels := st.repo.Issue(12).Labels; !slices.Contains(labels, "agentmux:done") {
				t.Errorf("labels %q", labels)
			}
		})
	}
}

func tokenClient(t testing.TB, s *fakehub.Server, token string) *ghsync.Client {
	t.Helper()
	c, err := ghsync.New(transport.Options{
		APIURL: s.API(), GraphQLURL: s.GraphQL(), ServerURL: s.URL(), Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(token), transport.Addresses{API: s.API(), GraphQL: s.GraphQL(), Server: s.URL()}),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRefusedWriteStopsItsKindOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		fault fakehub.Fault
		want  []string
		not   []string
	}{
		"labels": {fakehub.Refuse("POST .../issues/{number}/labels", "inaccessible"), []string{"kind=final", "done in 52 min"}, []string{"agentmux:done"}},
		"one comment": {fakehub.Fault{Route: "POST .../issues/{number}/comments", From: 2, Times: 1, Status: 422, Message: "Validation Failed"},
			[]string{"kind=final", "done in 52 min", "agentmux:done", "round 2"}, []string{"Review round 1"}},
		"edits": {fakehub.Fault{Route: "PATCH .../issues/comments/{id}", Status: 403, Message: "Resource not accessible by integration"},
			[]string{"kind=final", "agentmux:done", "round 1"}, []string{"agentmux: done in"}},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			st.server.Inject(tc.fault)
			st.run(st.mirror(st.options()))
			end := strings.ToLower(st.end())
			for _, want := range tc.want {
				if !strings.Contains(end, strings.ToLower(want)) {
					t.Errorf("%q is missing in\n%s", want, end)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(end, "### "+strings.ToLower(not)) || strings.Contains(end, "agentmux: "+not) || strings.Contains(end, "["+not) {
					t.Errorf("%q is in\n%s", not, end)
				}
			}
			refused := 0
			for _, c := range st.server.Calls() {
				if c.Status == 403 {
					refused++
				}
			}
			if refused > 1 {
				t.Errorf("asked %d times what was refused", refused)
			}
		})
	}
}

func TestLostClaimEndsTheMirror(t *testing.T) {
	st := newStage(t)
	o := st.options()
	lost := false
	o.Guard = func(context.Context) error {
		if lost {
			return mirror.ErrClaimLost
		}
		return nil
	}
	m := st.mirror(o)
	for _, line := range st.script {
		if line == "sync" {
			break
		}
		st.play(line)
	}
	st.finish(m)
	lost = true
	st.play("10:07 1 failed {\"cause\":\"x\",\"next\":\"agentmux resume\"}")
	writes := len(st.server.Log())
	if err := m.Finish(t.Context()); !errors.Is(err, mirror.ErrClaimLost) {
		t.Errorf("error %v", err)
	}
	for _, e := range st.server.Log()[writes:] {
		if strings.HasPrefix(e.Route, "POST") {
			t.Errorf("written after the claim was lost: %s %s", e.Route, e.Path)
		}
	}
}

func TestStoppedByAPersonLeavesNoLabelOfOurs(t *testing.T) {
	st := newStage(t)
	m := st.mirror(st.options())
	st.play(st.script[0])
	st.finish(m)
	st.play(`10:20 1 canceled {"cause":"issue","actor":"octo-dev","next":"agentmux resume x"}`)
	st.finish(m)
	if labels := st.repo.Issue(12).Labels; !slices.Equal(labels, []string{"bug"}) {
		t.Errorf("labels %q", labels)
	}
	if got := st.end(); !strings.Contains(got, "Stopped by `octo-dev`.") {
		t.Errorf("end:\n%s", got)
	}
}

// What the intake reads as a request goes with the first state label, and nothing else.
func TestFirstLabelTakesTheRequestOff(t *testing.T) {
	st := newStage(t)
	for _, name := range []string{"agentmux:quick", "AgentMux:Odd_Name", "agentmux:stop", "agentmux:failed"} {
		st.repo.Label(12, name, "write")
	}
	st.play(st.script[0])
	st.finish(st.mirror(st.options()))
	labels := slices.Clone(st.repo.Issue(12).Labels)
	slices.Sort(labels)
	if !slices.Equal(labels, []string{"agentmux:running", "agentmux:stop", "bug"}) {
		t.Errorf("labels %q", labels)
	}
}

func TestSecurity7SecretsDoNotReachTheIssue(t *testing.T) {
	st := newStage(t)
	secret := "correct-horse-battery-staple"
	st.server.Canary(secret)
	o := st.options()
	o.Redactor = redact.New()
	if err := o.Redactor.Add("provider-key", secret); err != nil {
		t.Fatal(err)
	}
	m := st.mirror(o)
	st.play(st.script[0])
	st.play(`10:20 1 question_asked {"id":"q1","role":"planner","task":"","text":"Is ` + secret + ` the key?","options":["` + secret + `","no"]}`)
	st.finish(m)
	if got := st.end(); !strings.Contains(got, "[redacted:provider-key]") || !strings.Contains(got, "agentmux:needs-human") {
		t.Errorf("end:\n%s", got)
	}
}

func TestGitHub51ManyRecordsMakeFewEdits(t *testing.T) {
	records := 500
	if testing.Short() {
		records = 100
	}
	synctest.Test(t, func(t *testing.T) {
		sc := newScene(t, nil)
		sink := &paper{}
		m := sc.mirror(mirror.Options{Server: serverOf(sink)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		sc.play(`10:06 1 phase_entered {"phase":"implementing","kind":"implement","reason":"start"}`)
		sc.play(fmt.Sprintf(`10:06 1 schedule {"subplans":%d,"groups":[]}`, records))
		m.Wake()
		<-time.After(20 * time.Second)
		for i := range records {
			sc.commit(sc.event(time.Now(), 1, "subplan_done", map[string]any{"id": fmt.Sprint(i)}))
			m.Wake()
			<-time.After(time.Second / time.Duration(records))
		}
		<-time.After(20 * time.Second)
		if !m.CaughtUp(sc.state.Seq) {
			t.Error("not caught up")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if edits := strings.Count(sink.String(), "edited"); edits < 1 || edits > 2 || !strings.Contains(sink.String(), fmt.Sprintf("%d of %[1]d subplans", records)) {
			t.Errorf("%d edits:\n%s", edits, sink.String())
		}
	})
}

func TestQuietTimesMakeNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := newScene(t, nil)
		sink := &paper{}
		m := sc.mirror(mirror.Options{Server: serverOf(sink)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
		<-time.After(time.Minute)
		synctest.Wait()
		before := sink.String()
		hours, more := 3, 30
		if testing.Short() {
			hours, more = 1, 5
		}
		<-time.After(time.Duration(hours) * time.Hour)
		for range more {
			sc.play(`10:06 1 agent_status {"role":"planner","message":"still at it"}`)
			<-time.After(time.Minute)
		}
		synctest.Wait()
		if sink.String() != before {
			t.Errorf("written in quiet times:\n%s", sink.String())
		}
		cancel()
		<-done
	})
}

// The paces of the status are multiples of the interval between writes.
func TestPacesFollowTheWriteInterval(t *testing.T) {
	for name, c := range map[string]struct {
		write                   time.Duration
		debounce, between, busy time.Duration
	}{
		"default": {0, 2 * time.Second, 8 * time.Second, 30 * time.Second},
		"100 ms":  {100 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := mirror.Pace{Write: c.write}.WithDefaults()
			if p.Debounce != c.debounce || p.Between != c.between || p.Busy != c.busy {
				t.Errorf("%+v", p)
			}
		})
	}
	if p := (mirror.Pace{Write: -1}).WithDefaults(); p.Debounce > 0 || p.Between > 0 || p.Busy > 0 {
		t.Errorf("without an interval %+v", p)
	}
}
