package decide

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// maxRecentIDs bounds the memory of consumed lines.
const maxRecentIDs = 1000

// appliers change the state for an accepted call.
var appliers = map[string]func(*reducer, Call){
	"submit_pm_done":         (*reducer).applyAuthor,
	"submit_architecture":    (*reducer).applyAuthor,
	"submit_design":          (*reducer).applyAuthor,
	"submit_plan":            (*reducer).applyPlan,
	"submit_done":            (*reducer).applyDone,
	"submit_review":          (*reducer).applyReview,
	"submit_summary":         (*reducer).applySummary,
	"submit_research_done":   (*reducer).applyResearchDone,
	"research_dispatch_code": (*reducer).applyDispatch,
	"research_dispatch_web":  (*reducer).applyDispatch,
	"report_status":          (*reducer).applyStatus,
	"ask_human":              (*reducer).applyAsk,
	"msg_read":               (*reducer).applyRead,
}

// lineFaults handles what is no usable line and reports whether it was one.
func (r *reducer) lineFaults(l *orchestrator.Line) bool {
	switch {
	case l.Rewound != nil:
		r.event(orchestrator.InputRewoundRecord{File: l.File, From: l.Rewound.From, To: l.Rewound.To, Reason: l.Rewound.Reason})
	case l.Corrupt != "":
		r.event(orchestrator.InputCorruptRecord{File: l.File, Offset: l.Cursor.LineStart, Reason: l.Corrupt, Excerpt: l.Excerpt})
	case l.Tool == "": // a blank line
		r.changed = true
	default:
		return false
	}
	return true
}

// maxExcerpt is how much of a payload is shown that could not be read, in characters.
const maxExcerpt = 120

// badPayload records a line whose payload holds something of a wrong type.
func (r *reducer) badPayload(l *orchestrator.Line, err error) {
	r.event(orchestrator.InputCorruptRecord{
		File: l.File, Offset: l.Cursor.LineStart, Reason: "payload: " + orchestrator.JSONCause(err), Excerpt: orchestrator.Truncate(string(l.Payload), maxExcerpt),
	})
}

// toolLine takes a line of an agent. While the session is paused or over, lines
// wait: the cursor stays in front of them.
func (r *reducer) toolLine() {
	l := r.in.Line
	if r.s.Paused || r.s.Ended() {
		return
	}
	r.s.ToolCursor = l.Cursor
	r.changed = true
	if r.lineFaults(l) {
		return
	}
	if !KnownTool(l.Tool) {
		r.event(orchestrator.InputUnknownRecord{Tool: l.Tool})
		return
	}
	payload, err := l.Decode()
	if err != nil {
		r.badPayload(l, err)
		return
	}
	call := Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: payload}
	calls := Attribute(r.def, r.s, call)
	call = calls[0]
	if reason := r.ignoreReason(l, call); reason != "" {
		r.ignore(call, reason)
		return
	}
	if len(calls) > 1 {
		r.several(l, calls)
		return
	}
	r.heard(orchestrator.AgentKey(call.Role, call.Task), l.Launch)
	if j := Accepts(r.def, r.s, call); !j.OK {
		r.ignore(call, j.Reason)
		return
	}
	if problems := r.faults(l, call); len(problems) > 0 {
		r.reject(call, problems)
		return
	}
	r.rememberLine(l, call.Tool)
	appliers[l.Tool](r, call)
}

// faults lists what is wrong with the file a call submits.
func (r *reducer) faults(l *orchestrator.Line, c Call) []string {
	file, kind := ArtifactOf(r.def, r.s, c)
	a := l.Artifact
	switch {
	case file == "":
		return nil
	case a == nil, kind == ArtifactPlan && a.Plan == nil && len(a.Problems) == 0, kind == ArtifactReview && a.Review == nil && len(a.Problems) == 0:
		return []string{file + " was not read"}
	}
	return a.Problems
}

func (r *reducer) remember(id string) {
	if id == "" {
		return
	}
	r.s.RecentIDs = append(r.s.RecentIDs, id)
	if n := len(r.s.RecentIDs) - maxRecentIDs; n > 0 {
		r.s.RecentIDs = slices.Delete(r.s.RecentIDs, 0, n)
	}
}

// ignoreReason tells why a well-formed line does not count here.
func (r *reducer) ignoreReason(l *orchestrator.Line, c Call) string {
	switch {
	case l.Session != "" && l.Session != r.s.SessionID:
		return "foreign"
	case l.Forged:
		return "forged"
	case r.known(l, c.Tool):
		return "duplicate"
	case !PhaseBound(c.Tool):
		return ""
	case c.Visit != nil && *c.Visit != r.s.Visit:
		return "stale"
	case c.Launch != "" && !r.currentLaunch(c):
		return "stale"
	}
	return ""
}

