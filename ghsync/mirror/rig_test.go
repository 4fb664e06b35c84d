package mirror_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const testDefinition = `version: 1
name: feature
description: Plan to pull request
start: planning
phases:
  - {id: planning, kind: plan, dir: 04_planning, research: true, next: {accepted: implementing}}
  - {id: implementing, kind: implement, dir: 06_implementation, next: {completed: reviewing}}
  - {id: reviewing, kind: review, dir: 07_review, next: {passed: completing, failed: fixing, exhausted: completing}}
  - {id: fixing, kind: fix, dir: 06_implementation, next: {completed: reviewing}}
  - {id: completing, kind: complete, dir: 08_completion, next: {approved: done, changes_requested: planning}}
`

// scene is a session directory and a script of what happens in it. The script's lines are
// "HH:MM visit type {data}"; "sync" stands for a moment at which the mirror catches up.
type scene struct {
	t       testing.TB
	session *session.Session
	state   orchestrator.State
	blobs   map[string]string // name -> sha256
	content map[string][]byte
}

var sceneStart = time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC)

// newScene makes the session of issue 12 with the files of an archive.
func newScene(t testing.TB, files map[string][]byte) *scene {
	t.Helper()
	truth := true
	state := orchestrator.State{
		Settings: orchestrator.DefaultSettings(), BaseBranch: "main", BaseSHA: strings.Repeat("ab", 20), IssueNumber: 12,
		Repo: "octo/widgets", IssueTitle: "Add retry", GHAvailable: &truth,
		ConfigSource: "4e1f9c2a8b7d6e5f4e1f9c2a8b7d6e5f4e1f9c2a", Workflow: "feature",
		Trigger: "label/agentmux/2026-11-21T10:04:31Z/9", Identity: "00000000",
	}
	if extra := files["settings.json"]; extra != nil {
		if err := json.Unmarshal(extra, &state.Settings); err != nil {
			t.Fatal(err)
		}
	}
	more := map[string][]byte{}
	if data, ok := files["issue_snapshot.json"]; ok {
		more["issue_snapshot.json"] = data
	}
	s, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: sceneStart, Source: "Add retry", Request: "Add retry.", Definition: []byte(testDefinition),
		Files: more, State: state,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	read, err := s.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	sc := &scene{t: t, session: s, state: *read, blobs: map[string]string{}, content: map[string][]byte{}}
	for name, data := range files {
		if name, ok := strings.CutPrefix(name, "blob/"); ok {
			sha, err := s.PutBlob(data)
			if err != nil {
				t.Fatal(err)
			}
			sc.blobs[name] = sha
		}
	}
	return sc
}

var (
	scriptLine = regexp.MustCompile(`^(\d\d):(\d\d) (\d+) ([a-z_]+) ?(\{.*\})?$`)
	blobRef    = regexp.MustCompile(`\$blob:(\w+)`)
)

// play commits lines of a script as records of one step.
func (sc *scene) play(lines ...string) {
	sc.t.Helper()
	events := make([]orchestrator.Event, len(lines))
	for i, line := range lines {
		m := scriptLine.FindStringSubmatch(line)
		if m == nil {
			sc.t.Fatalf("script: %q", line)
		}
		hour, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		visit, _ := strconv.Atoi(m[3])
		at := time.Date(2026, 11, 21, hour, minute, 0, 0, time.UTC)
		text := blobRef.ReplaceAllStringFunc(m[5], func(ref string) string { return sc.blobs[strings.TrimPrefix(ref, "$blob:")] })
		var data map[string]any
		if text != "" {
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				sc.t.Fatalf("script: %q: %v", line, err)
			}
		}
		events[i] = sc.event(at, visit, m[4], data)
	}
	sc.commit(events...)
}

// event is the next record, which is in the state already.
func (sc *scene) event(at time.Time, visit int, kind string, data map[string]any) orchestrator.Event {
	sc.state.Seq++
	sc.apply(kind, data)
	line, err := json.Marshal(data)
	if err != nil {
		sc.t.Fatal(err)
	}
	return orchestrator.Event{Seq: sc.state.Seq, TS: orchestrator.At(at), Type: kind, Phase: sc.state.Phase, Visit: visit, Data: orchestrator.ReadRecord(kind, line)}
}

func (sc *scene) commit(events ...orchestrator.Event) {
	sc.t.Helper()
	if err := sc.session.Commit(decide.Step{State: &sc.state, Events: events, Changed: true}); err != nil {
		sc.t.Fatal(err)
	}
}

