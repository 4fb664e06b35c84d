package agent

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/agent/settings"
	"github.com/agentmux/agentmux/internal/document"
)

//go:embed providers.yaml
var builtIn []byte

// PromptMode says how the first line reaches the program.
type PromptMode string

// The ways to pass the first line.
const (
	PromptArg   PromptMode = "arg"   // as an argument of its own
	PromptFlag  PromptMode = "flag"  // behind a flag
	PromptStdin PromptMode = "stdin" // on standard input
)

// Dialog is a question of the program that is answered with one key.
type Dialog struct {
	Text string `doc:"text,required"` // on the screen
	Key  string `doc:"key,required"`  // as tmux names it
}

// Provider is one program, as data. A Provider is not changed after Load.
type Provider struct {
	Name   string // the key in providers.yaml
	Proven bool   `doc:"proven"` // run by the project's own tests

	Command  string   `doc:"command,required"` // looked up in the agent's PATH
	Install  string   `doc:"install"`          // what to type to get it
	Versions []string `doc:"versions"`         // known to work
	HelpArgs []string `doc:"help_args"`        // print a text that names every flag
	Flags    []string `doc:"flags"`            // that text must name

	Interactive      []string            `doc:"interactive"` // shape of the argument vector in a terminal
	Headless         []string            `doc:"headless"`    // shape without one
	InteractiveArgs  []string            `doc:"interactive_args"`
	HeadlessArgs     []string            `doc:"headless_args"`
	RoleArgs         map[string][]string `doc:"role_args"`
	AttendedArgs     []string            `doc:"attended_args"`     // a person answers permission dialogs
	UnattendedArgs   []string            `doc:"unattended_args"`   // no person does
	SkipsPermissions bool                `doc:"skips_permissions"` // an unattended run acts without asking

	PromptMode         PromptMode          `doc:"prompt_mode"`
	PromptFlag         string              `doc:"prompt_flag"`
	HeadlessPromptMode PromptMode          `doc:"headless_prompt_mode"` // "" as PromptMode
	HeadlessPromptFlag string              `doc:"headless_prompt_flag"` // "" as PromptFlag
	Stdin              string              `doc:"stdin"`                // "null": a headless run reads nothing
	TaskFlag           string              `doc:"task_flag"`
	ModelFlag          string              `doc:"model_flag"`
	DefaultModel       string              `doc:"default_model"`
	ModelArgs          map[string][]string `doc:"model_args"`
	Effort             map[string][]string `doc:"effort"`       // arguments per level of Efforts
	SessionArgs        []string            `doc:"session_args"` // name a new session of the program
	ResumeArgs         []string            `doc:"resume_args"`  // continue one

	MCP      string   `doc:"mcp"` // which form of package settings writes the tool server's configuration
	MCPArgs  []string `doc:"mcp_args"`
	ToolName string   `doc:"tool_name"` // how it shows the {tool} of our server; "" as it is
	Hooks    string   `doc:"hooks"`     // which form of package settings writes the hooks
	HookArgs []string `doc:"hook_args"`
	StopHook bool     `doc:"stop_hook"` // the hook at the end of a turn can answer with the next instruction
	Stream   string   `doc:"stream"`    // format of headless output, for display and usage

	Env          []string          `doc:"env"`         // names passed on when the host has them
	Credentials  []string          `doc:"credentials"` // those of Env that log the program in
	Set          map[string]string `doc:"set"`         // variables with a fixed value
	ConfigDir    string            `doc:"config_dir"`  // the program's directory below its home
	ConfigDirEnv string            `doc:"config_dir_env"`
	Accept       string            `doc:"accept"`     // which form of package settings answers first-run dialogs
	LoginArgs    []string          `doc:"login_args"` // start the program's login

	Trust    []Dialog      `doc:"trust"`     // the only dialogs that are answered without a person
	Dialogs  []Menu        `doc:"dialogs"`   // those that are put to a person
	Ready    []string      `doc:"ready"`     // one of them is on the screen of an idle program
	Busy     []string      `doc:"busy"`      // none of them does
	Pause    time.Duration `doc:"pause"`     // between a typed line and Enter
	Unsafe   string        `doc:"unsafe"`    // first characters that are commands
	ExitKeys []string      `doc:"exit_keys"` // leave the program
	AskTool  string        `doc:"ask_tool"`  // the program's own way to ask a person
	Hosts    []string      `doc:"hosts"`     // it must reach
	Exits    Exits         `doc:"exits"`     // its last words when its service stops it
}

// Efforts are the levels of effort that a role may ask for, the least first.
func Efforts() []string { return []string{"low", "medium", "high"} }

// Providers are the known programs by name.
type Providers map[string]Provider

// Override is what configuration says of one provider. Nil and empty fields keep the
// built-in value; lists replace, maps are merged by key.
type Override struct {
	Command         string
	ModelFlag       *string
	DefaultModel    string
	ModelArgs       map[string][]string
	InteractiveArgs []string
	HeadlessArgs    []string
	RoleArgs        map[string][]string
	Effort          map[string][]string
	ToolName        string
	Flags           []string
	PromptMode      string
	PromptFlag      string
	Trust           []Dialog
	Dialogs         []Menu
	MCP             *string
	Hooks           *string
	Env             []string
}

// parsed is the document of the built-in providers, which nothing changes. A process loads them several times.
var parsed = sync.OnceValues(func() (*document.Node, document.Problems) { return document.Parse("providers.yaml", builtIn) })

