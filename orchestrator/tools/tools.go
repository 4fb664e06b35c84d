// Package tools carries out the calls of agents: submit, dispatch research, report, ask,
// read messages. What the tools are is in orchestrator/toolset. The MCP server and the
// command line call the same functions, so that an agent gets the same answer either way.
//
// [Call] judges a call in a fixed order, and the first check that fails gives the
// answer: the session is readable, has not ended, the tool is open to the role,
// the submission was not made before, it is accepted in this phase for this task,
// its parameters are right, its artifact is valid. Then the checks are repeated while no
// other writer can write, and one line is appended to tool_events.jsonl. A submission then waits
// for the session: the answer says "submitted" only when the session has taken it, and names what
// has to be corrected if it has not. Where nobody runs the session the answer says "recorded":
// the line is on disk. A refusal of the checks records nothing.
//
// The package decides nothing about the session: [duty.Accepts] is the judgement that
// the session makes when it reads the line. The package stores nothing but the line.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// Caller is who calls a tool. A person has no launch.
type Caller struct {
	Dir    string // session directory
	Role   string
	Task   string
	Launch orchestrator.Launch
	Seal   string // of the launch: signs what it says

	Now  func() time.Time // nil = time.Now
	Wait time.Duration    // for the session's answer to a submission; 0 = duty.AnswerTime

	open func(dir string) (*session.Session, error) // nil = session.Open, on the disk of this machine
}

func (c Caller) key() orchestrator.AgentKey { return orchestrator.KeyOf(c.Role, c.Task) }

// shown returns the name by which the caller's program shows it a tool; a person knows a tool by its own.
func (c Caller) shown(st *orchestrator.State, tool string) string {
	if st == nil || c.Launch == "" || st.Agents[c.key()].Current() != c.Launch {
		return tool
	}
	return st.Agents[c.key()].Shown(tool)
}

func (c Caller) allShown(st *orchestrator.State, tools []string) (names []string) {
	for _, tool := range tools {
		names = append(names, c.shown(st, tool))
	}
	return names
}

func (c Caller) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// Misread answers a call that could not be read.
func Misread(who Caller, why string) Answer { return withMessages(who, usage("%s", why)) }

// Call carries out one tool call. The answer says what happened; a refusal is also an
// answer.
func Call(ctx context.Context, who Caller, name string, params Params) Answer {
	tool, ok := toolset.Find(name)
	if !ok {
		return withMessages(who, usage("there is no tool %q; tools: %s", name, strings.Join(toolset.Names(), ", ")))
	}
	if err := ctx.Err(); err != nil {
		return withMessages(who, refused("the call was interrupted: %v", err))
	}
	c := &call{who: who, tool: tool, now: who.now()}
	c.read(params)
	a := c.run(ctx)
	if c.seen == nil || tool.Submits { // what was waited for may have led to messages
		return withMessages(who, a)
	}
	return a.with(c.waiting(c.seen), who.shown(c.seen, toolset.MsgRead))
}

// call is one tool call on its way through the checks.
type call struct {
	who  Caller
	tool toolset.Tool
	now  time.Time

	s    *session.Session
	def  *workflows.Definition
	seen *orchestrator.State // the last one that was read

	payload  orchestrator.Payload
	unread   bool                // msg_list
	limit    int                 // msg_list
	draft    map[string]argument // msg_send
	problems []string            // of the parameters
	artifact []string            // problems of the artifact
	warnings []string
}

