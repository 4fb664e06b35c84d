// Package config owns the settings of agentmux: their keys, types and defaults,
// the layers they come from (built in, the person's file, the project's file, the
// file named on the command line) and what a repository may not set.
//
// Load reads every layer, merges maps, lets lists and scalars replace one another,
// and reports all problems of all files at once, each with its file, line and key.
// A Config is complete: every key has its value or its default, and no caller
// checks for missing ones. Files and LoadFiles carry a configuration to another process: what
// was read, not what was made of it, so that the same rules hold there and each value keeps
// its file and line. The package reads files and writes none.
package config

import (
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

// Version is the version every file must name.
const Version = 2

// Config is the merged configuration. It is not changed after Load.
type Config struct {
	Version    int                 `doc:"version"`
	Defaults   Defaults            `doc:"defaults"`
	Roles      map[string]Role     `doc:"roles"`
	Providers  map[string]Provider `doc:"providers"` // the ones the files mention
	GitHub     GitHub              `doc:"github"`
	Approval   Approval            `doc:"approval"`
	Questions  Questions           `doc:"questions"`
	Review     Review              `doc:"review"`
	Implement  Implement           `doc:"implement"`
	Limits     Limits              `doc:"limits"`
	Msg        Msg                 `doc:"msg"`
	Mesh       *document.Node      `doc:"mesh"` // the table of a mesh, see message.RoutingOf
	Agents     Agents              `doc:"agents"`
	Bot        Bot                 `doc:"bot"`
	Gate       Gate                `doc:"gate"`
	Followup   Followup            `doc:"followup"`
	Checkpoint Checkpoint          `doc:"checkpoint"`
	Sandbox    Sandbox             `doc:"sandbox"`
	Output     Output              `doc:"output"`
	Workspace  Workspace           `doc:"workspace"`
	Session    Session             `doc:"session"`
	Log        Log                 `doc:"log"`

	files  []File            // that were read, lowest layer first
	tree   *document.Node    // the merged document, for Show
	layers map[string]string // file of a node -> name of its layer

	overruled map[string][]Overruled // key -> the values of files that do not count
}

// Defaults hold what a run uses unless something more exact is set.
type Defaults struct {
	Workflow            string             `doc:"workflow"`
	Provider            string             `doc:"provider"`
	Model               string             `doc:"model"` // only for roles of Provider
	MaxReviewIterations int                `doc:"max_review_iterations"`
	Completion          DefaultsCompletion `doc:"completion"`
}

// DefaultsCompletion says how an interactive session ends.
type DefaultsCompletion struct {
	SkipFinalApproval bool `doc:"skip_final_approval"`
}

// Role says how agents of one role are started.
type Role struct {
	Provider string   `doc:"provider"`
	Model    string   `doc:"model"`
	Args     []string `doc:"args"`     // nil = the provider's
	Fallback []string `doc:"fallback"` // providers that take over, in order

	Transport string `doc:"transport"` // auto, tui, headless; empty = agents.transport
	Effort    string `doc:"effort"`    // low, medium, high; empty = the program's own
}

// GitHub says where the repository is and how its pull requests are made.
type GitHub struct {
	Host           string        `doc:"host"`
	BaseBranch     string        `doc:"base_branch"` // empty = the repository's default
	BranchPrefix   string        `doc:"branch_prefix"`
	Auth           string        `doc:"auth"` // auto, app, token, gh, actions
	App            App           `doc:"app"`
	Push           bool          `doc:"push"`
	Ready          string        `doc:"ready"`    // never, on_pass
	Mirror         string        `doc:"mirror"`   // auto, on, off
	Comments       string        `doc:"comments"` // timeline, every, quiet
	LinkHosts      []string      `doc:"link_hosts"`
	ProtectedPaths []string      `doc:"protected_paths"`
	WriteInterval  time.Duration `doc:"write_interval"` // 0 = none
}

// WriteEvery returns the write interval as the limits of the transport and the paces of the
// mirror take it: there a value below zero means none.
func (g *GitHub) WriteEvery() time.Duration {
	if g.WriteInterval == 0 {
		return -1
	}
	return g.WriteInterval
}

// App is the identity of a GitHub App.
type App struct {
	ClientID       string `doc:"client_id"`
	KeyFile        string `doc:"key_file"`
	InstallationID int64  `doc:"installation_id"` // 0 = found by repository
}

// Approval opens gates in unattended sessions.
type Approval struct {
	Plan       bool `doc:"plan"`
	Completion bool `doc:"completion"`
}

// Questions says what an unanswered question does.
type Questions struct {
	OnTimeout string `doc:"on_timeout"` // decide, park
}

// Review says how rounds of review repeat and end.
type Review struct {
	Rerun       string        `doc:"rerun"`        // failed, all, trust
	OnExhausted string        `doc:"on_exhausted"` // draft_pr, stop
	Timeout     time.Duration `doc:"timeout"`
}

// Implement says what an edit outside a subplan's files does.
type Implement struct {
	ScopePolicy string `doc:"scope_policy"` // report, fail
}

// Limits bound time and numbers; a duration of 0 is off.
type Limits struct {
	Phase        time.Duration `doc:"phase"`
	Total        time.Duration `doc:"total"`
	Stall        time.Duration `doc:"stall"`
	Summary      time.Duration `doc:"summary"`
	HumanWait    time.Duration `doc:"human_wait"`
	Remote       time.Duration `doc:"remote"`
	ProviderWait time.Duration `doc:"provider_wait"`
	AgentRetries int           `doc:"agent_retries"`
	Parallel     int           `doc:"parallel"`
	Research     int           `doc:"research"`
}

// Msg bounds messages between agents.
type Msg struct {
	AckTimeout    time.Duration `doc:"ack_timeout"`
	AskTimeout    time.Duration `doc:"ask_timeout"`
	MaxIterations int           `doc:"max_iterations"`
	Routing       string        `doc:"routing"` // enforce, warn
}

// Agents says how agents run, and where the file of a group of them is.
type Agents struct {
	File        string   `doc:"file"`
	ScopePolicy string   `doc:"scope_policy"` // report, fail
	Headless    bool     `doc:"headless"`     // agents that others depend on
	TestCommand []string `doc:"test_command"`
	Transport   string   `doc:"transport"` // auto, tui, headless
	// Linger is how long a launch that has submitted may end its turn.
	Linger time.Duration `doc:"linger"`
	// ProjectConfig is ignore or base: whether agents load the settings in the repository.
	ProjectConfig string `doc:"project_config"`
}

// Bot says which repositories a bot serves and for whom.
type Bot struct {
	Repos             []string      `doc:"repos"` // owner/name
	Orgs              []string      `doc:"orgs"`
	Label             string        `doc:"label"`
	MachineAccount    bool          `doc:"machine_account"`
	SingleHost        bool          `doc:"single_host"`
	WebhookSecretFile string        `doc:"webhook_secret_file"`
	PollInterval      AutoDuration  `doc:"poll_interval"`
	SweepInterval     time.Duration `doc:"sweep_interval"`
	MaxConcurrent     AutoInt       `doc:"max_concurrent"`
	MinPermission     string        `doc:"min_permission"` // write, maintain, admin
	AllowedUsers      []string      `doc:"allowed_users"`
	StatusAddr        string        `doc:"status_addr"` // host:port; empty: none
}

// Gate bounds what may start a session.
type Gate struct {
	AllowForks        bool `doc:"allow_forks"`
	PublicUnsandboxed bool `doc:"public_unsandboxed"`
	UserHour          int  `doc:"user_hour"`
	RepoRunning       int  `doc:"repo_running"`
	OpenPRs           int  `doc:"open_prs"`
	IssueDay          int  `doc:"issue_day"`
}

// Followup bounds the rounds after the pull request was opened.
type Followup struct {
	Days   int           `doc:"days"`
	Rounds int           `doc:"rounds"`
	Quiet  time.Duration `doc:"quiet"`
}

// Checkpoint says how often a session is saved outside this machine.
type Checkpoint struct {
	Every  time.Duration `doc:"every"`
	Keep   time.Duration `doc:"keep"`
	Remote bool          `doc:"remote"` // also pushed to the server, under a claim
}

// Sandbox says what agents may see and reach.
type Sandbox struct {
	Level       string   `doc:"level"` // auto, none, bwrap, runner
	Net         string   `doc:"net"`   // proxy, open, none; empty = by host
	NetAllow    []string `doc:"net_allow"`
	UnsafeFlags *bool    `doc:"unsafe_flags"` // nil = not decided yet
	ROPaths     []string `doc:"ro_paths"`
	Path        string   `doc:"path"`  // empty = the host's, without what is not mounted
	Setup       []string `doc:"setup"` // argv
	Home        string   `doc:"home"`  // private, shared; empty = by level
	EnvAllow    []string `doc:"env_allow"`
}

// Output bounds what leaves a session.
type Output struct {
	Allow    []string `doc:"allow"`
	MaxFiles int      `doc:"max_files"`
	MaxBytes Size     `doc:"max_bytes"`
}

// Workspace says where workspaces are made.
type Workspace struct {
	Root string `doc:"root"` // empty = below the state home
}

// Session says what a session keeps.
type Session struct {
	Transcripts bool          `doc:"transcripts"`
	Keep        time.Duration `doc:"keep"` // of ended ones in managed projects; 0: for ever
}

// Log says what the program logs.
type Log struct {
	Level string `doc:"level"` // debug, info, warn, error
}
