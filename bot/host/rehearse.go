package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// PlannedWrite is a write of a session, in the clone or on the server.
type PlannedWrite struct {
	Request string // method and path; "PUSH ref" and "BRANCH name" for git
	Text    string // what it is, for a person
	Again   bool   // repeated as the session goes on
}

// finishWait is how long the end of a rehearsal may take; nothing in it is paced.
const finishWait = time.Minute

// maxRehearsal is more inputs than a session without a failed review has.
const maxRehearsal = 500

// rehearsal walks a session in a directory of its own in which every agent hands in at
// once what is asked of it, and every review passes. The decisions, the mirror and the
// pull request are those of a true run; what they write is recorded and not sent.
type rehearsal struct {
	*runner
	now    time.Time
	tree   string
	line   int
	mirror *mirror.Mirror
	writes []PlannedWrite
}

// rehearse returns the writes in order; the runner is good for nothing else afterwards. The error says where the walk came to a halt; the
// writes before it stand.
func (r *runner) rehearse(ctx context.Context, show bool) ([]PlannedWrite, error) {
	s, err := r.sess.Recover(r.Now())
	if err != nil {
		return nil, err
	}
	w := &rehearsal{runner: r, now: r.Now()}
	if w.tree, err = r.project.Store.Tree(ctx, s.BaseSHA); err != nil {
		return nil, err
	}
	if r.GitHub != nil {
		if r.work.GitHub, err = r.GitHub.Rehearsal(w.held); err != nil {
			return nil, err
		}
		r.GitHub = r.work.GitHub
		if err := w.openMirror(s, show); err != nil {
			return nil, err
		}
	}
	r.state.Store(s)
	err = w.walk(ctx)
	return w.writes, err
}

func (w *rehearsal) openMirror(s *orchestrator.State, show bool) (err error) {
	if !show || s.IssueNumber == 0 {
		return nil
	}
	o := w.mirrorOptions(s, MirrorSpec{HostID: "rehearsal"})
	o.Now = func() time.Time { return w.now } // its pauses pass by the steps of the walk
	w.mirror, err = mirror.New(o)
	return err
}

func (w *rehearsal) walk(ctx context.Context) error {
	if err := w.show(ctx); err != nil { // it looks before the first decision is made
		return err
	}
	if err := w.reduce(ctx, orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}}); err != nil {
		return err
	}
	for range maxRehearsal {
		s := w.state.Load()
		pending := slices.IndexFunc(s.Pending, func(e orchestrator.Effect) bool { return len(e.After) == 0 })
		var in orchestrator.Input
		switch {
		case pending >= 0:
			e := s.Pending[pending]
			res, err := w.carryOut(ctx, e, s)
			if err != nil {
				return err
			}
			in = orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: e.ID, Result: res}}
		case s.Ended():
			return nil
		case s.Gate != nil:
			in = w.approve()
		default:
			var err error
			if in, err = w.handIn(s); err != nil {
				return err
			}
		}
		if err := w.reduce(ctx, in); err != nil {
			return err
		}
	}
	return fmt.Errorf("the walk does not end; it is in phase %s", w.state.Load().Phase)
}

// reduce decides, commits to the scratch directory, and lets the mirror show it.
func (w *rehearsal) reduce(ctx context.Context, in orchestrator.Input) error {
	w.now = w.now.Add(time.Second)
	in.At = w.now
	step, err := decide.Reduce(w.def, w.state.Load(), in)
	if err != nil || !step.Changed {
		return err
	}
	if err := w.sess.Commit(step); err != nil {
		return err
	}
	w.state.Store(step.State)
	return w.show(ctx)
}

// show lets the mirror write what is due.
func (w *rehearsal) show(ctx context.Context) error {
	switch {
	case w.mirror == nil:
		return nil
	case w.state.Load().Ended():
		bounded, cancel := context.WithTimeout(ctx, finishWait) // a server that is away would be waited for
		defer cancel()
		err := w.mirror.Finish(bounded)
		if bounded.Err() != nil && ctx.Err() == nil {
			return errors.New("the server does not answer what the last comments need")
		}
		return err
	}
	return w.mirror.Step(ctx)
}

