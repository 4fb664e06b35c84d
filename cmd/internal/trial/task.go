package trial

import (
	"fmt"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows/agents"
)

const (
	sessionName = "trial"
	roleOf      = agents.RoleBuild
	answerFile  = "answer.txt"
	tooMuch     = 250 // percent, which the tool refuses
	enough      = 25
)

// task is what the CLI has to do: call a tool so that it is refused, correct the call, write what the
// refusal said, and submit. The tools are named as the CLI shows them.
func task(p agent.Provider) string {
	report, done := p.Shown(toolset.ReportStatus), p.Shown(toolset.SubmitDone)
	return fmt.Sprintf("This tests your tools. Do these steps in this order and nothing else; explore nothing.\n"+
		"1. Call `%[1]s` with message `hello` and percent %[3]d. The call is refused, which is intended.\n"+
		"2. Write the file `%[5]s` in your workspace. Its one line is the text of the refusal, word for word.\n"+
		"3. Call `%[1]s` again, now with message `hello` and percent %[4]d.\n"+
		"4. Call `%[2]s` and stop.\n", report, done, tooMuch, enough, answerFile)
}

// teamFile is the agents file of the trial: one agent, which has the task.
func teamFile(p agent.Provider) []byte {
	team := agents.Team{Session: sessionName, WorktreeBase: "..", Agents: []agents.Agent{{
		Name: sessionName, Role: agents.RoleBuild, Branch: sessionName, Task: task(p), Provider: p.Name,
	}}}
	return team.Encode()
}
