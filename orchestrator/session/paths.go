package session

import (
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Files and directories of a session, relative to it.
const (
	StateFile          = "state.json"
	StateBackup        = "state.json.bak"
	stateDamaged       = "state.json.damaged"
	BlobsDir           = "blobs"
	RequirementsFile   = workflows.RequirementsFile
	ContextFile        = "context.md"
	SnapshotFile       = "issue_snapshot.json"
	DefinitionFile     = "definition.yaml"
	AgentsFile         = "agents.yaml"
	RuntimeFile        = "runtime_state.json"
	HostLog            = "orchestrator.log"
	CreatedLog         = "created_files.log"
	ToolEvents         = "tool_events.jsonl"
	Commands           = "commands.jsonl"
	MessageIndex       = "msgs/index.jsonl"
	MessagesLog        = "messages.jsonl"
	ToolCursorFile     = "tool_event_state.json"
	EventsFile         = "events.jsonl"
	MirrorFile         = "mirror_state.json"
	MirrorsDir         = "mirrors"     // <agent>.json, of agents that work for issues
	OvertakenMark      = ".overtaken-" // in the name of a directory whose session went on elsewhere
	LockFile           = "lock"
	LaunchesDir        = "launches"
	TranscriptsDir     = "transcripts"
	MessagesDir        = "msgs"
	QueuesDir          = "queues"
	OffsetsDir         = "offsets"
	SignalsDir         = "signals"
	PlansDir           = "plans"
	ChangelogsDir      = "changelogs"
	ApprovalFile       = orchestrator.ApprovalFile
	ChangesFile        = orchestrator.ChangesFile
	SummaryFile        = "summary.md"
	projectDir         = ".agentmux"
	sessionsDir        = ".sessions"
	ignoreFile         = ".gitignore"
	turnFile           = ".create.lock" // held by who makes a session, if only one may
	lastCompletionFile = ".last_completion.json"
)

// Dir returns where a project keeps its sessions.
func Dir(project string) string { return filepath.Join(project, projectDir, sessionsDir) }

// LastCompletion returns the path of the project's note of its latest finished session. It is only shown to people.
func LastCompletion(project string) string {
	return filepath.Join(project, projectDir, lastCompletionFile)
}

// NoteCompletion replaces the note that LastCompletion names.
func NoteCompletion(project string, note []byte) error {
	if err := PrepareProject(durable.Disk{}, project); err != nil {
		return fmt.Errorf("note completion: %w", err)
	}
	return durable.Replace(LastCompletion(project), note)
}

// Project returns the project a session directory lies in.
func (s *Session) Project() string { return filepath.Dir(filepath.Dir(filepath.Dir(s.Dir))) }
