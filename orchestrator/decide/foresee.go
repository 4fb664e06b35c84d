package decide

import (
	"encoding/json"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Foresee tells why a session would refuse a command of a person; "" if it would take it. With
// resumed it is one that nobody hosts and that would be resumed first. Nothing is changed.
func Foresee(def *workflows.Definition, s *orchestrator.State, p orchestrator.Payload, at time.Time, resumed bool) (reason string) {
	if s.IsClassic() {
		return "" // its upgrade needs its directory
	}
	if resumed {
		step, err := Reduce(def, s, orchestrator.Input{Kind: orchestrator.InStart, At: at, Start: &orchestrator.Start{Mode: orchestrator.StartResume}})
		if err != nil {
			return ""
		}
		s = step.State
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	step, err := Reduce(def, s, orchestrator.Input{Kind: orchestrator.InCommand, At: at, Line: &orchestrator.Line{Tool: commandTool, Payload: body, At: orchestrator.At(at)}})
	if err != nil {
		return ""
	}
	for _, e := range step.Events {
		if d, ok := e.Data.(orchestrator.CommandRefusedRecord); ok {
			reason = d.Reason
		}
	}
	return reason
}
