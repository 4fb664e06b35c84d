package toolset

import (
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
	"github.com/agentmux/agentmux/workflows/message"
)

// Names of tools. Those that an author phase may name are in package workflows.
const (
	DispatchCode       = "research_dispatch_code"
	DispatchWeb        = "research_dispatch_web"
	SubmitResearchDone = "submit_research_done"
	SubmitPlan         = "submit_plan"
	SubmitDone         = "submit_done"
	SubmitReview       = "submit_review"
	SubmitSummary      = "submit_summary"
	ReportStatus       = "report_status"
	AskHuman           = "ask_human"
	MsgSend            = "msg_send"
	MsgList            = "msg_list"
	MsgRead            = "msg_read"
)

// When says when the session accepts a call.
type When string

// A tool with the zero value leaves no line.
const (
	InAuthorPhase      When = "author phase"
	InPlanPhase        When = "plan phase"
	WhileCoding        When = "coding" // the subplan, or the fix, is being worked on
	WhileReviewing     When = "reviewing"
	WhenSummaryIsDue   When = "summary"
	WhileTopicRuns     When = "topic runs"
	InResearchingPhase When = "research allowed" // the phase may dispatch research
	WhileAtWork        When = "at work"          // of the agent that calls
	Always             When = "always"
)

const (
	maxStatus   = 500
	maxQuestion = 4000
	maxOptions  = 6
	maxTopic    = 60
)

const (
	doneSubmitted  = "submitted: {tool} is recorded. Stop now; the session continues by itself."
	doneDispatched = "dispatched: research {topic} is recorded. Its result comes as a message; end your turn if you cannot go on without it."
	doneAsked      = "asked: question {question} is recorded. The answer comes as a message; go on with what does not need it, or end your turn."
	doneRecorded   = "recorded."
)

var authorArtifact = Artifact{Kind: ArtifactText, Place: PlacePhase}

var dispatchParams = []Param{
	{Name: "topic", Type: TypeText, Required: true, Max: maxTopic, Description: "Short name of the topic: lower-case words and digits joined by -",
		Flag: "topic", Usage: "short `name` of the topic"},
	{Name: "context", Type: TypeText, Required: true, Max: MaxItem, Description: "What the researcher must know to understand the questions",
		Flag: "context", Usage: "what the researcher must know"},
	{Name: "questions", Type: TypeList, Required: true, Min: 1, Max: 50, Description: "Questions to answer, each by itself",
		Flag: "question", Usage: "`question` to answer (repeatable)"},
	{Name: "scope_hints", Type: TypeList, Max: 50, Description: "Where to look: directories, files, sites",
		Flag: "scope", Usage: "a `place` to look at (repeatable)"},
}

// sent are the types of messages that agents write: a prompt is the program's.
var sent = []string{message.Ask, message.AskResponse, message.Task, message.TaskComplete, message.Update}

