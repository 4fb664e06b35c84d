package duty

import (
	"path"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// DoneMarkers returns the files that end an agent's task in a session of the earlier tool
// when a person makes them, by agent key: that of the product manager and those of the
// running research. A session of ours has none.
func DoneMarkers(def *workflows.Definition, s *orchestrator.State) map[orchestrator.AgentKey]string {
	files := map[orchestrator.AgentKey]string{}
	if !FromEarlierTool(s) {
		return files
	}
	phase, _ := def.Phase(s.Phase)
	for _, o := range Owed(def, s) {
		kind, researches := ResearchKind(o.Role)
		switch {
		case researches:
			files[o.Key()] = ResearchMarker(kind, o.Task)
		case phase.Tool == workflows.ToolSubmitPMDone && o.Role == phase.Role:
			files[o.Key()] = path.Join(phase.Dir, "done")
		}
	}
	return files
}

// FromEarlierTool reports whether the session began with the earlier tool, which froze no
// definition.
func FromEarlierTool(s *orchestrator.State) bool {
	return s.Kind == orchestrator.KindPipeline && s.DefinitionSHA256 == ""
}

// ResearchMarker returns the file that ends a topic in a session of the earlier tool.
func ResearchMarker(kind, topic string) string {
	return path.Join(ResearchDir(kind, topic), "done")
}
