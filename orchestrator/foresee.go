package orchestrator

import (
	"encoding/json"
	"time"

	"github.com/agentmux/agentmux/workflows"
)

// Foresee tells why a session would refuse a command of a person; "" if it would take it. With
// resumed it is one that nobody hosts and that would be resumed first. Nothing is changed.
func Foresee(def *workflows.Definition, s *State, p Payload, at time.Time, resumed bool) (reason string) {
	if s.IsClassic() {
		return "" // its upgrade needs its directory
	}
	if resumed {
		step, err := Reduce(def, s, Input{Kind: InStart, At: at, Start: &Start{Mode: StartResume}})
		if err != nil {
			return ""
		}
		s = step.State
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	step, err := Reduce(def, s, Input{Kind: InCommand, At: at, Line: &Line{Tool: commandTool, Payload: body, At: At(at)}})
	if err != nil {
		return ""
	}
	for _, e := range step.Events {
		if e.Type == EvCommandRefused {
			reason, _ = e.Data["reason"].(string)
		}
	}
	return reason
}
