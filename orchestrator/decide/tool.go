package decide

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// appliers change the state for an accepted call.
var appliers = map[string]func(*reducer, Call){
	"submit_pm_done":         (*reducer).applyAuthor,
	"submit_architecture":    (*reducer).applyAuthor,
	"submit_design":          (*reducer).applyAuthor,
	"submit_plan":            (*reducer).applyPlan,
	"submit_done":            (*reducer).applyDone,
	"submit_review":          (*reducer).applyReview,
	"submit_summary":         func(r *reducer, _ Call) { r.summaryTaken(r.artifact()) },
	"submit_research_done":   func(r *reducer, c Call) { r.research.done(c) },
	"research_dispatch_code": func(r *reducer, c Call) { r.research.dispatch(c) },
	"research_dispatch_web":  func(r *reducer, c Call) { r.research.dispatch(c) },
	"report_status":          (*reducer).applyStatus,
	"ask_human":              (*reducer).applyAsk,
	"msg_read":               func(r *reducer, c Call) { r.mail.read(c) },
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
	if r.lines.unusable(l) {
		return
	}
	if !KnownTool(l.Tool) {
		r.event(orchestrator.InputUnknownRecord{Tool: l.Tool})
		return
	}
	payload, err := l.Decode()
	if err != nil {
		r.lines.badPayload(l, err)
		return
	}
	call := Call{Tool: l.Tool, Role: l.Role, Task: l.Task, Launch: l.Launch, Visit: l.Visit, Payload: payload}
	calls := Attribute(r.def, r.s, call)
	call = calls[0]
	if reason := r.lines.ignoreReason(l, call); reason != "" {
		r.ignore(call, reason)
		return
	}
	if len(calls) > 1 {
		r.several(l, calls)
		return
	}
	r.clock.heard(orchestrator.AgentKey(call.Role, call.Task), l.Launch)
	if j := Accepts(r.def, r.s, call); !j.OK {
		r.ignore(call, j.Reason)
		return
	}
	if problems := r.lines.faults(l, call); len(problems) > 0 {
		r.reject(call, problems)
		return
	}
	r.lines.keep(l, call.Tool)
	appliers[l.Tool](r, call)
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
			r.lines.keep(l, c.Tool)
		}
		taken++
		one := *l
		one.Artifact = l.Artifacts[i]
		r.in.Line = &one
		r.research.done(c)
	}
	if taken == 0 {
		r.ignore(Call{Tool: l.Tool}, "ambiguous: no running topic has a summary")
	}
}

// reject tells the agent what is wrong with its artifact; the phase stays.
func (r *reducer) reject(c Call, problems []string) {
	r.event(orchestrator.InputRejectedRecord{Tool: c.Tool, Role: c.Role, Errors: problems})
	r.mail.send(orchestrator.AgentKey(c.Role, c.Task), orchestrator.Message{From: systemAddress, Type: "update", Headline: c.Tool + " was rejected"},
		"The file you submitted is not valid. Correct it and call "+c.Tool+" again.\n\n- "+strings.Join(problems, "\n- ")+"\n")
}

func (r *reducer) applyAuthor(c Call) {
	phase, _ := r.phase()
	r.acceptAuthor(phase, c.Role, c.Payload.Reviewers)
}

func (r *reducer) acceptAuthor(phase workflows.Phase, role string, reviewers []string) {
	r.crew.accept(r.artifact(), phase.Role)
	if phase.Nominates {
		r.nominate(reviewers)
	}
	r.crew.stop(phase.Role)
	r.last(phase.Event)
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

func (r *reducer) applyStatus(c Call) {
	r.event(orchestrator.AgentStatusRecord{
		Role: c.Role, Task: c.Task, Message: c.Payload.Message, Percent: c.Payload.Percent, CurrentTask: c.Payload.CurrentTask,
	})
}

// lines remembers which lines were applied and tells which do not count.
type lines struct{ *queue }

// unusable handles what is no usable line and reports whether it was one.
func (ls *lines) unusable(l *orchestrator.Line) bool {
	switch {
	case l.Rewound != nil:
		ls.event(orchestrator.InputRewoundRecord{File: l.File, From: l.Rewound.From, To: l.Rewound.To, Reason: l.Rewound.Reason})
	case l.Corrupt != "":
		ls.event(orchestrator.InputCorruptRecord{File: l.File, Offset: l.Cursor.LineStart, Reason: l.Corrupt, Excerpt: l.Excerpt})
	case l.Tool == "": // a blank line
		ls.changed = true
	default:
		return false
	}
	return true
}

// maxExcerpt is how much of a payload is shown that could not be read, in characters.
const maxExcerpt = 120

// badPayload records a line whose payload holds something of a wrong type.
func (ls *lines) badPayload(l *orchestrator.Line, err error) {
	ls.event(orchestrator.InputCorruptRecord{
		File: l.File, Offset: l.Cursor.LineStart, Reason: "payload: " + orchestrator.JSONCause(err), Excerpt: orchestrator.Truncate(string(l.Payload), maxExcerpt),
	})
}

// ignoreReason tells why a well-formed line does not count here.
func (ls *lines) ignoreReason(l *orchestrator.Line, c Call) string {
	switch {
	case l.Session != "" && l.Session != ls.s.SessionID:
		return "foreign"
	case l.Forged:
		return "forged"
	case ls.known(l, c.Tool):
		return "duplicate"
	case !PhaseBound(c.Tool):
		return ""
	case c.Visit != nil && *c.Visit != ls.s.Visit:
		return "stale"
	case c.Launch != "" && ls.s.Agents[orchestrator.AgentKey(c.Role, c.Task)].Current() != c.Launch:
		return "stale"
	}
	return ""
}

// faults lists what is wrong with the file a call submits.
func (ls *lines) faults(l *orchestrator.Line, c Call) []string {
	file, kind := ArtifactOf(ls.def, ls.s, c)
	a := l.Artifact
	switch {
	case file == "":
		return nil
	case a == nil, kind == ArtifactPlan && a.Plan == nil && len(a.Problems) == 0, kind == ArtifactReview && a.Review == nil && len(a.Problems) == 0:
		return []string{file + " was not read"}
	}
	return a.Problems
}

// known reports whether a line was applied before. Of lines without an id, what is said
// twice in one visit in the same words is said once; of a submission the state tells that.
func (ls *lines) known(l *orchestrator.Line, tool string) bool {
	return l.ID != "" && slices.Contains(ls.s.RecentIDs, l.ID) ||
		l.Same != "" && !submits(tool) && slices.Contains(ls.s.RecentIDs, ls.inVisit(l))
}

// keep remembers a line that is applied.
func (ls *lines) keep(l *orchestrator.Line, tool string) {
	ls.remember(l.ID)
	if l.Same != "" && !submits(tool) {
		ls.remember(ls.inVisit(l))
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

// inVisit names a line without an id within the present visit.
func (ls *lines) inVisit(l *orchestrator.Line) string { return l.Same + "@" + strconv.Itoa(ls.s.Visit) }

// submits reports whether a tool hands something in, which the state takes once.
func submits(tool string) bool { return strings.HasPrefix(tool, "submit_") }
