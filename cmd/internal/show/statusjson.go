package show

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// StatusJSON is the status for a script, with all that the text shows. docs/commands.md names
// every field.
type StatusJSON struct {
	SessionJSON
	Kind          string            `json:"kind"`
	Workflow      string            `json:"workflow"`
	Config        string            `json:"config"`
	Repository    string            `json:"repository,omitempty"`
	Title         string            `json:"title,omitempty"`
	Base          string            `json:"base,omitempty"`
	BaseSHA       string            `json:"base_sha,omitempty"`
	Created       time.Time         `json:"created,omitzero"`
	Updated       time.Time         `json:"updated,omitzero"`
	PhaseEntered  time.Time         `json:"phase_entered,omitzero"`
	Interrupted   string            `json:"interrupted_phase,omitempty"`
	Paused        bool              `json:"paused"`
	Outcome       string            `json:"outcome,omitempty"`
	Reason        string            `json:"reason,omitempty"`
	Cause         string            `json:"cause,omitempty"`
	Gate          string            `json:"gate,omitempty"`
	GateOpened    time.Time         `json:"gate_opened,omitzero"`
	GateDigest    string            `json:"gate_digest,omitempty"` // names what it asks about, see approve --of
	GateReason    string            `json:"gate_reason,omitempty"`
	Diff          *diffJSON         `json:"diff,omitempty"` // what the gate of the result asks about
	Iteration     int               `json:"review_iteration"`
	ChangeRound   int               `json:"change_round"`
	ChangeRequest string            `json:"change_request,omitempty"`
	Verdicts      []verdictJSON     `json:"verdicts"`
	Agents        map[string]string `json:"agents"`
	Subplans      map[string]string `json:"subplans"`
	SubplansDone  int               `json:"subplans_done"`
	SubplansTotal int               `json:"subplans_total"`
	Questions     []questionJSON    `json:"questions"`
	Commit        string            `json:"commit,omitempty"`
	Pushed        bool              `json:"pushed"`
	PullRequest   *pullJSON         `json:"pull_request,omitempty"`
	Sandbox       string            `json:"sandbox"`
	Setup         string            `json:"setup,omitempty"` // why sandbox.setup is not run
	Settings      *settingsJSON     `json:"agent_settings,omitempty"`
	GitHub        string            `json:"github,omitempty"` // why not everything is shown there
	Shown         bool              `json:"shown"`            // the session is shown on its issue
	Disk          string            `json:"disk,omitempty"`   // how little is free on its disk, and what to do
	CoolDowns     []coolDownJSON    `json:"cool_downs,omitempty"`
	story.Story
	Next string `json:"next,omitempty"`
}

// settingsJSON are the agent settings of the repository.
type settingsJSON struct {
	Paths  []string `json:"paths"`
	Loaded bool     `json:"loaded"`
	Note   string   `json:"note"` // whether they are loaded, and what would change that
}

func settingsOf(e session.Entry) *settingsJSON {
	found := agentSettingsOf(e)
	if len(found.Paths) == 0 {
		return nil
	}
	return &settingsJSON{found.Paths, found.Loaded, found.Note()}
}

type pullJSON struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Draft  bool   `json:"draft"`
}

// diffJSON is how much the commit would change.
type diffJSON struct {
	From    string         `json:"from,omitempty"`
	To      string         `json:"to,omitempty"`
	Files   []diffFileJSON `json:"files"`
	Added   int            `json:"added"`
	Removed int            `json:"removed"`
	Error   string         `json:"error,omitempty"` // why it cannot be read
}

