package config

import (
	"io/fs"
	"maps"
	"net"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

// choices lists the keys that take one of a few words.
var choices = map[string][]string{
	"github.auth":            {"auto", "app", "token", "gh", "actions"},
	"github.ready":           {"never", "on_pass"},
	"github.mirror":          {"auto", "on", "off"},
	"github.comments":        {"timeline", "every", "quiet"},
	"questions.on_timeout":   {"decide", "park"},
	"review.rerun":           {"failed", "all", "trust"},
	"review.on_exhausted":    {"draft_pr", "stop"},
	"implement.scope_policy": {"report", "fail"},
	"msg.routing":            {"enforce", "warn"},
	"agents.scope_policy":    {"report", "fail"},
	"agents.transport":       {"auto", "tui", "headless"},
	"agents.project_config":  {"ignore", "base"},
	"bot.min_permission":     {"write", "maintain", "admin"},
	"sandbox.level":          {"auto", "none", "bwrap", "runner"},
	"sandbox.net":            {"proxy", "open", "none"},
	"sandbox.home":           {"private", "shared"},
	"log.level":              {"debug", "info", "warn", "error"},
}

// minPoll is the shortest interval at which repositories are read.
const minPoll = 5 * time.Second

// minimums lists the smallest number a key takes.
var minimums = map[string]int64{
	"defaults.max_review_iterations": 0,
	"github.app.installation_id":     1,
	"limits.agent_retries":           0,
	"limits.parallel":                1,
	"limits.research":                1,
	"msg.max_iterations":             1,
	"gate.user_hour":                 0,
	"gate.repo_running":              0,
	"gate.open_prs":                  0,
	"gate.issue_day":                 0,
	"followup.days":                  0,
	"followup.rounds":                0,
	"output.max_files":               1,
}

// keptNames are patterns for the names of variables that agents never get.
var keptNames = []string{
	"*TOKEN*", "*SECRET*", "*PASSWORD*", "GH_*", "GITHUB_*", "ACTIONS_*", "AWS_*", "AZURE_*", "GOOGLE_*",
	"SSH_*", "DBUS_*", "TMUX*", "LD_*", "AGENTMUX_*", "CLAUDECODE",
}

// checker checks what the types cannot express.
type checker struct {
	tree     *document.Node
	problems document.Problems
}

func check(c *Config, tree *document.Node, builtIn []string) document.Problems {
	k := &checker{tree: tree}
	for _, key := range slices.Sorted(maps.Keys(choices)) {
		k.choice(key, choices[key])
	}
	for _, key := range slices.Sorted(maps.Keys(minimums)) {
		k.minimum(key, minimums[key])
	}
	for _, key := range slices.Sorted(maps.Keys(shapes())) {
		k.shape(key)
	}
	k.branches(c)
	k.roles(c)
	k.providers(c, builtIn)
	k.environment(c)
	k.commands()
	k.agentsFile()
	_, mesh := message.RoutingOf(c.Mesh, "mesh", "", nil)
	k.problems = append(k.problems, mesh...)
	if c.Bot.SweepInterval <= 0 {
		k.problem("bot.sweep_interval", "expected a duration above 0")
	}
	if addr := c.Bot.StatusAddr; addr != "" {
		// A service may be named, too.
		_, port, err := net.SplitHostPort(addr)
		number, named := strconv.Atoi(port)
		if err != nil || port == "" || named == nil && (number < 0 || number > 65535) {
			k.problem("bot.status_addr", "expected host:port, or an empty text for none, found %q", addr)
		}
	}
	if p := c.Bot.PollInterval; !p.Auto && p.D > 0 && p.D < minPoll {
		k.problem("bot.poll_interval", "expected auto or a duration of at least %s, found %s", minPoll, p.D)
	}
	return k.problems
}

func (k *checker) problem(path, format string, args ...any) {
	k.problems = append(k.problems, k.tree.Problem(path, format, args...))
}

func (k *checker) at(key string) *document.Node {
	n := k.tree
	for part := range strings.SplitSeq(key, ".") {
		n = n.Field(part)
	}
	if n != nil && n.Kind == document.Null {
		return nil
	}
	return n
}

func (k *checker) choice(key string, allowed []string) {
	n := k.at(key)
	if !n.IsText() || slices.Contains(allowed, n.Text) {
		return // another type is a problem of its own
	}
	if key == "sandbox.level" && n.Text == "container" {
		k.problem(key, "container is reserved and not there yet, expected %s", oneOf(allowed))
		return
	}
	k.problem(key, "expected %s, found %s", oneOf(allowed), n.Found())
}

func oneOf(words []string) string {
	end := len(words) - 1
	return strings.Join(words[:end], ", ") + " or " + words[end]
}

func (k *checker) minimum(key string, least int64) {
	if i, ok := k.at(key).Int(); ok && i < least {
		k.problem(key, "expected a whole number from %d, found %d", least, i)
	}
}

func (k *checker) roles(c *Config) {
	for _, role := range slices.Sorted(maps.Keys(c.Roles)) {
		if !slices.Contains(workflows.Roles(), role) {
			k.problem(document.Key("roles", role), "%s", unknownName("role", role, workflows.Roles()))
		}
		at := document.Key("roles", role)
		k.model(document.Key(at, "model"), c.Roles[role].Model)
		k.choice(document.Key(at, "transport"), choices["agents.transport"])
		k.choice(document.Key(at, "effort"), agent.Efforts())
	}
	k.model("defaults.model", c.Defaults.Model)
}

// model refuses what a CLI could take for a flag.
func (k *checker) model(key, name string) {
	if name != "" && !agent.ModelName(name) {
		k.problem(key, "expected a model's name of letters, digits and . _ : / @ -, found %s", document.Excerpt(name))
	}
}

// refusedBranch matches what git refuses in the name of a branch.
var refusedBranch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-|^HEAD$|^/|/$|//|(^|/)\.|\.(/|$)|\.lock(/|$)|\.\.|@\{|^@$|[\x00-\x20\x7f~^:?*\[\\]`)
})