// table holds the tools in the order in which they are shown.
var table = []Tool{
	{
		Name: DispatchCode, Description: "Start a researcher that reads the code of this repository and answers your questions.",
		Params: dispatchParams, When: InResearchingPhase, Research: "code", Done: doneDispatched,
		Command: Command{Words: "research code", Short: "Dispatch code research",
			Example: "research code --topic retries --question 'Who calls the retry helper?' --session DIR --role architect"},
	},
	{
		Name: DispatchWeb, Description: "Start a researcher that searches the web and answers your questions.",
		Params: dispatchParams, When: InResearchingPhase, Research: "web", Done: doneDispatched,
		Command: Command{Words: "research web", Short: "Dispatch web research",
			Example: "research web --topic retries --question 'How long do others wait?' --session DIR --role architect"},
	},
	{
		Name: SubmitResearchDone, Description: "Hand in your research: summary.md is written.",
		Params: []Param{
			{Name: "topic", Type: TypeText, Max: maxTopic, Description: "Your topic; default: the one you were started for", Arg: "TOPIC"},
			{Name: "type", Type: TypeText, Enum: []string{"code", "web"}, Description: "Kind of research; default: yours",
				Flag: "type", Usage: "code or web (default: the role's)"},
		},
		Roles: []string{workflows.RoleCodeResearcher, workflows.RoleWebResearcher}, When: WhileTopicRuns, Submits: true, Done: doneSubmitted,
		Artifact: Artifact{Kind: ArtifactText, Place: PlaceTopic, File: "summary.md"},
		Command: Command{Words: "submit research", Short: "Submit a research result",
			Example: "submit research retries --type code --session DIR --role code-researcher"},
	},
	{
		Name: workflows.ToolSubmitPMDone, Description: "Hand in the requirements: requirements.md is complete.",
		When: InAuthorPhase, Ends: []string{workflows.KindAuthor}, Submits: true, Artifact: authorArtifact, Done: doneSubmitted,
		Command: Command{Words: "submit pm", Short: "Submit requirements.md", Example: "submit pm --session DIR --role product-manager"},
	},
	{
		Name: workflows.ToolSubmitArchitecture, Description: "Hand in the architecture: architecture.md is complete.",
		Params: []Param{{Name: "reviewers", Type: TypeList, Max: 3, Description: "Roles that should review the work",
			Flag: "reviewer", Usage: "nominate this reviewer `role` (repeatable)", Told: "a list of review roles, may be left out"}},
		When: InAuthorPhase, Ends: []string{workflows.KindAuthor}, Submits: true, Artifact: authorArtifact, Done: doneSubmitted,
		Command: Command{Words: "submit architecture", Short: "Submit architecture.md",
			Example: "submit architecture --reviewer reviewer_expert --session DIR --role architect"},
	},
	{
		Name: SubmitPlan, Description: "Hand in the plan: plan.yaml is complete.",
		When: InPlanPhase, Ends: []string{workflows.KindPlan}, Submits: true, Done: doneSubmitted,
		Artifact: Artifact{Kind: ArtifactPlan, Place: PlaceDir, In: workflows.KindPlan, File: artifact.PlanFile},
		Command:  Command{Words: "submit plan", Short: "Submit plan.yaml", Example: "submit plan --session DIR --role planner"},
	},
	{
		Name: workflows.ToolSubmitDesign, Description: "Hand in the design: design.md is complete.",
		When: InAuthorPhase, Ends: []string{workflows.KindAuthor}, Submits: true, Artifact: authorArtifact, Done: doneSubmitted,
		Command: Command{Words: "submit design", Short: "Submit design.md", Example: "submit design --session DIR --role designer"},
	},
	{
		Name: SubmitDone, Description: "Hand in your work: the task is finished and its tests pass.",
		Params: []Param{{Name: "subplan_index", Type: TypeNumber, Min: 1, Description: "Number of your subplan", Arg: "N"}},
		When:   WhileCoding, Ends: []string{workflows.KindImplement, workflows.KindFix, workflows.KindTeam}, Submits: true, Done: doneSubmitted,
		Command: Command{Words: "submit done", Short: "Submit subplan N", Example: "submit done 2 --session DIR --role coder"},
	},
	{
		Name: SubmitReview, Description: "Hand in your review: the YAML file with verdict and findings is complete.",
		Params: []Param{{Name: "role", Type: TypeText, Description: "Your role; may be left out"}}, // as a command: the caller's
		Roles:  workflows.ReviewRoles(), When: WhileReviewing, Ends: []string{workflows.KindReview}, Submits: true, Done: doneSubmitted,
		Artifact: Artifact{Kind: ArtifactReview, Place: PlaceReview, In: workflows.KindReview},
		Command:  Command{Words: "submit review", Short: "Submit a review", Example: "submit review --session DIR --role reviewer_logic"},
	},
	{
		Name: SubmitSummary, Description: "Hand in the summary: summary.md is complete.",
		Roles: workflows.ReviewRoles(), When: WhenSummaryIsDue, Ends: []string{workflows.KindReview}, Summary: true, Submits: true, Done: doneSubmitted,
		Artifact: Artifact{Kind: ArtifactText, Place: PlaceDir, In: workflows.KindComplete, File: "summary.md"},
		Command:  Command{Words: "submit summary", Short: "Submit summary.md", Example: "submit summary --session DIR --role reviewer_logic"},
	},
	{
		Name: ReportStatus, Description: "Tell people what you are doing. It decides nothing.",
		Params: []Param{
			{Name: "message", Type: TypeText, Required: true, Max: maxStatus, Description: "One line", Flag: "message", Usage: "what is going on"},
			{Name: "percent", Type: TypeNumber, Max: 100, Description: "How far you are", Flag: "percent", Usage: "how much is done, 0 to 100"},
			{Name: "current_task", Type: TypeText, Max: maxStatus, Description: "What you are at", Flag: "current", Usage: "the task at hand"},
		},
		Everyone: true, When: Always, Done: doneRecorded,
		Command: Command{Words: "report", Short: "Report an agent's progress",
			Example: "report --message 'The parser is done' --percent 60 --session DIR --role coder"},
	},
	{
		Name: AskHuman, Description: "Ask a person. The answer comes later, as a message; ask only where a wrong guess is costly.",
		Params: []Param{
			{Name: "question", Type: TypeText, Required: true, Max: maxQuestion, Description: "The question, with what one must know to answer it",
				Flag: "question", Usage: "the question"},
			{Name: "options", Type: TypeList, Max: maxOptions, Description: "Answers to choose from",
				Flag: "option", Usage: "an `answer` to choose (repeatable)"},
		},
		Everyone: true, When: WhileAtWork, Done: doneAsked,
		Command: Command{Words: "ask", Short: "Ask a person",
			Example: "ask --question 'Which endpoint?' --option v1 --option v2 --session DIR --role coder"},
	},
	{
		Name: MsgSend, Description: "Write to another agent of this run, or to the person as core/core. The message is delivered when its reader can take it.",
		Params: []Param{
			{Name: "to", Type: TypeText, Required: true, Max: 300, Description: "The reader: mesh/agent, the name of an agent of this run, or core/core",
				Flag: "to", Usage: "the reader: mesh/`agent`, an agent's name, or core/core"},
			{Name: "type", Type: TypeText, Required: true, Enum: sent, Description: "ask wants an answer, and what is written to you waits until it comes; ask-response answers an ask; " +
				"task gives work, task-complete tells that it is done; update tells something", Flag: "type", Usage: "`type` of the message"},
			{Name: "headline", Type: TypeText, Required: true, Max: 200, Description: "What it is about, in one line", Flag: "headline", Usage: "what it is about, in one `line`"},
			{Name: "body", Type: TypeText, Required: true, Max: message.MaxFile, Description: "The message, in Markdown", Flag: "body", Usage: "the message, in Markdown"},
			{Name: "status", Type: TypeText, Max: 50, Description: "A word such as start, in-progress, complete, blocked, approved or rejected; default: start, of an answer complete",
				Flag: "status", Usage: "a `word` such as complete or blocked"},
			{Name: "in_reply_to", Type: TypeText, Max: 100, Description: "The msg-id of what it answers; an ask-response has one",
				Flag: "in-reply-to", Usage: "`msg-id` of what it answers"},
			{Name: "priority", Type: TypeText, Enum: []string{message.High, message.Normal, message.Low}, Description: "Default: normal",
				Flag: "priority", Usage: "high, normal or low"},
			{Name: "deadline", Type: TypeText, Max: 50, Description: "A time such as 2026-01-15T10:05:00Z after which it is not delivered any more",
				Flag: "deadline", Usage: "`time` after which it is not delivered"},
		},
		Everyone: true,
		Command: Command{Words: "msg send", Short: "Send a message to another agent",
			Example: "msg send --to shop/api --type ask --headline 'Which port?' --body 'The page needs it.' --session DIR --role build --task page"},
	},
	{
		Name: MsgList, Description: "List the messages to you.",
		Params: []Param{
			{Name: "unread", Type: TypeFlag, Description: "Only those you have not read", Flag: "unread", Usage: "only those it has not read"},
			{Name: "limit", Type: TypeNumber, Min: 1, Max: 200, Description: "The newest so many; default 20",
				Flag: "limit", Usage: "the newest so many (default 20)"},
		},
		Everyone: true,
		Command:  Command{Words: "msg list", Short: "List the messages to an agent", Example: "msg list --unread --session DIR --role coder"},
	},
	{
		Name: MsgRead, Description: "Read a message to you.",
		Params:   []Param{{Name: "file", Type: TypeText, Required: true, Max: 300, Description: "File name of the message", Arg: "FILE"}},
		Everyone: true, When: Always, Done: doneRecorded,
		Command: Command{Words: "msg read", Short: "Print a message and note that it was read",
			Example: "msg read msgs/1122090000-status-core-core--pipeline-coder-1-m12.md --session DIR --role coder --task 1"},
	},
}