func (c *call) run(ctx context.Context) Answer {
	st, err := c.open()
	if err != nil {
		return c.unreadable(err)
	}
	if c.tool.Name == toolset.MsgSend {
		return c.sendMessage(st)
	}
	if answer, ok := reading[c.tool.Name]; ok {
		return answer(c, st)
	}
	if early := c.beforeArtifact(st); early != nil {
		return *early
	}
	if err := c.readArtifact(st); err != nil {
		return refused("the artifact cannot be read: %v", err)
	}
	var answer Answer
	var written *session.NewLine
	err = c.s.Append(session.ToolEvents, c.now, func(tail session.Tail) (*session.NewLine, error) {
		var err error
		st, c.seen = tail.State, tail.State
		answer, written, err = c.judge(tail)
		return written, err
	})
	switch {
	case errors.Is(err, session.ErrStays):
		return Answer{
			Phase: st.Phase, Errors: []string{err.Error()},
			Text: "not known to be recorded: " + err.Error() + "; the session may take it. Call " + c.who.shown(c.seen, c.tool.Name) + " again if nothing comes of it",
		}
	case errors.Is(err, session.ErrBusy):
		return Answer{Phase: st.Phase, Text: "busy: other writers hold the file, nothing was recorded; call " + c.who.shown(c.seen, c.tool.Name) + " again", Errors: []string{"busy"}}
	case errors.Is(err, session.ErrTooLong):
		return Answer{Phase: st.Phase, Text: "invalid: the parameters are " + err.Error() + "; nothing was recorded", Errors: []string{"parameters: " + err.Error()}}
	case err != nil:
		return Answer{Phase: st.Phase, Text: "not recorded: " + err.Error() + "; call " + c.who.shown(c.seen, c.tool.Name) + " again", Errors: []string{err.Error()}}
	case written != nil && c.tool.Submits:
		return c.await(ctx, st, written.ID)
	}
	return answer
}

func (c *call) open() (*orchestrator.State, error) {
	err := c.openDir()
	if err != nil {
		return nil, err
	}
	c.seen, err = c.s.ReadState()
	return c.seen, err
}

func (c *call) openDir() (err error) {
	open := c.who.open
	if open == nil {
		open = session.Open
	}
	if c.s, err = open(c.who.Dir); err == nil {
		c.def, err = c.s.Definition()
	}
	return err
}

func (c *call) unreadable(err error) Answer {
	return refused("the session in %s cannot be read: %v", c.who.Dir, err)
}

// beforeArtifact makes the checks that need no artifact; nil means they passed.
func (c *call) beforeArtifact(st *orchestrator.State) *Answer {
	if a := c.admitted(st); a != nil {
		return a
	}
	switch j := c.accepts(st); {
	case j.Already && c.tool.Submits:
		return c.already(st)
	case !j.OK:
		return c.refuse(st, j)
	}
	if check, ok := checks[c.tool.Name]; ok {
		c.problems = append(c.problems, check(c)...)
	}
	if len(c.problems) > 0 {
		return c.invalid(st, c.problems)
	}
	return nil
}

// admitted checks that the session has not ended and that the tool is open to the caller.
func (c *call) admitted(st *orchestrator.State) *Answer {
	if st.Ended() {
		text := fmt.Sprintf("the session has ended (%s); agentmux resume %s continues it", outcome(st), c.s.Name())
		return &Answer{Phase: st.Phase, Text: "refused: " + text, Errors: []string{text}}
	}
	if !c.ofLaunch() {
		a := refused("this process is not of launch %s, in whose name it calls; an agent calls its tools from its own launch", c.who.Launch)
		a.Phase = st.Phase
		return &a
	}
	if !open(c.tool, c.def, st, c.who.Role) {
		a := refused("%s is not a tool of the %s; yours: %s", c.who.shown(c.seen, c.tool.Name), c.who.Role, strings.Join(c.who.allShown(c.seen, names(offered(c.def, st, c.who.Role))), ", "))
		a.Phase = st.Phase
		return &a
	}
	return nil
}

// ofLaunch reports whether the caller can sign for its launch. The session checks the line
// again; this check exists to tell an agent that lost its environment.
func (c *call) ofLaunch() bool {
	if c.who.Launch == "" {
		return true
	}
	checks, err := c.s.Checks(c.who.Launch)
	return err != nil || len(checks) == 0 || session.Seals(c.who.Seal, checks)
}