// carryOut makes an effect true as far as that happens in the session's own directory.
// What an agent would have changed is the base itself.
func (w *rehearsal) carryOut(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	switch e.Type {
	case orchestrator.EffEnsureDirs, orchestrator.EffWriteFile, orchestrator.EffWriteMarker, orchestrator.EffMoveAside,
		orchestrator.EffRemoveFiles, orchestrator.EffMaterialise, orchestrator.EffLastCompletion:
		return actions[e.Type](w.runner, ctx, e, s)
	case orchestrator.EffEnsureWorkspace:
		return orchestrator.Result{Path: w.work.WorkspacePath(e.Args)}, nil
	case orchestrator.EffIntegrate, orchestrator.EffPreserve, orchestrator.EffCommit:
		subject, _, _ := strings.Cut(w.work.CommitMessage(e.Args.Message, s), "\n")
		return orchestrator.Result{Commit: s.BaseSHA, Tree: w.tree, Snapshot: w.tree, Files: 1, Subject: subject}, nil
	case orchestrator.EffPush:
		return w.push(e.Args), nil
	case orchestrator.EffPR:
		return w.work.EnsurePull(ctx, e, s)
	case orchestrator.EffDeliver:
		return orchestrator.Result{Delivery: orchestrator.DeliverySent}, nil
	}
	return orchestrator.Result{}, nil
}

// push is ensurePush without git.
func (w *rehearsal) push(a orchestrator.Args) orchestrator.Result {
	withheld, why := w.work.NoPush()
	if withheld == "" {
		w.add(PlannedWrite{Request: "PUSH refs/heads/" + a.Branch, Text: "the branch, to " + w.project.Repo.String()})
		return orchestrator.Result{Branch: a.Branch}
	}
	if !w.project.Managed {
		w.add(PlannedWrite{Request: "BRANCH " + a.Branch, Text: "the branch, into this clone: " + why})
	}
	return orchestrator.Result{Skipped: why, Withheld: withheld, Branch: a.Branch}
}

// approve is a person's yes at a gate.
func (w *rehearsal) approve() orchestrator.Input {
	w.line++
	payload, _ := json.Marshal(orchestrator.Payload{Name: "approve", Actor: "user", Source: "cli"}) // of texts
	return orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{
		File: "commands.jsonl", Tool: "command", ID: fmt.Sprint("approve", w.line), Payload: payload, At: orchestrator.At(w.now),
	}}
}

// handIn is the submission of an agent that owes one, with its file.
func (w *rehearsal) handIn(s *orchestrator.State) (orchestrator.Input, error) {
	owed := decide.Owed(w.def, s)
	phase, known := w.def.Phase(s.Phase)
	if len(owed) == 0 || !known {
		return orchestrator.Input{}, fmt.Errorf("nobody owes anything in phase %s", s.Phase)
	}
	o := owed[0]
	tool, payload := submission(phase, s, o)
	call := decide.Call{Tool: tool, Role: o.Role, Task: o.Task, Launch: s.Agents[o.Key()].Launch, Visit: &s.Visit, Payload: payload}
	if j := decide.Accepts(w.def, s, call); !j.OK {
		return orchestrator.Input{}, fmt.Errorf("%s of %s is not accepted: %s", tool, o.Key(), j.Reason)
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return orchestrator.Input{}, err
	}
	w.line++
	line := &orchestrator.Line{
		File: "tool_events.jsonl", Tool: tool, ID: fmt.Sprint("line", w.line), Role: o.Role, Task: o.Task, Launch: call.Launch,
		Session: s.SessionID, Visit: &s.Visit, Payload: body, Cursor: orchestrator.Cursor{Offset: int64(w.line), Seq: w.line},
	}
	if file, kind := decide.ArtifactOf(w.def, s, call); file != "" {
		if err := w.write(file, kind); err != nil {
			return orchestrator.Input{}, err
		}
		if line.Artifact, err = w.sess.ReadArtifact(file, kind); err != nil {
			return orchestrator.Input{}, err
		}
		if len(line.Artifact.Problems) > 0 {
			return orchestrator.Input{}, errors.New(strings.Join(line.Artifact.Problems, "; "))
		}
	}
	return orchestrator.Input{Kind: orchestrator.InTool, Line: line}, nil
}

