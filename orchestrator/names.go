package orchestrator

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/workflows/artifact"
)

// Names of workspaces. Tasks of parallel coders and resolutions use their own.
const (
	WorkspaceSession = "session" // serial coders and the fixer
	WorkspaceView    = "view/"   // + role: never integrated
)

// FixTask is the entry of State.SubplanStatus that follows a fix phase's work.
const FixTask = "fix"

// CoordinatorPerson is the address of the person in messages.
const CoordinatorPerson = "core/core"

// AgentKey returns role or role/task.
func AgentKey(role, task string) string {
	if task == "" {
		return role
	}
	return role + "/" + task
}

// SplitKey is the inverse of AgentKey.
func SplitKey(key string) (role, task string) {
	role, task, _ = strings.Cut(key, "/")
	return role, task
}

// LaunchID names one start of an agent: <visit>.<role>[.<task>].<attempt>.
func LaunchID(visit int, role, task string, attempt int) string {
	if task == "" {
		return fmt.Sprintf("%d.%s.%d", visit, role, attempt)
	}
	return fmt.Sprintf("%d.%s.%s.%d", visit, role, task, attempt)
}

// LaunchParts is the inverse of LaunchID; ok is false for anything else.
func LaunchParts(launch string) (visit int, role, task string, attempt int, ok bool) {
	parts := strings.Split(launch, ".")
	if len(parts) != 3 && len(parts) != 4 {
		return 0, "", "", 0, false
	}
	visit, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, "", "", 0, false
	}
	attempt, err = strconv.Atoi(parts[len(parts)-1])
	if err != nil {
		return 0, "", "", 0, false
	}
	if len(parts) == 4 {
		task = parts[2]
	}
	return visit, parts[1], task, attempt, true
}

// ResearchDir returns the directory of a topic, relative to the session.
func ResearchDir(kind, topic string) string { return "03_research/" + kind + "-" + topic }

// ReviewFile returns the file a reviewer writes.
func ReviewFile(dir, role string) string { return path.Join(dir, artifact.ReviewArtifact(role)) }

// ReviewArchive returns where the host keeps a verdict of a round.
func ReviewArchive(dir, role string, iteration int) string {
	return path.Join(dir, fmt.Sprintf("review_%d_%s.md", iteration, role))
}

// madeWithIdentity is the length of an identity that the session was made with. A session of an
// older version was given a shorter one afterwards, when it was known by its name already.
const madeWithIdentity = 16

// PublicID is what a session is known by on the server: its name, and what tells it from
// another one of that name in another clone.
func PublicID(name, identity string) string {
	if len(identity) != madeWithIdentity {
		return name
	}
	return name + "-" + identity
}