func outcome(st *orchestrator.State) string {
	if st.OutcomeReason != "" {
		return string(st.Outcome) + ": " + string(st.OutcomeReason)
	}
	return string(st.Outcome)
}

// visit is the launch's, or the session's for a caller without one.
func (c *call) visit(st *orchestrator.State) int {
	if launch, ok := c.who.Launch.Parts(); ok {
		return launch.Visit
	}
	return st.Visit
}

func (c *call) asCall(st *orchestrator.State) duty.Call {
	visit := c.visit(st)
	return duty.Call{
		Tool: c.tool.Name, Role: c.who.Role, Task: c.who.Task, Launch: c.who.Launch, Visit: &visit, Payload: c.payload,
	}
}

func (c *call) accepts(st *orchestrator.State) duty.Judgement {
	j := duty.Accepts(c.def, st, c.asCall(st))
	if j.OK && c.who.Launch != "" && c.tool.PhaseBound() && st.Agents[c.who.key()].Current() != c.who.Launch {
		return duty.Judgement{Reason: "launch " + string(c.who.Launch) + " was replaced; only the agent's current launch can submit"}
	}
	return j
}

// readArtifact reads the file that the call submits once, so that the payload's hash names
// the bytes that were checked.
func (c *call) readArtifact(st *orchestrator.State) error {
	path, kind := duty.ArtifactOf(c.def, st, c.asCall(st))
	if path == "" {
		return nil
	}
	checked, err := c.s.CheckArtifact(path, kind)
	if err != nil {
		return err
	}
	c.artifact = checked.Artifact.Problems
	c.payload.SHA256 = checked.Artifact.SHA256
	for _, w := range checked.Warnings {
		c.warnings = append(c.warnings, path+": "+w)
	}
	if checked.Artifact.Review != nil {
		c.payload.Verdict = checked.Artifact.Review.Verdict
	}
	if c.tool.Name == toolset.SubmitSummary && checked.Data != nil {
		c.warnings = append(c.warnings, artifact.SummaryWarnings(checked.Data)...)
	}
	return nil
}

// judge repeats the checks while no other writer can write, and composes the
// line.
func (c *call) judge(tail session.Tail) (Answer, *session.NewLine, error) {
	st := tail.State
	if a := c.admitted(st); a != nil {
		return *a, nil, nil
	}
	unread, err := tail.Unread()
	if err != nil {
		return Answer{}, nil, err
	}
	j := c.accepts(st)
	switch {
	case c.tool.Submits && (j.Already || c.pending(unread)):
		return *c.already(st), nil, nil
	case !j.OK:
		return *c.refuse(st, j), nil, nil
	case len(c.artifact) > 0:
		return *c.invalid(st, c.artifact), nil, nil
	}
	if rule, ok := finalChecks[c.tool.Name]; ok {
		a, err := rule(c, tail, unread)
		if a != nil || err != nil {
			return value(a), nil, err
		}
	}
	return c.submitted(st), c.line(st), nil
}

func (c *call) line(st *orchestrator.State) *session.NewLine {
	return &session.NewLine{
		Tool: c.tool.Name, Role: c.who.Role, Task: c.who.Task, Launch: c.who.Launch, Visit: c.visit(st), Payload: c.payload,
		Seal: c.who.Seal, ID: session.NewID(),
	}
}

func value(a *Answer) Answer {
	if a == nil {
		return Answer{}
	}
	return *a
}

// pending reports whether the session has an unread line that says the same.
func (c *call) pending(unread []session.Written) bool {
	mine, err := json.Marshal(c.payload)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(unread, func(l session.Written) bool {
		if l.Corrupt != "" || l.Tool != c.tool.Name || l.Launch != c.who.Launch || l.Role != c.who.Role || l.Task != c.who.Task {
			return false
		}
		p, err := l.Decode()
		if err != nil {
			return false
		}
		theirs, err := json.Marshal(p)
		return err == nil && string(theirs) == string(mine)
	})
}
