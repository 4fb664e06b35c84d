package orchestrator

import "github.com/agentmux/agentmux/internal/usage"

// Types of effects. Each has "ensure" semantics: carried out twice it leaves
// the world as carried out once.
const (
	EffEnsureDirs      = "ensure_dirs"      // Paths exist as directories
	EffWriteFile       = "write_file"       // Path holds the blob SHA256
	EffWriteMarker     = "write_marker"     // Path exists and is empty
	EffMoveAside       = "move_aside"       // Paths are renamed to <stem>.stale-<visit>.<ext>
	EffRemoveFiles     = "remove_files"     // Paths are absent
	EffMaterialise     = "materialise"      // derived files of Material equal their source blobs
	EffStartAgent      = "start_agent"      // exactly one pane runs Launch
	EffStopAgent       = "stop_agent"       // no process of Launch is left, its pane is gone
	EffDeliver         = "deliver_message"  // message Seq reached its agent
	EffAnswerDialog    = "answer_dialog"    // the answer to Question was pressed at the pane of Launch, while its dialog was there
	EffEnsureWorkspace = "ensure_workspace" // Workspace exists at Base
	EffRemoveWorkspace = "remove_workspace" // Workspace's directory is gone
	EffIntegrate       = "integrate"        // the work of Launch is merged into the head
	EffPreserve        = "preserve"         // the work in Workspace is kept under a ref
	EffKeepLate        = "keep_late"        // what Launch wrote in Workspace after Tree was taken is kept under a ref
	EffInspect         = "inspect_work"     // what the output gate names of the work is known
	EffCommit          = "ensure_commit"    // the branch's commit exists locally
	EffPush            = "ensure_push"      // the branch is where people find it
	EffFetchBranch     = "fetch_branch"     // Commit is in the person's clone as Branch, which is not checked out
	EffTest            = "run_test"         // the test command has passed on the work of Task
	EffPR              = "ensure_pr"        // a pull request for the branch exists
	EffLastCompletion  = "write_last_completion"
	EffCheckpoint      = "checkpoint"      // the session, and what the workspaces named by Paths hold, is kept
	EffOrphan          = "orphan_messages" // Paths are renamed to <stem>-orphan.md
	EffAdopt           = "adopt_branch"    // what people put on the branch is integrated
)

// Effect is something that must become true. The record stays in the state
// until the commit of its result.
type Effect struct {
	ID        string   `json:"id"` // <visit>.<n>
	Type      string   `json:"type"`
	Key       string   `json:"key"` // effects of one key run in order
	Args      Args     `json:"args"`
	After     []string `json:"after,omitempty"` // ids that must be done before
	Attempt   int      `json:"attempt"`         // tries that failed
	NotBefore Time     `json:"not_before"`
	Since     Time     `json:"since"` // first failure
}

// Args are an effect's arguments; each type uses the fields its comment names.
// Texts travel as hashes of blobs, never as content.
type Args struct {
	Path   string   `json:"path,omitempty"`
	Paths  []string `json:"paths,omitempty"`
	SHA256 string   `json:"sha256,omitempty"`

	Material string            `json:"material,omitempty"` // one of the Material constants
	Sources  map[string]string `json:"sources,omitempty"`  // name -> blob; ensure_workspace: branch -> commit

	Launch     Launch `json:"launch,omitempty"`
	Role       string `json:"role,omitempty"`
	Task       string `json:"task,omitempty"`
	Template   string `json:"template,omitempty"`    // prompt template
	PromptFile string `json:"prompt_file,omitempty"` // where the rendered prompt goes
	Headless   bool   `json:"headless,omitempty"`    // never a TUI (researchers)
	Continue   bool   `json:"continue,omitempty"`    // go on with the CLI's own session
	Provider   string `json:"provider,omitempty"`    // in place of the configured one
	Since      string `json:"since,omitempty"`       // reviewers of a later tree: their pass is for this one

	Workspace string   `json:"workspace,omitempty"` // name
	Dir       string   `json:"dir,omitempty"`       // its path, when known
	Base      string   `json:"base,omitempty"`
	Visit     int      `json:"visit,omitempty"`
	Before    Time     `json:"before"` // move_aside: only files written before; the zero time means all
	Head      string   `json:"head,omitempty"`
	Owned     []string `json:"owned,omitempty"`
	Strict    bool     `json:"strict,omitempty"` // integrate: paths outside Owned are not merged
	Date      Time     `json:"date"`             // author date of what is committed

	Seq      int    `json:"seq,omitempty"`      // message
	Question string `json:"question,omitempty"` // answer_dialog: its id
	Gone     bool   `json:"gone,omitempty"`     // stop_agent: the launch's exit is recorded already

	Leaving bool     `json:"leaving,omitempty"` // stop_agent: it has submitted and may end its turn
	Home    string   `json:"home,omitempty"`    // start_agent: see Agent
	Left    []string `json:"left,omitempty"`    // integrate: paths that could not be taken

	Message   string   `json:"message,omitempty"`
	Exclude   []string `json:"exclude,omitempty"`
	Allowed   bool     `json:"allowed,omitempty"` // a person at hand approved what the output gate blocks
	Matches   bool     `json:"matches,omitempty"` // a person approved it: what only looks like a secret may pass
	Commit    string   `json:"commit,omitempty"`
	Tree      string   `json:"tree,omitempty"` // integrate, preserve: taken at the submission; empty = the workspace as it is
	Branch    string   `json:"branch,omitempty"`
	Round     int      `json:"round,omitempty"`
	Draft     bool     `json:"draft,omitempty"`
	Exhausted bool     `json:"exhausted,omitempty"`
	Held      []string `json:"held,omitempty"`
}

