package tools

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Offered lists the tools a caller's role may use in its session, in the order
// in which they are shown.
func Offered(who Caller) ([]toolset.Tool, error) {
	c := &call{who: who}
	st, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	return offered(c.def, st, who.Role), nil
}

func offered(def *workflows.Definition, st *orchestrator.State, role string) []toolset.Tool {
	return slices.DeleteFunc(toolset.All(), func(t toolset.Tool) bool { return !open(t, def, st, role) })
}

// open reports whether the role may see the tool in this session. A caller without a role
// is a person, who may use all.
func open(t toolset.Tool, def *workflows.Definition, st *orchestrator.State, role string) bool {
	if t.Name == toolset.MsgSend && st.Kind != orchestrator.KindAgents {
		return false // the agents of a workflow write through their artifacts
	}
	return role == "" || st.Kind == orchestrator.KindAgents && t.Name == toolset.SubmitDone || t.Open(def, role)
}

func names(list []toolset.Tool) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}