// Load returns the built-in providers changed and extended by the overrides. A name that
// is not built in is a provider of its own and needs a command. All problems are reported
// together, each with the path of its key.
func Load(overrides map[string]Override) (Providers, document.Problems) {
	node, problems := parsed()
	set := Providers{}
	problems = append(slices.Clip(problems), document.Decode(node, (*map[string]Provider)(&set), document.Options{})...)
	for name, p := range set {
		p.Name = name
		set[name] = p.withDefaults()
	}
	for name, o := range overrides {
		p := set[name]
		p.Name = name
		p = p.override(o).withDefaults()
		problems = append(problems, p.problems()...)
		set[name] = p
	}
	problems.Sort()
	return set, problems
}

// Names returns the names of the providers in order.
func (ps Providers) Names() []string {
	names := make([]string, 0, len(ps))
	for name := range ps {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p Provider) withDefaults() Provider {
	if p.PromptMode == "" {
		p.PromptMode = PromptArg
	}
	if p.HeadlessPromptMode == "" {
		p.HeadlessPromptMode = p.PromptMode
	}
	if p.HeadlessPromptFlag == "" {
		p.HeadlessPromptFlag = p.PromptFlag
	}
	plain := []string{"{args}", "{model}", "{session}", "{hooks}", "{mcp}", "{permission}", "{prompt}"}
	if len(p.Interactive) == 0 {
		p.Interactive = plain
	}
	if len(p.Headless) == 0 {
		p.Headless = plain
	}
	if p.Pause == 0 {
		p.Pause = 300 * time.Millisecond
	}
	return p
}

func (p Provider) override(o Override) Provider {
	text := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	text(&p.Command, o.Command)
	text(&p.DefaultModel, o.DefaultModel)
	text(&p.ToolName, o.ToolName)
	for to, from := range map[*string]*string{&p.ModelFlag: o.ModelFlag, &p.MCP: o.MCP, &p.Hooks: o.Hooks} {
		if from != nil {
			*to = *from
		}
	}
	if o.PromptMode != "" {
		p.PromptMode, p.HeadlessPromptMode = PromptMode(o.PromptMode), PromptMode(o.PromptMode)
	}
	if o.PromptFlag != "" {
		p.PromptFlag, p.HeadlessPromptFlag = o.PromptFlag, o.PromptFlag
	}
	for to, from := range map[*[]string][]string{&p.InteractiveArgs: o.InteractiveArgs, &p.HeadlessArgs: o.HeadlessArgs, &p.Env: o.Env, &p.Flags: o.Flags} {
		if from != nil {
			*to = from
		}
	}
	if o.Trust != nil {
		p.Trust = o.Trust
	}
	if o.Dialogs != nil {
		p.Dialogs = o.Dialogs
	}
	p.ModelArgs = merge(p.ModelArgs, o.ModelArgs)
	p.RoleArgs = merge(p.RoleArgs, o.RoleArgs)
	p.Effort = merge(p.Effort, o.Effort)
	return p
}

var (
	envForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	keyForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) }) // what package tmux presses
)

// Shown returns the name by which the program shows a tool of our server.
func (p Provider) Shown(tool string) string {
	return strings.Replace(cmp.Or(p.ToolName, "{tool}"), "{tool}", tool, 1)
}

// problems returns what is wrong with a provider as configuration changed it.
func (p Provider) problems() document.Problems {
	var found document.Problems
	at := "providers." + p.Name
	say := func(key, format string, args ...any) {
		found = append(found, document.Problem{Path: at + "." + key, Text: fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(p.Command) == "" {
		say("command", "required")
	}
	if !slices.Contains([]PromptMode{PromptArg, PromptFlag, PromptStdin}, p.PromptMode) {
		say("prompt_mode", "%q is not one of arg, flag, stdin", p.PromptMode)
	}
	if p.PromptMode == PromptFlag && p.PromptFlag == "" {
		say("prompt_flag", "required with prompt_mode flag")
	}
	if kinds := append(settings.ToolForms(), ""); !slices.Contains(kinds, p.MCP) {
		say("mcp", "%q is not one of %s", p.MCP, strings.Join(settings.ToolForms(), ", "))
	}
	if kinds := append(settings.HookForms(), ""); !slices.Contains(kinds, p.Hooks) {
		say("hooks", "%q is not one of %s", p.Hooks, strings.Join(settings.HookForms(), ", "))
	}
	if p.ToolName != "" && (strings.Count(p.ToolName, "{tool}") != 1 || strings.ContainsAny(p.ToolName, "`\n")) {
		say("tool_name", "%q: want {tool} once, in a name without backquotes", document.Excerpt(p.ToolName))
	}
	for i, name := range p.Env {
		if !EnvPassable(name) {
			say(fmt.Sprintf("env[%d]", i), "%q cannot be passed to an agent", name)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(p.Effort)) {
		if !slices.Contains(Efforts(), level) {
			say("effort."+level, "expected one of %s", strings.Join(Efforts(), ", "))
		}
	}
	for i, d := range p.Trust {
		at := fmt.Sprintf("trust[%d]", i)
		switch {
		case strings.TrimSpace(d.Text) == "" || d.Key == "":
			say(at, "needs text and key") // white space is on every screen
		case !keyForm().MatchString(d.Key):
			say(at+".key", "%q is not the name of one key, as Enter, Down or 1", document.Excerpt(d.Key))
		}
	}
	menuProblems(p.Dialogs, say)
	return found
}

func merge(under, over map[string][]string) map[string][]string {
	if len(over) == 0 {
		return under
	}
	m := make(map[string][]string, len(under)+len(over))
	maps.Copy(m, under)
	maps.Copy(m, over)
	return m
}
