package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

const (
	tailLines = 15
	maxTail   = 64 << 10
	// refusedWords is in what the tool answers to a call with too much.
	refusedWords = "100"
)

// evidence is what a trial has left, which tells what worked.
type evidence struct {
	provider agent.Provider
	sess     *session.Session
	state    *orchestrator.State
	records  []orchestrator.Event
	watched  *watched
	left     int // processes that were still there at the end
	limit    time.Duration
}

// of returns the newest record of a type; nil without one.
func of[T orchestrator.Record](e *evidence) *T {
	for i := len(e.records) - 1; i >= 0; i-- {
		if data, ok := e.records[i].Data.(T); ok {
			return &data
		}
	}
	return nil
}

func (e *evidence) submission() *orchestrator.SubmissionRecord {
	return of[orchestrator.SubmissionRecord](e)
}

// rows tells what worked, in the order in which it should have happened. What could not happen because
// something before it did not is left out.
func (e *evidence) rows(ctx context.Context) []doctor.Probe {
	started := of[orchestrator.AgentStartedRecord](e)
	if started == nil {
		return []doctor.Probe{e.failed("start", "it was not started: "+e.why(), "agentmux doctor")}
	}
	rows := []doctor.Probe{e.worked("start", "in a pane of its own, "+e.transport(started.Launch))}
	add := func(p doctor.Probe) { rows = append(rows, p) }
	submitted := e.submission() != nil
	if e.prompted(started.Launch) {
		add(e.worked("task", "it read its task"))
	} else {
		add(e.failed("task", "nothing shows that it read its first line", "providers."+e.provider.Name+".prompt_mode and .prompt_flag say how it is given; see docs/providers.md"))
	}
	if e.called() {
		add(e.worked("tools", "it called a tool of the session"))
	} else {
		add(e.failed("tools", "no call of a tool arrived", e.toolHint()))
	}
	if submitted {
		add(e.corrected(ctx))
		add(e.worked("submission", "its work was taken"))
	} else {
		add(e.failed("submission", "it did not submit: "+e.why(), e.next()))
	}
	add(e.ended(submitted))
	add(e.session())
	add(e.usage())
	if e.left > 0 {
		add(e.failed("nothing left", console.Counted(e.left, "process was", "processes were")+" left behind, and ended", "set its own switch for helpers that stay, in providers."+e.provider.Name+".interactive_args or .headless_args"))
	} else {
		add(e.worked("nothing left", "no process of it runs"))
	}
	return rows
}

func (e *evidence) worked(name, detail string) doctor.Probe {
	return doctor.Probe{Name: name, State: doctor.OK, Detail: detail}
}

func (e *evidence) failed(name, detail, hint string) doctor.Probe {
	return doctor.Probe{Name: name, State: doctor.Failed, Detail: detail, Hint: hint}
}

func (e *evidence) warning(name, detail, hint string) doctor.Probe {
	return doctor.Probe{Name: name, State: doctor.Warning, Detail: detail, Hint: hint}
}

func (e *evidence) launchDir(l orchestrator.Launch) string {
	return e.sess.Path(session.LaunchesDir, string(l))
}

// transport says how a launch ran.
func (e *evidence) transport(l orchestrator.Launch) string {
	if launch, err := agent.ReadLaunch(e.launchDir(l)); err == nil && launch.Transport == agent.Headless {
		return "headless"
	}
	return "at a terminal"
}

// prompted reports whether the CLI took its task: it said so by a hook, or did what the task says.
func (e *evidence) prompted(l orchestrator.Launch) bool {
	signals, _, _ := signal.Read(e.launchDir(l), 0)
	for _, s := range signals {
		if s.Kind == signal.KindPrompt || s.Kind == signal.KindWorking {
			return true
		}
	}
	return e.called()
}

// called reports whether a call of a tool arrived.
func (e *evidence) called() bool {
	return of[orchestrator.AgentStatusRecord](e) != nil || of[orchestrator.InputRejectedRecord](e) != nil || len(e.state.Questions) > 0 || e.submission() != nil
}

