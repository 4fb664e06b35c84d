package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// finishWait is how long the end of a rehearsal may take; nothing in it is paced.
const finishWait = time.Minute

// maxInputs is more inputs than a session without a failed review has.
const maxInputs = 500

// Effects are those of a true run that a rehearsal needs.
type Effects interface {
	// Ensure carries out an effect that happens in the session's own directory, or whose
	// writes to the server go to Writes.
	Ensure(ctx context.Context, e orchestrator.Effect) (orchestrator.Result, error)
	// WorkspacePath is where a workspace would be.
	WorkspacePath(a orchestrator.Args) string
	// CommitMessage is the message of the commit, made from what was chosen.
	CommitMessage(chosen string, s *orchestrator.State) string
	// NoPush tells why nothing would be pushed, also in words; "" if something is.
	NoPush() (withheld orchestrator.Withheld, why string)
	// Committed hands over each state.
	Committed(s *orchestrator.State)
}

// Spec says which session is rehearsed, and with what.
type Spec struct {
	Session  *session.Session
	State    *orchestrator.State
	Workflow *workflows.Definition
	Effects  Effects
	Writes   *Writes         // takes what Effects and Mirror write to the server
	Mirror   *mirror.Options // nil if the session is not shown; its clock is the rehearsal's
	Now      time.Time
	Tree     string // of the base: no agent changes anything
	Pushed   string // the repository that branches go to
	Managed  bool   // there is no clone that a branch could go to instead
	Claims   bool   // the issue is claimed by a ref on the server
	Leaves   bool   // checkpoints are pushed under that claim
}

// rehearsal walks a session in a directory of its own in which every agent hands in at
// once what it was asked for, and every review passes. The decisions, the mirror and the
// pull request are those of a true run; what they write is recorded and not sent.
type rehearsal struct {
	Spec
	now    time.Time
	line   int
	state  *orchestrator.State
	mirror *mirror.Mirror
}

// Run walks the session from its first state. The error says where the walk stopped; the
// writes before that are listed. The session and the state of spec cannot be used afterwards.
func Run(ctx context.Context, spec Spec) error {
	w := &rehearsal{Spec: spec, now: spec.Now}
	if spec.Mirror != nil {
		o := *spec.Mirror
		o.Now = func() time.Time { return w.now } // its pauses pass by the steps of the walk
		var err error
		if w.mirror, err = mirror.New(o); err != nil {
			return err
		}
	}
	if spec.Claims {
		spec.Writes.add(Write{
			Request: fmt.Sprintf("PUSH refs/agentmux/claims/%d", spec.State.IssueNumber), Text: "the claim of the issue, which no other host works on until it is given back at the end",
		})
	}
	w.take(spec.State)
	return w.walk(ctx)
}

func (w *rehearsal) take(s *orchestrator.State) {
	w.state = s
	w.Effects.Committed(s)
}

func (w *rehearsal) walk(ctx context.Context) error {
	if err := w.show(ctx); err != nil { // a mirror of a true run looks before the first decision, too
		return err
	}
	if err := w.reduce(ctx, orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}}); err != nil {
		return err
	}
	for range maxInputs {
		s := w.state
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
	return fmt.Errorf("the walk does not end; it is in phase %s", w.state.Phase)
}

// reduce decides, commits to the scratch directory, and lets the mirror show it.
func (w *rehearsal) reduce(ctx context.Context, in orchestrator.Input) error {
	w.now = w.now.Add(time.Second)
	in.At = w.now
	step, err := decide.Reduce(w.Workflow, w.state, in)
	if err != nil || !step.Changed {
		return err
	}
	if err := w.Session.Commit(step); err != nil {
		return err
	}
	w.take(step.State)
	return w.show(ctx)
}

