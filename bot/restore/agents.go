package restore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Branches lists those that a session works on: its own, or those of the agents of an agents file.
func Branches(s *orchestrator.State) []string {
	if s.Kind != orchestrator.KindAgents {
		return []string{s.FeatureBranch}
	}
	var branches []string
	for _, name := range slices.Sorted(maps.Keys(s.Team)) {
		if branch := s.Team[name].Branch; branch != "" {
			branches = append(branches, branch)
		}
	}
	return branches
}

// steps are those that follow a submission; the first is none.
var steps = []string{"", "commit", "fetch", agents.StepTest, agents.StepPush, agents.StepPull}

// numbered is what a branch gets that finds another one in its place.
var numbered = regexp.MustCompile(`^-[0-9]{1,4}$`)

// ofAgents says what is wrong with a run of an agents file. What its agents are told to do, and where they may
// change what, is believed only of the file that the person here has.
func ofAgents(f *checkpoint.Fetched, s *orchestrator.State, spec Spec) (problems []string) {
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	file := f.Session[session.AgentsFile]
	if !slices.ContainsFunc(spec.Agents, func(want []byte) bool { return bytes.Equal(want, file) }) {
		refuse("its agents file is not the one of this project, as it is started with the same flags")
		return problems
	}
	team, wrong := agents.Parse(session.AgentsFile, file, agents.Known{})
	if err := wrong.Err(); err != nil {
		refuse("%v", err)
		return problems
	}
	if _, ok := f.Session[session.DefinitionFile]; ok {
		refuse("it has a workflow beside its agents file")
	}
	if s.SessionID != team.Session || s.Integrated.Commit != s.BaseSHA {
		refuse("its run is %q at %q", s.SessionID, s.Integrated.Commit)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Team)) {
		a, p := team.Agent(name), s.Team[name]
		if a == nil {
			refuse("its state has an agent %q that the file lacks", name)
			continue
		}
		if !slices.Contains(steps, p.Step) {
			refuse("agent %s is at the step %q", name, p.Step)
		}
		if rest, found := bytes.CutPrefix([]byte(p.Branch), []byte(a.Branch)); p.Branch != "" && (!found || len(rest) > 0 && !numbered.Match(rest)) {
			refuse("agent %s has the branch %q, not %q", name, p.Branch, a.Branch)
		}
		if p.Tip != "" && p.Tip != p.Base || p.Parent != "" && p.Parent != p.Base && p.Parent != s.BaseSHA {
			refuse("agent %s began at %q, had %q and continued %q", name, p.Base, p.Tip, p.Parent)
		}
		if p.Branch != "" && p.Branch == s.BaseBranch || p.Branch == "" && p.Commit != "" {
			refuse("the work of agent %s is on the branch %q", name, p.Branch)
		}
	}
	for i := range team.Agents {
		if a := &team.Agents[i]; a.Issue != 0 && !snapshotOf(f, s, a.Name, a.Issue) {
			refuse("it lacks the text of the issue %d, for which agent %s works", a.Issue, a.Name)
		}
	}
	return problems
}

// isFirstCommit reports whether an effect is the commit of what an agent of an agents file has handed in. The state of
// the agent names its branch from then on; before, the file does, which [ofAgents] verifies.
func isFirstCommit(f *checkpoint.Fetched, s *orchestrator.State, e orchestrator.Effect) bool {
	if s.Kind != orchestrator.KindAgents || e.Type != orchestrator.EffCommit {
		return false
	}
	team, wrong := agents.Parse(session.AgentsFile, f.Session[session.AgentsFile], agents.Known{})
	if wrong.Err() != nil {
		return false
	}
	a := team.Agent(e.Args.Task)
	return a != nil && s.Team[a.Name].Branch == "" && e.Args.Branch == a.Branch
}

// snapshotOf reports whether a checkpoint has the text of the issue that an agent works for.
func snapshotOf(f *checkpoint.Fetched, s *orchestrator.State, name string, issue int) bool {
	hash := s.Team[name].Snapshot
	data := f.Session[path.Join(session.BlobsDir, hash)]
	var text struct {
		Issue int    `json:"issue"`
		Repo  string `json:"repo"`
	}
	return hash != "" && checkpoint.Digest(data) == hash && json.Unmarshal(data, &text) == nil && text.Issue == issue && text.Repo == string(s.Repo)
}
