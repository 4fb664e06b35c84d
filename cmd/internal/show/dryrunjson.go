package show

import (
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/rehearsal"
	"github.com/agentmux/agentmux/cmd/internal/console"
)

// DryRunJSON is the output of --dry-run for a script, with all that its text shows.
type DryRunJSON struct {
	Issue       int             `json:"issue,omitempty"`
	Repository  string          `json:"repository,omitempty"`
	Title       string          `json:"title"`
	TextSHA256  string          `json:"text_sha256,omitempty"` // of the issue's text as the agents get it
	Removed     map[string]int  `json:"removed"`               // from it, by class
	Comments    int             `json:"comments_used"`
	Workflow    string          `json:"workflow"`
	Config      string          `json:"config"`
	Sandbox     string          `json:"sandbox"`
	Base        string          `json:"base"`
	BaseSHA     string          `json:"base_sha"`
	Branch      string          `json:"branch"`
	Agents      []dryAgentJSON  `json:"agents"`
	Prompts     []dryPromptJSON `json:"prompts"`
	PullRequest *dryPullJSON    `json:"pull_request,omitempty"`
	Writes      []plannedJSON   `json:"writes"`
	Halt        string          `json:"halt,omitempty"` // why writes are not all
}

// dryAgentJSON is a launch, without the values of its variables.
type dryAgentJSON struct {
	Role      string   `json:"role"`
	Provider  string   `json:"provider"`
	Argv      []string `json:"argv"`
	Variables []string `json:"variables"`
}

// dryPromptJSON is a prompt of an agent that would start first.
type dryPromptJSON struct {
	Role   string `json:"role"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

// dryPullJSON is the pull request, as far as it is known before the work.
type dryPullJSON struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// plannedJSON is one request that would write. Again says that more of its kind follow.
type plannedJSON struct {
	Request string `json:"request"`
	Text    string `json:"text"`
	Again   bool   `json:"again"`
}

// PrintDryRunJSON prints it for a script.
func PrintDryRunJSON(a *console.Console, spec host.PrepareSpec, p *rehearsal.Preview, pull bool) error {
	out := DryRunJSON{
		Title: spec.Title, Removed: map[string]int{}, Workflow: p.State.Workflow, Config: spec.Source,
		Base: spec.Base.Branch, BaseSHA: spec.Base.SHA, Branch: p.State.FeatureBranch, Agents: []dryAgentJSON{}, Prompts: []dryPromptJSON{},
		Writes: []plannedJSON{}, Halt: a.Shown()(p.Halt),
	}
	out.Sandbox, _ = host.Sandbox(spec.Config, os.LookupEnv)
	if s := spec.Snapshot; s != nil {
		out.Issue, out.Repository, out.Title, out.TextSHA256 = s.Issue, s.Repo, s.Title.String(), s.Digest
		out.Comments = s.Report.Comments.Used
		for class, n := range s.Report.Removed {
			if n > 0 {
				out.Removed[class] = n
			}
		}
	}
	redact := a.Redactor().Redact
	out.Title = redact(out.Title)
	for _, l := range p.Launches {
		argv := make([]string, len(l.Argv))
		for i, word := range l.Argv {
			argv[i] = redact(word)
		}
		out.Agents = append(out.Agents, dryAgentJSON{l.Role, l.Provider, argv, append([]string{}, l.EnvNames...)})
	}
	for _, prompt := range p.Prompts {
		sum := sha256.Sum256([]byte(prompt.Text))
		out.Prompts = append(out.Prompts, dryPromptJSON{prompt.Role, prompt.File, hex.EncodeToString(sum[:]), redact(prompt.Text)})
	}
	if pull {
		out.PullRequest = &dryPullJSON{redact(p.Title), redact(p.Body)}
	}
	for _, w := range p.Writes {
		out.Writes = append(out.Writes, plannedJSON{w.Request, w.Text, w.Again})
	}
	return a.PrintJSON(out)
}
