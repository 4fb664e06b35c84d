package story

import "slices"

// Verb is a command that a comment on GitHub may give.
type Verb struct {
	Name string
	Args string // in words, empty for none
	When string // what the session has to be
	Does string
}

// Verbs are the commands that a comment may give, in the order in which help lists them.
func Verbs() []Verb {
	return []Verb{
		{"status", "", "any", "brings the status comment up to date; /agentmux alone does the same"},
		{"say", "[ROLE] TEXT", "running", "tells the agent at work, or the one of a role"},
		{"answer", "[ID] TEXT", "a question is open", "answers it, with the number of an option or in words"},
		{"approve", "", "a gate is open", "lets pass what the gate shows; a held path takes maintain permission"},
		{"changes", "TEXT", "a gate or a pull request is open, or it is parked", "plans and works again for what is to be different"},
		{"pause", "", "running", "starts no turn until resume"},
		{"resume", "", "paused, parked or failed", "continues"},
		{"retry", "", "not running well", "starts what failed again; when it has ended and the text was edited, a new session"},
		{"stop", "", "waiting, running or parked; its pull request is open", "ends it and keeps the work; ends the follow-ups of a pull request"},
		{"help", "", "any", "shows this table"},
	}
}

// OfAgent reports whether the verb may be for one agent of an agents file alone; the others are for its whole run.
func OfAgent(name string) bool {
	return slices.Contains([]string{"status", "say", "answer", "retry", "stop", "help"}, name)
}
