package decide

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/lenient"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// appliers change the state for an accepted call.
var appliers = map[string]func(*reducer, duty.Call){
	workflows.ToolSubmitPMDone:       (*reducer).applyAuthor,
	workflows.ToolSubmitArchitecture: (*reducer).applyAuthor,
	workflows.ToolSubmitDesign:       (*reducer).applyAuthor,
	toolset.SubmitPlan:               (*reducer).applyPlan,
	toolset.SubmitDone:               (*reducer).applyDone,
	toolset.SubmitReview:             (*reducer).applyReview,
	toolset.SubmitSummary:            func(r *reducer, _ duty.Call) { r.summaryTaken(r.artifact()) },
	toolset.SubmitResearchDone:       func(r *reducer, c duty.Call) { r.research.done(c) },
	toolset.DispatchCode:             func(r *reducer, c duty.Call) { r.research.dispatch(c) },
	toolset.DispatchWeb:              func(r *reducer, c duty.Call) { r.research.dispatch(c) },
	toolset.ReportStatus:             (*reducer).applyStatus,
	toolset.AskHuman:                 (*reducer).applyAsk,
	toolset.MsgRead:                  messageRead,
}

// toolLine takes a line of an agent. While the session is paused or over, lines
// wait: the cursor stays in front of them. A pause does not hold the last ones before another machine may have the session.
func (r *reducer) toolLine() {
	l := r.in.Line
	if r.s.Paused && !l.Last || r.s.Ended() {
		return
	}
	r.s.ToolCursor = l.Cursor
	r.changed = true
	if r.lines.unusable(l) {
		return
	}
	if !duty.KnownTool(l.Tool) {
		r.event(orchestrator.InputUnknownRecord{Tool: l.Tool})
		return
	}
	payload, err := l.Decode()
	if err != nil {
		r.lines.badPayload(l, err)
		return
	}
	call := duty.Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: payload}
	calls := duty.Attribute(r.def, r.s, call)
	call = calls[0]
	if reason := duty.IgnoreReason(r.s, l, call); reason != "" {
		r.lines.ignored(l, call, reason)
		return
	}
	if len(calls) > 1 {
		r.ambiguous(l, calls)
		return
	}
	r.clock.heard(orchestrator.KeyOf(call.Role, call.Task), l.Launch)
	if j := duty.Accepts(r.def, r.s, call); !j.OK {
		r.lines.ignored(l, call, j.Reason)
		return
	}
	if problems := r.lines.faults(l, call); len(problems) > 0 {
		r.reject(call, "The file you submitted is not valid.", problems)
		return
	}
	r.lines.keep(l, call.Tool)
	appliers[l.Tool](r, call)
}

// ambiguous decides about a line that may stand for more than one call. Research is
// taken for every topic with a summary; whose review it is cannot be told.
func (r *reducer) ambiguous(l *orchestrator.Line, calls []duty.Call) {
	if calls[0].Tool != toolset.SubmitResearchDone {
		r.ignore(duty.Call{Tool: l.Tool}, "ambiguous")
		return
	}
	taken := 0
	for i, c := range calls {
		if i >= len(l.Artifacts) || l.Artifacts[i] == nil || len(l.Artifacts[i].Problems) > 0 {
			continue
		}
		if taken == 0 {
			r.lines.keep(l, c.Tool)
		}
		taken++
		one := *l
		one.Artifact = l.Artifacts[i]
		r.in.Line = &one
		r.research.done(c)
	}
	if taken == 0 {
		r.ignore(duty.Call{Tool: l.Tool}, "ambiguous: no running topic has a summary")
	}
}

// reject tells the agent what is wrong with what it submitted; the phase stays. The tool that
// wrote the line answers with the record; where none waits for it, the agent gets a message.
func (r *reducer) reject(c duty.Call, what string, problems []string) {
	record := orchestrator.InputRejectedRecord{Tool: c.Tool, Role: c.Role, Errors: problems}
	l := r.in.Line
	if l != nil {
		record.Line = l.ID
	}
	r.event(record)
	if l != nil && duty.Awaited(l, r.in.At) {
		return
	}
	r.mail.Send(orchestrator.KeyOf(c.Role, c.Task), orchestrator.Message{From: post.System, Type: "update", Headline: c.Tool + post.Rejected},
		what+" Correct it and call "+c.Tool+" again.\n\n- "+strings.Join(problems, "\n- ")+"\n")
}

