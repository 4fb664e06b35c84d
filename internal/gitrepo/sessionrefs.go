package gitrepo

import "strconv"

// The refs of a session in the store. What they call session has to tell the
// sessions of all clones of the project apart, those of one name too.

// StartRef keeps the commit which a session starts from.
func StartRef(session string) string { return "refs/agentmux/start/" + session }

// IntegrationRef is the head of a session's integrated commits.
func IntegrationRef(session string) string { return "refs/agentmux/integration/" + session }

// PreservedRef is where the work of a task is kept.
func PreservedRef(session, task string) string {
	return "refs/agentmux/preserved/" + session + "/" + task
}

// CheckpointRef is where a session's latest checkpoint is.
func CheckpointRef(session string) string { return "refs/agentmux/sessions/" + session }

// FetchedRef is where the checkpoint is that was fetched last to continue a session of another machine.
func FetchedRef(session string) string { return "refs/agentmux/fetched/" + session }

// PushedRef is what a session pushed last.
func PushedRef(session string) string { return "refs/agentmux/pushed/" + session }

// RoundRef is where the commit of a change round is kept: own as this program made it,
// tip as it was pushed, with what people had put on the branch merged in.
func RoundRef(session string, round int, which string) string {
	return roundRefs(session) + "/" + strconv.Itoa(round) + "/" + which
}

func roundRefs(session string) string { return "refs/agentmux/completion/" + session }

// SessionRefs lists the refs, and the directories of refs, that go with a session. Those of
// PreservedRef are not among them.
func SessionRefs(session string) []string {
	return []string{IntegrationRef(session), CheckpointRef(session), PushedRef(session), roundRefs(session), StartRef(session)}
}