// submission is the call with which an agent ends its task.
func submission(phase workflows.Phase, s *orchestrator.State, o decide.OwedAgent) (string, orchestrator.Payload) {
	switch phase.Kind {
	case workflows.KindPlan:
		return "submit_plan", orchestrator.Payload{}
	case workflows.KindImplement, workflows.KindFix:
		index := orchestrator.Index(cmp.Or(o.Task, "1"))
		return "submit_done", orchestrator.Payload{SubplanIndex: &index}
	case workflows.KindReview:
		if s.AwaitingSummary {
			return "submit_summary", orchestrator.Payload{}
		}
		return "submit_review", orchestrator.Payload{Role: o.Role, Verdict: artifact.VerdictPass}
	}
	return phase.Tool, orchestrator.Payload{}
}

// rehearsed are the files that agents hand in.
var rehearsed = map[string]string{
	decide.ArtifactText: "# Rehearsal\n\nNothing was done.\n",
	decide.ArtifactPlan: `version: 2
plan_overview: rehearsal
needs_design: false
needs_docs: false
doc_files: []
groups: [{group_id: one, mode: serial, plans: [{index: 1, name: rehearsal}]}]
subplans:
  - {index: 1, title: rehearsal, scope: none, owned_files: [rehearsal.txt], dependencies: none, implementation_approach: none,
     acceptance_criteria: none, tasks: [none]}
`,
	decide.ArtifactReview: "verdict: pass\nsummary: rehearsal\n",
}

func (w *rehearsal) write(file, kind string) error {
	path := w.sess.Path(filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(rehearsed[kind]), 0o600)
}

// held takes a write that was not sent.
func (w *rehearsal) held(write ghsync.Write) {
	path := write.Path
	if at, _, found := strings.Cut(path, "/statuses/"); found { // of a commit that is not made yet
		path = at + "/statuses/{commit}"
	}
	w.add(PlannedWrite{Request: write.Method + " " + path, Text: describe(write)})
}

// add appends a write, or notes that one is repeated: the status and its kin.
func (w *rehearsal) add(p PlannedWrite) {
	for i := range w.writes {
		if w.writes[i].Request == p.Request && w.writes[i].Text == p.Text {
			w.writes[i].Again = true
			return
		}
	}
	w.writes = append(w.writes, p)
}

// describe says what a write is.
func describe(w ghsync.Write) string {
	marker, _ := ghsync.ParseMarker(w.Text("body"))
	switch path := w.Path; {
	case w.Method == "MUTATION":
		return "the draft becomes ready for review, if every review passed for exactly that tree"
	case w.Method == http.MethodPatch && strings.Contains(path, "/issues/comments/"):
		return "the status comment"
	case strings.HasSuffix(path, "/comments"):
		return "comment: " + marker.Kind
	case w.Method == http.MethodDelete && strings.Contains(path, "/labels/"):
		name, _ := url.PathUnescape(path[strings.LastIndex(path, "/")+1:])
		return "label " + name + " comes off"
	case strings.HasSuffix(path, "/labels"):
		names, _ := w.Body["labels"].([]any)
		return fmt.Sprintf("label %s", joinAny(names))
	case strings.HasSuffix(path, "/pulls"):
		return fmt.Sprintf("draft pull request against %s: %s", w.Text("base"), w.Text("title"))
	case strings.HasSuffix(path, "/requested_reviewers"):
		names, _ := w.Body["reviewers"].([]any)
		return "review asked of " + joinAny(names)
	case strings.Contains(path, "/statuses/"):
		return "commit status " + w.Text("context") + ": " + w.Text("state")
	}
	return ""
}

func joinAny(list []any) string {
	var names []string
	for _, v := range list {
		names = append(names, fmt.Sprint(v))
	}
	return strings.Join(names, ", ")
}
