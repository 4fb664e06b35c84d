package orchestrator

// Parts of the names of workspaces, see duty.Work and duty.View.
const (
	WorkspaceSession = "session" // in sessions of earlier versions: of serial coders and the fixer
	WorkspaceView    = "view/"   // + role: never integrated
)

// FixTask is the entry of State.SubplanStatus that follows a fix phase's work.
const FixTask = "fix"

// WaitsForProvider is what an agent waits for whose provider refuses more, in state.json and in records.
const WaitsForProvider = "rate_limit"

// CoordinatorPerson is the address of the person in messages.
const CoordinatorPerson = "core/core"

// Actors of a CanceledRecord that are not a person.
const (
	ActorSignal = "signal" // the host was told to end
	ActorClaim  = "claim"  // another host holds the claim
)

// PublicID is what a session is known by on the server: its name, and what tells it from
// another one of that name in another clone. A session of an older version was given a shorter
// identity afterwards, when it was known by its name already.
func PublicID(name, identity string) string {
	if len(identity) != 16 {
		return name
	}
	return name + "-" + identity
}
