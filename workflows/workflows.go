// Package workflows holds what a session is made of before it runs: the workflow
// definitions (phases, and what leads from one to the next), the roles, and the prompt
// templates. What agents hand in belongs to package artifact.
//
// Everything here is a pure function from bytes to values and texts; callers read
// and write the files. Equal input gives equal output, byte for byte. Validation
// reports every problem at once. The package stores nothing; the shipped
// definitions and templates are part of the binary.
package workflows

// Kinds of phases.
const (
	KindAuthor    = "author"    // one agent writes one artifact
	KindPlan      = "plan"      // the plan, with its gate
	KindImplement = "implement" // coders work through the schedule
	KindReview    = "review"    // verdicts, then the summary
	KindFix       = "fix"       // a coder works off the findings
	KindComplete  = "complete"  // approval, commit, push, pull request
	KindTeam      = "team"      // the agents of an agents file, see OfTeam; a workflow file cannot name it
)

// Outcomes: why a phase is left.
const (
	OutcomeSubmitted        = "submitted"         // author
	OutcomeAccepted         = "accepted"          // plan
	OutcomeCompleted        = "completed"         // implement, fix
	OutcomePassed           = "passed"            // review
	OutcomeFailed           = "failed"            // review, another round follows
	OutcomeExhausted        = "exhausted"         // review, no round is left
	OutcomeApproved         = "approved"          // complete
	OutcomeChangesRequested = "changes_requested" // complete
)

// The two ends of a session; no phase may take these names.
const (
	PhaseDone   = "done"
	PhaseFailed = "failed"
)

// Roles of agents.
const (
	RoleArchitect       = "architect"
	RoleProductManager  = "product-manager"
	RolePlanner         = "planner"
	RoleDesigner        = "designer"
	RoleCoder           = "coder"
	RoleCodeResearcher  = "code-researcher"
	RoleWebResearcher   = "web-researcher"
	RoleReviewer        = "reviewer"
	RoleReviewerLogic   = "reviewer_logic"
	RoleReviewerQuality = "reviewer_quality"
	RoleReviewerExpert  = "reviewer_expert"
)

// RequirementsFile is the request, relative to a session. It exists from the start, and is
// the only artifact outside the directory of its phase.
const RequirementsFile = "requirements.md"

// Events that an author phase may name; each other kind has its own.
const (
	EventPMCompleted         = "pm_completed"
	EventArchitectureWritten = "architecture_written"
	EventDesignWritten       = "design_written"
)

// Tools that an author phase may name.
const (
	ToolSubmitPMDone       = "submit_pm_done"
	ToolSubmitArchitecture = "submit_architecture"
	ToolSubmitDesign       = "submit_design"
)

// AuthorTools lists the tools that an author phase may name.
func AuthorTools() []string {
	return []string{ToolSubmitPMDone, ToolSubmitArchitecture, ToolSubmitDesign}
}

// Conditions of `when`; a leading ! negates.
const (
	ConditionProductManager = "product_manager" // the session was started with one
	ConditionNeedsDesign    = "needs_design"    // the accepted plan says so
	ConditionInteractive    = "interactive"     // a person is at the terminal
	ConditionIssue          = "issue"           // the session works on an issue
)

// Roles lists the eleven roles.
func Roles() []string {
	return []string{
		RoleArchitect, RoleProductManager, RolePlanner, RoleDesigner, RoleCoder, RoleCodeResearcher,
		RoleWebResearcher, RoleReviewer, RoleReviewerLogic, RoleReviewerQuality, RoleReviewerExpert,
	}
}

// ReviewRoles lists the roles a review phase may give work to, in the order in
// which their results are shown.
func ReviewRoles() []string {
	return []string{RoleReviewer, RoleReviewerLogic, RoleReviewerQuality, RoleReviewerExpert}
}

func kinds() []string {
	return []string{KindAuthor, KindPlan, KindImplement, KindReview, KindFix, KindComplete}
}

// Outcomes lists the outcomes a phase of kind can have; nil for an unknown kind.
func Outcomes(kind string) []string {
	switch kind {
	case KindAuthor:
		return []string{OutcomeSubmitted}
	case KindPlan:
		return []string{OutcomeAccepted}
	case KindImplement, KindFix:
		return []string{OutcomeCompleted}
	case KindReview:
		return []string{OutcomePassed, OutcomeFailed, OutcomeExhausted}
	case KindComplete:
		return []string{OutcomeApproved, OutcomeChangesRequested}
	}
	return nil
}