// apply keeps what the mirror reads from state.json in step with the records.
func (sc *scene) apply(kind string, data map[string]any) {
	text := func(key string) string { s, _ := data[key].(string); return s }
	switch kind {
	case orchestrator.EvVerdict:
		if sc.state.ReviewResults == nil {
			sc.state.ReviewResults = map[string]orchestrator.ReviewResult{}
		}
		sc.state.ReviewResults[text("role")] = orchestrator.ReviewResult{Verdict: text("verdict"), Tree: text("tree")}
		sc.state.Completion.Tree = text("tree")
	case orchestrator.EvCommitCreated, orchestrator.EvBranchPushed:
		sc.state.Completion.Commit = text("sha")
	case orchestrator.EvSchedule:
		sc.state.Completion.Commit, sc.state.ReviewResults = "", nil
	case orchestrator.EvDone:
		sc.state.Outcome, sc.state.Phase = orchestrator.Optional(text("outcome")), orchestrator.PhaseDone
	}
}

// archive reads a txtar file of testdata.
func archive(t *testing.T, path string) (*txtar.Archive, map[string][]byte) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range a.Files {
		files[f.Name] = f.Data
	}
	return a, files
}

// paper is a server with one issue that notes what is written. Its zero value is ready; it is safe for use
// by several goroutines.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
	last int64
	has  []string // labels of the issue
}

func (p *paper) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(&p.text, format, args...)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *paper) Create(_ context.Context, _ ghsync.Repo, on int, body markdown.Text) (id, author int64, err error) {
	p.mu.Lock()
	p.last++
	id = p.last
	p.mu.Unlock()
	p.note("=== new comment %d on #%d\n%s\n", id, on, body)
	return id, 9, nil
}

func (p *paper) Edit(_ context.Context, _ ghsync.Repo, id int64, body markdown.Text) error {
	p.note("=== comment %d edited\n%s\n", id, body)
	return nil
}

func (p *paper) Delete(_ context.Context, _ ghsync.Repo, id int64) error {
	p.note("=== comment %d deleted\n", id)
	return nil
}

func (p *paper) AddLabel(_ context.Context, _ ghsync.Repo, issue int, name string) ([]string, error) {
	p.note("=== label %s added to #%d\n", name, issue)
	p.has = append(p.has, name)
	return p.has, nil
}

func (p *paper) RemoveLabel(_ context.Context, _ ghsync.Repo, issue int, name string) error {
	p.note("=== label %s removed from #%d\n", name, issue)
	p.has = slices.DeleteFunc(p.has, func(has string) bool { return has == name })
	return nil
}

// Since finds nothing: what is asked for is what a server may have lost.
func (p *paper) Since(context.Context, ghsync.Repo, int, time.Time) ([]ghsync.Comment, error) {
	return nil, nil
}

func (p *paper) Server() string { return "" }

func (p *paper) Viewer(context.Context) (ghsync.Account, error) { return ghsync.Account{ID: 9}, nil }

func (p *paper) RepositoryByID(context.Context, int64) (ghsync.Repository, error) {
	return ghsync.Repository{Repo: octoWidgets}, nil
}

func (p *paper) Issue(_ context.Context, repo ghsync.Repo, n int) (ghsync.Issue, error) {
	return ghsync.Issue{Repo: repo, Number: n, Labels: p.has}, nil
}

func (p *paper) CommitStatus(context.Context, ghsync.Repo, string, ghsync.CommitState, string, string) error {
	return nil
}

// onPaper is what stands in for a whole server.
type onPaper interface {
	mirror.Comments
	mirror.Labels
	mirror.Place
	mirror.Verdicts
}

func serverOf(p onPaper) mirror.Server {
	return mirror.Server{Comments: p, Labels: p, Place: p, Verdicts: p}
}

// mirror makes a mirror of the scene that writes into sink and waits for nothing.
func (sc *scene) mirror(o mirror.Options) *mirror.Mirror {
	sc.t.Helper()
	o.Dir, o.Issue, o.Repo = sc.session.Dir, 12, octoWidgets
	o.Host, o.Sandbox = "h_5f3c9a0b11d2e4f7", "bwrap"
	m, err := mirror.New(o)
	if err != nil {
		sc.t.Fatal(err)
	}
	return m
}

func (sc *scene) finish(m *mirror.Mirror) {
	sc.t.Helper()
	ctx, cancel := context.WithTimeout(sc.t.Context(), 2*time.Minute)
	defer cancel()
	if err := m.Finish(ctx); err != nil {
		sc.t.Fatalf("%v; last error: %v", err, m.LastError())
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