// What materialise derives.
const (
	MaterialPlan      = "plan"             // plan.md, plan_<N>.md, tasks_<N>.md, execution_plan.yaml from plan
	MaterialReview    = "review"           // Path: one reviewer's markdown, from its YAML
	MaterialReviewAll = "review_all"       // review.md from every role's YAML
	MaterialFix       = "fix_request"      // fix_request.md from the YAML of the iteration
	MaterialSummary   = "fallback_summary" // summary.md when no agent wrote one
	MaterialConflict  = "conflict"         // conflict_<N>.diff from preserved work
)

// Result is what carrying out an effect found or made. Each type fills the
// fields its comment names; the zero Result is success with nothing to say.
type Result struct {
	// start_agent
	Provider     string `json:"provider,omitempty"`
	FallbackFor  string `json:"fallback_for,omitempty"` // the configured provider, if another one took over
	Model        string `json:"model,omitempty"`
	Effort       string `json:"effort,omitempty"`
	PromptSHA256 string `json:"prompt_sha256,omitempty"`
	CLISession   string `json:"cli_session,omitempty"`
	ToolName     string `json:"tool_name,omitempty"` // how the program shows a tool, with {tool} in it

	// ensure_workspace: Path; integrate, preserve, ensure_commit: the rest
	Path      string      `json:"path,omitempty"`
	Commit    string      `json:"commit,omitempty"`
	Tree      string      `json:"tree,omitempty"`
	Snapshot  string      `json:"snapshot,omitempty"` // tree of the workspace
	Files     int         `json:"files,omitempty"`
	Scope     []ScopePath `json:"scope,omitempty"`
	Conflicts []string    `json:"conflicts,omitempty"`
	Empty     bool        `json:"empty,omitempty"` // nothing changed
	Late      []string    `json:"late,omitempty"`  // keep_late: paths

	// ensure_commit; of inspect_work the findings and what is held
	Parent   string   `json:"parent,omitempty"`
	Subject  string   `json:"subject,omitempty"`
	Findings []string `json:"findings,omitempty"` // output gate: the commit was not made
	Held     []string `json:"held,omitempty"`

	// ensure_push, ensure_pr
	Branch  string `json:"branch,omitempty"`
	Skipped string `json:"skipped,omitempty"` // why nothing was sent, in words; not a failure
	Refused string `json:"refused,omitempty"` // why the other side will never take it, or must not get it
	Number  int    `json:"number,omitempty"`
	URL     string `json:"url,omitempty"`
	Draft   bool   `json:"draft,omitempty"`
	Adopted bool   `json:"adopted,omitempty"`
	Pushed  bool   `json:"pushed,omitempty"` // checkpoint

	// ensure_push: with Skipped, what a program decides by
	Withheld Withheld `json:"withheld,omitempty"`

	// deliver_message: sent, refused or indeterminate; Mode tells how
	Delivery string `json:"delivery,omitempty"`
	Mode     string `json:"mode,omitempty"`

	// stop_agent
	ExitCode *int         `json:"exit_code,omitempty"`
	Signal   string       `json:"signal,omitempty"`
	Usage    *usage.Usage `json:"usage,omitempty"` // nil: not known

	// materialise, write_file
	SHA256 string `json:"sha256,omitempty"`
}

// Withheld is the reason for which a branch was not pushed although nothing failed.
type Withheld string

// The reasons for not pushing.
const (
	PushOff       Withheld = "off"       // github.push
	PushElsewhere Withheld = "elsewhere" // origin is not on the GitHub server
	PushReadOnly  Withheld = "read_only" // the account may not write to the repository
	PushNoToken   Withheld = "no_token"
)

// ScopePath is a changed path outside a subplan's owned files.
type ScopePath struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// ModeHook is the way of delivery whose receipt is known.
const ModeHook = "hook"

// Deliveries of a message.
const (
	DeliverySent          = "sent"
	DeliveryRefused       = "refused"
	DeliveryIndeterminate = "indeterminate"
)
