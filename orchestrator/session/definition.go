package session

import (
	"errors"
	"io/fs"

	"github.com/agentmux/agentmux/workflows"
)

const (
	maxDefinition   = 256 << 10
	maxAgentsFile   = 1 << 20
	agentsAnew      = "start again with agentmux agents start --new"
	classicWorkflow = "feature"
)

// Definition returns the frozen workflow of the session. A session of the
// earlier tool has none and gets the shipped feature workflow; one made from an
// agents file gets a single phase.
func (s *Session) Definition() (*workflows.Definition, error) {
	s.defOnce.Do(func() { s.def, s.defHash, s.defErr = s.loadDefinition() })
	return s.def, s.defErr
}

func (s *Session) loadDefinition() (*workflows.Definition, string, error) {
	data, err := readOwn(s.Path(DefinitionFile), maxDefinition+1)
	if errors.Is(err, fs.ErrNotExist) {
		def, err := s.impliedDefinition()
		return def, "", err
	}
	if err != nil {
		return nil, "", s.unusable(DefinitionFile, err, s.restoreDefinition())
	}
	def, problems := workflows.Parse(DefinitionFile, data, workflows.Known{Frozen: true})
	if err := problems.Err(); err != nil {
		return nil, "", &CorruptError{Name: s.Name(), Reason: err.Error(), Next: s.restoreDefinition(), cause: err}
	}
	return def, hash(data), nil
}

// restoreDefinition says how a damaged definition is made good.
func (s *Session) restoreDefinition() string {
	return "put the workflow it was made with back as " + s.Path(DefinitionFile) +
		", for instance with agentmux workflows show, or start again with agentmux run or issue"
}

func (s *Session) impliedDefinition() (*workflows.Definition, error) {
	data, err := readOwn(s.Path(AgentsFile), maxAgentsFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		def, _, problems := workflows.Load(classicWorkflow, nil)
		return def, problems.Err()
	}
	if err != nil {
		return nil, s.unusable(AgentsFile, err, agentsAnew)
	}
	def, err := workflows.ParseTeam(AgentsFile, data)
	if err != nil {
		return nil, &CorruptError{Name: s.Name(), Reason: err.Error(), Next: agentsAnew, cause: err}
	}
	return def, nil
}