// branches refuses names that git would refuse only at the end of a session.
func (k *checker) branches(c *Config) {
	if name := c.GitHub.BaseBranch; name != "" && refusedBranch().MatchString(name) {
		k.problem("github.base_branch", "expected a branch's name, and git refuses %q", document.Excerpt(name))
	}
	if prefix := c.GitHub.BranchPrefix; shapes()["github.branch_prefix"].fits(prefix) && refusedBranch().MatchString(prefix+"x") {
		k.problem("github.branch_prefix", "expected the start of a branch name, and git refuses %q", document.Excerpt(prefix+"x"))
	}
}

func checkWorkflow(name string, tree *document.Node, project fs.FS) document.Problems {
	if known := workflows.Names(project); !slices.Contains(known, name) {
		return document.Problems{tree.Problem("defaults.workflow", "%s", unknownName("workflow", name, known))}
	}
	return nil
}

var providerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`) })

func (k *checker) providers(c *Config, builtIn []string) {
	known := slices.Clone(builtIn)
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		at, p := document.Key("providers", name), c.Providers[name]
		if !providerName().MatchString(name) {
			k.problem(at, "expected a name of lower-case letters, digits, - and _")
		}
		if !slices.Contains(builtIn, name) {
			known = append(known, name)
			if p.Command == "" {
				k.problem(document.Key(at, "command"), "required key missing: %s is not a built-in provider", name)
			}
		}
		k.model(document.Key(at, "default_model"), p.DefaultModel)
		if p.PromptMode != "" {
			k.choice(document.Key(at, "prompt_mode"), []string{"arg", "stdin", "flag"})
		}
		for _, role := range slices.Sorted(maps.Keys(p.RoleArgs)) {
			if !slices.Contains(workflows.Roles(), role) {
				k.problem(document.Key(document.Key(at, "role_args"), role), "%s", unknownName("role", role, workflows.Roles()))
			}
		}
	}
	set, problems := agent.Load(c.Overrides())
	for _, p := range problems {
		if !k.problems.Has(p.Path) {
			k.problem(p.Path, "%s", p.Text)
		}
	}
	used := c.usedProviders()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(known, name) {
			k.problem(used[name], "%s", unknownName("provider", name, known))
		}
	}
	for _, role := range slices.Sorted(maps.Keys(c.Roles)) {
		choice := c.Choose(role)
		k.fallback(document.Key("roles", role), choice.Provider, c.Roles[role].Fallback, known)
		if p, ok := set[choice.Provider]; ok && slices.Contains(agent.Efforts(), choice.Effort) && len(p.Effort[choice.Effort]) == 0 {
			k.problem(document.Key(document.Key("roles", role), "effort"), "%s has no effort %s; providers.%s.effort may name the arguments for it", p.Name, choice.Effort, p.Name)
		}
	}
}

// fallback refuses what could not take over: a name that is not known, and a provider that the agent has had.
// One that another file has made the provider of the role is only passed over: it names the role's provider without
// knowing the list.
func (k *checker) fallback(role, own string, list, known []string) {
	key, chosen := document.Key(role, "fallback"), k.at(document.Key(role, "provider"))
	if chosen == nil {
		chosen = k.at("defaults.provider")
	}
	for i, name := range list {
		switch {
		case !slices.Contains(known, name):
			k.problem(document.Index(key, i), "%s", unknownName("provider", name, known))
		case name == own && chosen != nil && chosen.File != builtInName && chosen.File != k.at(key).File:
		case name == own:
			k.problem(document.Index(key, i), "%s is the provider of the role: it cannot take over from itself", name)
		case slices.Contains(list[:i], name):
			k.problem(document.Index(key, i), "%s is named twice", name)
		}
	}
}

func (k *checker) environment(c *Config) {
	for i, name := range c.Sandbox.EnvAllow {
		matches := func(kept string) bool {
			ok, _ := path.Match(kept, strings.ToUpper(name))
			return ok
		}
		switch key := document.Index("sandbox.env_allow", i); {
		case slices.ContainsFunc(keptNames, matches):
			k.problem(key, "%s may hold a credential and is never passed on", document.Excerpt(name))
		case !agent.EnvPassable(name):
			// Refused here, or every launch of every agent would fail.
			k.problem(key, "%q is not the name of a variable that can be passed to an agent", document.Excerpt(name))
		case !agent.EnvAllowed(name):
			k.problem(key, "%s is not among the names that every agent may get; providers.<name>.env passes it to the agents of one CLI", document.Excerpt(name))
		}
	}
}

func (k *checker) agentsFile() {
	// A repository may set it, and agents init writes the file.
	if n := k.at("agents.file"); n.IsText() && (!filepath.IsLocal(n.Text) || path.Clean(n.Text) == "." || strings.HasSuffix(n.Text, "/")) {
		k.problem("agents.file", "expected a file of the project by its relative path, without .., found %s", n.Found())
	}
}

func (c *Config) expand(home string) {
	places := []*string{&c.Workspace.Root, &c.GitHub.App.KeyFile, &c.Bot.WebhookSecretFile}
	for i := range c.Sandbox.ROPaths {
		places = append(places, &c.Sandbox.ROPaths[i])
	}
	for _, p := range places {
		if rest, ok := strings.CutPrefix(*p, "~/"); ok {
			*p = path.Join(home, rest)
		}
	}
}

// IsOrg reports whether a text can be the name of an organisation.
func IsOrg(name string) bool { return shapes()["bot.orgs"].fits(name) }