// known reports whether a line was applied before. Of lines without an id, what is said
// twice in one visit in the same words is said once; of a submission the state tells that.
func (r *reducer) known(l *orchestrator.Line, tool string) bool {
	return l.ID != "" && slices.Contains(r.s.RecentIDs, l.ID) ||
		l.Same != "" && !submits(tool) && slices.Contains(r.s.RecentIDs, r.inVisit(l))
}

// submits reports whether a tool hands something in, which the state takes once.
func submits(tool string) bool { return strings.HasPrefix(tool, "submit_") }

// inVisit names a line without an id within the present visit.
func (r *reducer) inVisit(l *orchestrator.Line) string { return l.Same + "@" + strconv.Itoa(r.s.Visit) }

// rememberLine remembers a line that is applied.
func (r *reducer) rememberLine(l *orchestrator.Line, tool string) {
	r.remember(l.ID)
	if l.Same != "" && !submits(tool) {
		r.remember(r.inVisit(l))
	}
}

func (r *reducer) currentLaunch(c Call) bool {
	return r.s.Agents[orchestrator.AgentKey(c.Role, c.Task)].Current() == c.Launch
}

// several decides about a line that may stand for more than one call. Research is
// taken for every topic with a summary; nobody can tell whose review it is.
func (r *reducer) several(l *orchestrator.Line, calls []Call) {
	if calls[0].Tool != "submit_research_done" {
		r.ignore(Call{Tool: l.Tool}, "ambiguous")
		return
	}
	taken := 0
	for i, c := range calls {
		if i >= len(l.Artifacts) || l.Artifacts[i] == nil || len(l.Artifacts[i].Problems) > 0 {
			continue
		}
		if taken == 0 {
			r.rememberLine(l, c.Tool)
		}
		taken++
		one := *l
		one.Artifact = l.Artifacts[i]
		r.in.Line = &one
		r.applyResearchDone(c)
	}
	if taken == 0 {
		r.ignore(Call{Tool: l.Tool}, "ambiguous: no running topic has a summary")
	}
}

func (r *reducer) ignore(c Call, reason string) {
	r.event(orchestrator.InputIgnoredRecord{Tool: c.Tool, Role: c.Role, Task: c.Task, Reason: reason})
}

// reject tells the agent what is wrong with its artifact; the phase stays.
func (r *reducer) reject(c Call, problems []string) {
	r.event(orchestrator.InputRejectedRecord{Tool: c.Tool, Role: c.Role, Errors: problems})
	r.message(orchestrator.AgentKey(c.Role, c.Task), orchestrator.Message{From: systemAddress, Type: "update", Headline: c.Tool + " was rejected"},
		"The file you submitted is not valid. Correct it and call "+c.Tool+" again.\n\n- "+strings.Join(problems, "\n- ")+"\n")
}

func (r *reducer) applyAuthor(c Call) {
	phase, _ := r.phase()
	r.acceptAuthor(phase, c.Role, c.Payload.Reviewers)
}

func (r *reducer) acceptAuthor(phase workflows.Phase, role string, reviewers []string) {
	r.accept(r.artifact(), phase.Role)
	if phase.Nominates {
		r.nominate(reviewers)
	}
	r.stop(phase.Role)
	r.last(phase.Event)
	r.follow("submitted", phase.Event)
}

// artifact returns the file that came with the input.
func (r *reducer) artifact() *orchestrator.Artifact {
	switch {
	case r.in.Line != nil:
		return r.in.Line.Artifact
	case r.in.Observe != nil:
		return r.in.Observe.Artifact
	}
	return nil
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

func (r *reducer) applyStatus(c Call) {
	r.event(orchestrator.AgentStatusRecord{
		Role: c.Role, Task: c.Task, Message: c.Payload.Message, Percent: c.Payload.Percent, CurrentTask: c.Payload.CurrentTask,
	})
}

func (r *reducer) applyRead(c Call) {
	for i := range r.s.Messages {
		m := &r.s.Messages[i]
		if m.File == c.Payload.File && m.AckedAt.IsZero() && (c.Role == "" || m.To == agentAddress(orchestrator.AgentKey(c.Role, c.Task))) {
			r.acked(m)
			return
		}
	}
	r.ignore(c, "no such message")
}