type diffFileJSON struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`
}

func diffOf(ctx context.Context, a *site.Finder, e session.Entry) *diffJSON {
	if e.State.Gate == nil || e.State.Gate.Name != orchestrator.GateCompletion {
		return nil
	}
	d, err := difference(ctx, a, e, false)
	if err != nil {
		return &diffJSON{Files: []diffFileJSON{}, Error: a.Shown()(err.Error())}
	}
	out := &diffJSON{From: d.From, To: d.To, Files: []diffFileJSON{}}
	_, out.Added, out.Removed = d.Counts()
	for _, s := range d.Stats {
		out.Files = append(out.Files, diffFileJSON{a.Shown()(s.Path), s.Added, s.Removed, s.Binary})
	}
	return out
}

// verdictJSON is a reviewer's last verdict. Current says that it is about the tree as it is.
type verdictJSON struct {
	Role     string `json:"role"`
	Verdict  string `json:"verdict"`
	Round    int    `json:"round"`
	Findings int    `json:"findings"`
	Tree     string `json:"tree"`
	Current  bool   `json:"current"`
}

// questionJSON is a question that waits for its answer.
type questionJSON struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Task    string    `json:"task,omitempty"`
	Text    string    `json:"text"`
	Options []string  `json:"options"`
	Asked   time.Time `json:"asked,omitzero"`
}

// StatusOf is a session for a script.
func StatusOf(ctx context.Context, a *site.Finder, e session.Entry) StatusJSON {
	s, shown, st := e.State, a.Shown(), TellLater(ctx, e)
	passAll(&st, shown)
	out := StatusJSON{
		SessionJSON: ListJSON([]session.Entry{e})[0], Kind: s.Kind, Workflow: s.Workflow, Config: s.ConfigSource,
		Repository: string(s.Repo), Title: shown(string(s.IssueTitle)), Base: s.BaseBranch, BaseSHA: s.BaseSHA,
		Created: s.CreatedAt.Time, Updated: EndedAt(e), PhaseEntered: s.PhaseEnteredAt.Time, Interrupted: string(s.InterruptedPhase),
		Paused: s.Paused, Outcome: string(s.Outcome), Reason: string(s.OutcomeReason), Cause: shown(string(s.Cause)),
		Iteration: s.ReviewIteration, ChangeRound: s.ChangeRound, ChangeRequest: shown(string(s.ChangeRequest)),
		Verdicts: verdicts(s, st), Agents: map[string]string{}, Subplans: subplans(s), SubplansDone: len(s.CompletedSubplans),
		SubplansTotal: s.SubplanCount, Questions: openQuestions(s, shown), Commit: s.Completion.Commit, Pushed: s.Completion.Pushed,
		Setup: setupOf(a, nil, e), Settings: settingsOf(e), Shown: s.Mirror, Disk: diskNote(e), CoolDowns: coolDownsJSON(s), Story: st, Next: st.Next(),
	}
	out.Sandbox, _ = a.Sandbox(nil)
	if s.Mirror {
		out.GitHub = shown(mirror.Trouble(e.Dir))
	}
	if s.Gate != nil {
		out.Gate, out.GateOpened = s.Gate.Name, s.Gate.OpenedAt.Time
		out.GateDigest, out.GateReason, out.Diff = s.GateDigest(), string(s.Gate.Reason), diffOf(ctx, a, e)
	}
	if c := s.Completion; c.PRNumber > 0 {
		out.PullRequest = &pullJSON{c.PRNumber, c.PRURL, c.Draft}
	}
	for key, agent := range s.Agents {
		if agent.Launch != "" {
			out.Agents[string(key)] = agentWord(agent, e.Running)
		}
	}
	return out
}

// passAll filters what others wrote through shown.
func passAll(st *story.Story, shown func(string) string) {
	texts := []*string{&st.Sentence, &st.Advice, &st.Actor}
	for i := range st.Outages {
		texts = append(texts, &st.Outages[i].What, &st.Outages[i].Error)
	}
	for i := range st.Owed {
		texts = append(texts, &st.Owed[i].Text)
	}
	texts = append(texts, &st.Refused)
	st.Strays = slices.Clone(st.Strays)
	for i := range st.Strays {
		texts = append(texts, &st.Strays[i].Path)
	}
	st.Decisions = slices.Clone(st.Decisions)
	for i := range st.Decisions {
		texts = append(texts, &st.Decisions[i].Actor, &st.Decisions[i].Origin)
	}
	st.Findings = slices.Clone(st.Findings)
	for i := range st.Findings {
		texts = append(texts, &st.Findings[i])
	}
	for _, text := range texts {
		*text = shown(*text)
	}
}

func verdicts(s *orchestrator.State, st story.Story) []verdictJSON {
	list := []verdictJSON{}
	for _, role := range slices.Sorted(maps.Keys(s.ReviewResults)) {
		r := s.ReviewResults[role]
		list = append(list, verdictJSON{
			Role: role, Verdict: r.Verdict, Round: st.Rounds.Of(r.Iteration), Findings: r.Findings, Tree: r.Tree,
			Current: r.Tree != "" && r.Tree == s.Integrated.Tree,
		})
	}
	return list
}

func openQuestions(s *orchestrator.State, shown func(string) string) []questionJSON {
	list := []questionJSON{}
	for _, q := range s.Questions {
		if !q.Open() {
			continue
		}
		one := questionJSON{ID: q.ID, Role: q.Role, Task: q.Task, Text: shown(q.Text), Options: []string{}, Asked: q.AskedAt.Time}
		for _, option := range q.Options {
			one.Options = append(one.Options, shown(option))
		}
		list = append(list, one)
	}
	return list
}

// subplans returns the subplans of the plan, without the work of a fix, which the state keeps
// among them.
func subplans(s *orchestrator.State) map[string]string {
	plans := maps.Clone(s.SubplanStatus)
	delete(plans, orchestrator.FixTask)
	return plans
}