func (r *reducer) applyAuthor(c duty.Call) {
	phase, _ := r.phase()
	r.acceptAuthor(phase, c.Role, c.Payload.Reviewers)
}

func (r *reducer) acceptAuthor(phase workflows.Phase, role string, reviewers []string) {
	r.crew.accept(r.artifact(), phase.Role)
	if phase.Nominates {
		r.nominate(reviewers)
	}
	r.crew.leave(orchestrator.AgentKey(phase.Role), "", nil)
	r.lastEvent(phase.Event)
	r.follow("submitted", phase.Event)
}

func (r *reducer) nominate(reviewers []string) {
	review, ok := r.def.Kind(workflows.KindReview)
	if !ok {
		return
	}
	r.s.Nominations = []string{}
	for _, role := range review.Roles {
		if slices.Contains(reviewers, role) {
			r.s.Nominations = append(r.s.Nominations, role)
		}
	}
}

func (r *reducer) applyStatus(c duty.Call) {
	r.event(orchestrator.AgentStatusRecord{
		Role: c.Role, Task: c.Task, Message: c.Payload.Message, Percent: c.Payload.Percent, CurrentTask: c.Payload.CurrentTask,
	})
}

// lines remembers which lines were applied and tells which do not count.
type lines struct{ *queue }

// ignored records why a line has no effect. That of a submission is named while its tool waits
// for the answer; others may be counted in one record.
func (ls *lines) ignored(l *orchestrator.Line, c duty.Call, reason string) {
	record := orchestrator.InputIgnoredRecord{Tool: c.Tool, Role: c.Role, Task: c.Task, Reason: reason}
	if duty.Submits(c.Tool) && duty.Awaited(l, ls.in.At) {
		record.Line = l.ID
	}
	ls.event(record)
}

// unusable handles a line that cannot be used, and reports whether l is one.
func (ls *lines) unusable(l *orchestrator.Line) bool {
	switch {
	case l.Rewound != nil:
		ls.event(orchestrator.InputRewoundRecord{File: l.File, From: l.Rewound.From, To: l.Rewound.To, Reason: l.Rewound.Reason})
	case l.Corrupt != "":
		ls.event(orchestrator.InputCorruptRecord{File: l.File, Offset: l.Cursor.LineStart, Reason: l.Corrupt, Excerpt: orchestrator.Truncate(l.Excerpt, maxExcerpt)})
	case l.Tool == "": // a blank line
		ls.changed = true
	default:
		return false
	}
	return true
}

// maxExcerpt is how much is shown of a line or a payload that could not be read, in characters.
const maxExcerpt = 120

// badPayload records a line whose payload holds something of a wrong type.
func (ls *lines) badPayload(l *orchestrator.Line, err error) {
	ls.event(orchestrator.InputCorruptRecord{
		File: l.File, Offset: l.Cursor.LineStart, Reason: "payload: " + lenient.Cause(err), Excerpt: orchestrator.Truncate(string(l.Payload), maxExcerpt),
	})
}

// faults lists what is wrong with the file a call submits.
func (ls *lines) faults(l *orchestrator.Line, c duty.Call) []string {
	file, kind := duty.ArtifactOf(ls.def, ls.s, c)
	a := l.Artifact
	switch {
	case file == "":
		return nil
	case a == nil, kind == duty.ArtifactPlan && a.Plan == nil && len(a.Problems) == 0, kind == duty.ArtifactReview && a.Review == nil && len(a.Problems) == 0:
		return []string{file + " was not read"}
	}
	return a.Problems
}

// keep remembers a line that is applied. That of a message that was read has no effect a second time,
// and would fill the memory with lines that need none.
func (ls *lines) keep(l *orchestrator.Line, tool string) {
	if tool == toolset.MsgRead {
		return
	}
	ls.remember(l.ID)
	if l.Same != "" && !duty.Submits(tool) {
		ls.remember(duty.InVisit(ls.s, l))
	}
}

// maxRecentIDs bounds the memory of consumed lines.
const maxRecentIDs = 1000

func (ls *lines) remember(id string) {
	if id == "" {
		return
	}
	ls.s.RecentIDs = append(ls.s.RecentIDs, id)
	if n := len(ls.s.RecentIDs) - maxRecentIDs; n > 0 {
		ls.s.RecentIDs = slices.Delete(ls.s.RecentIDs, 0, n)
	}
}