func (e *evidence) toolHint() string {
	if e.provider.MCP == "" {
		return "it has to run agentmux report and agentmux submit as commands: see that it may run commands"
	}
	return "see that it may use tool servers (MCP); providers." + e.provider.Name + ".mcp and .tool_name say in which form it gets ours"
}

// corrected says whether the call that was refused was understood: its words are in the work.
func (e *evidence) corrected(ctx context.Context) doctor.Probe {
	text, err := git.Call{Dir: e.sess.Project(), Args: []string{"show", sessionName + ":" + answerFile}, MaxOutput: maxTail}.Text(ctx)
	status := of[orchestrator.AgentStatusRecord](e)
	if err == nil && status != nil && status.Percent != nil && *status.Percent == enough && strings.Contains(text, refusedWords) {
		return e.worked("refusal", "it read a refused call and corrected it")
	}
	return e.failed("refusal", "it submitted without correcting the call that was refused", "its answers of tools may not reach its model; try another version, or another model")
}

// ended says how the launch ended.
func (e *evidence) ended(submitted bool) doctor.Probe {
	exited := of[orchestrator.AgentExitedRecord](e)
	switch {
	case exited == nil:
		return e.failed("end", "nothing shows that it ended", "agentmux doctor")
	case submitted && exited.Signal != "":
		return e.warning("end", "it was stopped after its submission ("+exited.Signal+")", "it does not end by itself, which is usual at a terminal")
	case exited.Signal != "":
		return e.worked("end", "it was stopped ("+exited.Signal+")")
	case exited.ExitCode != nil:
		return e.worked("end", fmt.Sprintf("it ended with %d", *exited.ExitCode))
	}
	return e.worked("end", "it ended")
}

// session says whether another launch could continue the session of the CLI.
func (e *evidence) session() doctor.Probe {
	agent := e.state.Agents[orchestrator.KeyOf(roleOf, sessionName)]
	switch {
	case len(e.provider.ResumeArgs) == 0:
		return doctor.Probe{Name: "resume", State: doctor.Skipped, Detail: "it cannot continue a session: each launch begins from its prompt"}
	case agent.CLISession == "":
		return e.warning("resume", "it named no session of its own", "after a loss its next launch begins from its prompt")
	}
	return e.worked("resume", "it named its session, so that another launch can continue it")
}

// usage says what the CLI told of its use.
func (e *evidence) usage() doctor.Probe {
	exited := of[orchestrator.AgentExitedRecord](e)
	if exited == nil || exited.Usage == nil {
		return doctor.Probe{Name: "usage", State: doctor.Skipped, Detail: "it told nothing of what it used"}
	}
	return e.worked("usage", exited.Usage.String())
}

// why says why the CLI did not get further.
func (e *evidence) why() string {
	switch wait := e.watched.wait.Load(); {
	case wait != nil:
		return *wait
	case e.watched.limit.Load():
		return fmt.Sprintf("%s were over", e.limit)
	}
	if parked := of[orchestrator.NeedsHumanRecord](e); parked != nil {
		return parked.Text
	}
	if failed := of[orchestrator.EffectFailedRecord](e); failed != nil {
		return failed.Error
	}
	if failed := of[orchestrator.AgentFailedRecord](e); failed != nil {
		return failed.Tail
	}
	return console.Dash(string(e.state.OutcomeReason))
}

// next says what to do about a CLI that did not submit.
func (e *evidence) next() string {
	switch {
	case e.watched.wait.Load() != nil:
		return "when that is over, agentmux providers test " + e.provider.Name + " again"
	case e.provider.CheckLogin() == nil:
		return "its last lines say more; agentmux providers login " + e.provider.Name + " logs it in for agentmux"
	}
	return "its last lines say more"
}

// lastLines are the last lines that the CLI printed.
func (e *evidence) lastLines() []string {
	started := of[orchestrator.AgentStartedRecord](e)
	if started == nil {
		return nil
	}
	data, _ := session.ReadFile(e.sess.Path(session.TranscriptsDir, filepath.Base(string(started.Launch))+".log"))
	var lines []string
	for line := range strings.Lines(string(data[max(0, len(data)-maxTail):])) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-tailLines):]
}