// show lets the mirror write what is due.
func (w *rehearsal) show(ctx context.Context) error {
	switch {
	case w.mirror == nil:
		return nil
	case w.state.Ended():
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

// carryOut carries out an effect as far as that happens in the session's own directory. An
// agent would have changed nothing: its tree is that of the base.
func (w *rehearsal) carryOut(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	switch e.Type {
	case orchestrator.EffEnsureDirs, orchestrator.EffWriteFile, orchestrator.EffWriteMarker, orchestrator.EffMoveAside,
		orchestrator.EffRemoveFiles, orchestrator.EffMaterialise, orchestrator.EffLastCompletion:
		return w.Effects.Ensure(ctx, e)
	case orchestrator.EffEnsureWorkspace:
		return orchestrator.Result{Path: w.Effects.WorkspacePath(e.Args)}, nil
	case orchestrator.EffIntegrate, orchestrator.EffPreserve, orchestrator.EffCommit:
		subject, _, _ := strings.Cut(w.Effects.CommitMessage(e.Args.Message, s), "\n")
		return orchestrator.Result{Commit: s.BaseSHA, Tree: w.Tree, Snapshot: w.Tree, Files: 1, Subject: subject}, nil
	case orchestrator.EffPush:
		return w.push(e.Args), nil
	case orchestrator.EffPR:
		return w.Effects.Ensure(ctx, e)
	case orchestrator.EffCheckpoint:
		if w.Claims && w.Leaves {
			w.Writes.add(Write{
				Request: "PUSH refs/agentmux/sessions/{session}", Text: "the session with its unfinished work, for other machines to continue",
			})
		}
	case orchestrator.EffDeliver:
		return orchestrator.Result{Delivery: orchestrator.DeliverySent}, nil
	}
	return orchestrator.Result{}, nil
}

// push is ensurePush without git.
func (w *rehearsal) push(a orchestrator.Args) orchestrator.Result {
	withheld, why := w.Effects.NoPush()
	if withheld == "" {
		w.Writes.add(Write{Request: "PUSH refs/heads/" + a.Branch, Text: "the branch, to " + w.Pushed})
		return orchestrator.Result{Branch: a.Branch}
	}
	if !w.Managed {
		w.Writes.add(Write{Request: "BRANCH " + a.Branch, Text: "the branch, into this clone: " + why})
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

// handIn returns the submission of an agent that has not handed in yet, and writes its file.
func (w *rehearsal) handIn(s *orchestrator.State) (orchestrator.Input, error) {
	owed := duty.Owed(w.Workflow, s)
	phase, known := w.Workflow.Phase(s.Phase)
	if len(owed) == 0 || !known {
		return orchestrator.Input{}, fmt.Errorf("no agent has anything to hand in, in phase %s", s.Phase)
	}
	o := owed[0]
	tool, payload := submission(phase, s, o)
	call := duty.Call{Tool: tool, Role: o.Role, Task: o.Task, Launch: s.Agents[o.Key()].Launch, Visit: &s.Visit, Payload: payload}
	if j := duty.Accepts(w.Workflow, s, call); !j.OK {
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
	if file, kind := duty.ArtifactOf(w.Workflow, s, call); file != "" {
		if err := w.write(file, kind); err != nil {
			return orchestrator.Input{}, err
		}
		if line.Artifact, err = w.Session.ReadArtifact(file, kind); err != nil {
			return orchestrator.Input{}, err
		}
		if len(line.Artifact.Problems) > 0 {
			return orchestrator.Input{}, errors.New(strings.Join(line.Artifact.Problems, "; "))
		}
	}
	return orchestrator.Input{Kind: orchestrator.InTool, Line: line}, nil
}

// submission is the call with which an agent ends its task.
func submission(phase workflows.Phase, s *orchestrator.State, o duty.Agent) (string, orchestrator.Payload) {
	tool, _ := toolset.Ending(phase, s.AwaitingSummary)
	switch tool.Name {
	case toolset.SubmitDone:
		index := orchestrator.Index(cmp.Or(o.Task, "1"))
		return tool.Name, orchestrator.Payload{SubplanIndex: &index}
	case toolset.SubmitReview:
		return tool.Name, orchestrator.Payload{Role: o.Role, Verdict: artifact.VerdictPass}
	}
	return tool.Name, orchestrator.Payload{}
}

// rehearsed are the files that agents hand in.
var rehearsed = map[string]string{
	duty.ArtifactText: "# Rehearsal\n\nNothing was done.\n",
	duty.ArtifactPlan: `version: 2
plan_overview: rehearsal
needs_design: false
needs_docs: false
doc_files: []
groups: [{group_id: one, mode: serial, plans: [{index: 1, name: rehearsal}]}]
subplans:
  - {index: 1, title: rehearsal, scope: none, owned_files: [rehearsal.txt], dependencies: none, implementation_approach: none,
     acceptance_criteria: none, tasks: [none]}
`,
	duty.ArtifactReview: "verdict: pass\nsummary: rehearsal\n",
}

func (w *rehearsal) write(file, kind string) error {
	path := w.Session.Path(filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(rehearsed[kind]), 0o600)
}
