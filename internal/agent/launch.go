package agent

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/agent/settings"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/shield"
)

// LaunchSpec is everything one launch is made of.
type LaunchSpec struct {
	Dir     string // launches/<launch> of the session; made if missing
	Session string // the session directory
	Launch  string // the launch's id: letters, digits, . _ and -
	Role    string
	Task    string // "" when the role has none
	Self    string // the agentmux program, absolute

	Provider    Provider
	Transport   Transport
	Unattended  bool // no person answers dialogs
	AllowUnsafe bool // an unattended run may act without asking, see Provider.SkipsPermissions
	Model       string
	Effort      string   // one of Efforts; a program without it is not told
	Args        []string // replace the provider's arguments when not nil
	Line        string   // the first line: one sentence with a path, never untrusted text
	Resume      string   // continue this session of the program instead of a new one

	Workdir  string // absolute, exists
	TrustDir string // pre-accepted beside Workdir, for what lies below it; "" means Workdir only
	Runtime  string // runtime directory, for the socket that gives the environment; made if missing
	Env      EnvSpec
	Now      time.Time

	cliSession string // chosen by Prepare
}

// LaunchFile is the Launch in its directory.
const LaunchFile = "launch.json"

// Opening begins the first line of an agent; the path of its prompt follows.
const Opening = "Read and follow the instructions in "

// Launch is launch.json: what agent-exec needs, and what the host reads later. It holds no
// value of a variable.
type Launch struct {
	Version    int       `json:"version"`
	Launch     string    `json:"launch"`
	Session    string    `json:"session"`
	Role       string    `json:"role"`
	Task       string    `json:"task,omitempty"`
	Provider   string    `json:"provider"`
	Model      string    `json:"model,omitempty"`
	Effort     string    `json:"effort,omitempty"` // that the program was told
	Transport  Transport `json:"transport"`
	Unattended bool      `json:"unattended"`
	Login      LoginKind `json:"login"`
	Account    string    `json:"account,omitempty"`     // as Provider.Account tells it
	Mark       string    `json:"mark"`                  // in the environment of its processes
	CLISession string    `json:"cli_session,omitempty"` // known beforehand, or resumed
	Resumed    bool      `json:"resumed,omitempty"`
	Argv       []string  `json:"argv"`
	Cwd        string    `json:"cwd"`
	EnvNames   []string  `json:"env_names"`
	EnvFile    string    `json:"env_file,omitempty"` // the file with the values, of an older version
	Socket     string    `json:"socket,omitempty"`   // where agent-exec gets the values
	Checks     []string  `json:"checks,omitempty"`   // verify that a line comes from the launch; one for each time it was prepared
	Stdin      string    `json:"stdin"`              // "terminal", "null" or "line"
	Line       string    `json:"line,omitempty"`     // with stdin "line"
	Stream     string    `json:"stream,omitempty"`   // format of standard output to render
	ConfigDir  string    `json:"config_dir,omitempty"`
	Home       string    `json:"home,omitempty"` // of the launch's own; not a person's
	PreparedAt time.Time `json:"prepared_at"`

	env    map[string]string // the values, in the process that prepared it
	former []string          // files of an older version
}

// ErrUnsafe means that the run would act without asking where that is not allowed.
var ErrUnsafe = errors.New("the program would act without asking for permission")

var markForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// Prepare writes the files of a launch and returns what it wrote to launch.json. A second call
// for a launch that was not started replaces the files; a launch that has ended is refused.
// ErrUnsafe and ErrNoLogin are returned before anything is written.
func Prepare(s LaunchSpec) (Launch, error) {
	if err := s.check(); err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	login, configured, err := s.Provider.Login(s.Env)
	if err != nil {
		return Launch{}, err
	}
	if len(s.Provider.SessionArgs) > 0 && s.Resume == "" {
		s.cliSession = s.session()
	}
	own, err := settings.For(s.settings(), s.Provider.MCP, s.Provider.Hooks)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	argv, err := s.argv(own.ToolArgs, own.HookArgs)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	env, err := s.Env.environment(s.Provider, s.Launch, process.Mark(s.Dir), configured)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	maps.Copy(env, own.Env)
	seal, check := newSeal()
	env[sealName] = seal
	l := s.record(login, configured, argv, env)
	l.Checks = s.checks(check)
	if err := s.write(l, own); err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	return l, nil
}

func (s LaunchSpec) check() error {
	if !process.IsLaunchName(s.Launch) || filepath.Base(s.Dir) != s.Launch {
		return fmt.Errorf("launch id %q does not fit its directory %s", s.Launch, s.Dir)
	}
	for what, path := range map[string]string{"launch": s.Dir, "session": s.Session, "work": s.Workdir, "runtime": s.Runtime, "home": s.Env.Home} {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%s directory %q: want an absolute path", what, path)
		}
	}
	if !filepath.IsAbs(s.Self) {
		return fmt.Errorf("program %q: want our own binary by absolute path", s.Self)
	}
	if s.Role == "" || s.Transport != TUI && s.Transport != Headless {
		return fmt.Errorf("role %q, transport %q: not a launch", s.Role, s.Transport)
	}
	if model := cmp.Or(s.Model, s.Provider.DefaultModel); model != "" && !ModelName(model) {
		return fmt.Errorf("model %q: want letters, digits and . _ : / @ -, not a dash first", model)
	}
	if info, err := os.Stat(s.Workdir); err != nil || !info.IsDir() {
		return fmt.Errorf("work directory %s does not exist", s.Workdir)
	}
	if s.Provider.SkipsPermissions && s.unattended() && !s.AllowUnsafe {
		return fmt.Errorf("%s: %w", s.Provider.Name, ErrUnsafe)
	}
	if s.Env.RealHome != "" && s.unattended() {
		return errors.New("an unattended run gets no home of a person")
	}
	if s.Resume != "" && len(s.Provider.ResumeArgs) == 0 {
		return fmt.Errorf("%s cannot resume a session", s.Provider.Name)
	}
	if _, ended, err := ReadExit(s.Dir); err != nil || ended {
		return errors.Join(errors.New("it has ended already"), err)
	}
	return nil
}

func (s LaunchSpec) record(login LoginKind, home string, argv []string, env map[string]string) Launch {
	l := Launch{
		Version: 1, Launch: s.Launch, Session: s.Session, Role: s.Role, Task: s.Task, Provider: s.Provider.Name, Model: cmp.Or(s.Model, s.Provider.DefaultModel),
		Transport: s.Transport, Unattended: s.unattended(), Login: login, Account: s.Provider.Account(s.Env), Mark: process.Mark(s.Dir), CLISession: cmp.Or(s.Resume, s.cliSession),
		Resumed: s.Resume != "", Argv: argv, Cwd: s.Workdir, EnvNames: slices.Sorted(maps.Keys(env)), Socket: shield.NewSocketPath(s.Runtime),
		Stdin: "terminal", ConfigDir: home, PreparedAt: s.Now, env: env, former: formerFiles(s.Runtime, process.Mark(s.Dir)),
	}
	if s.Env.RealHome == "" {
		l.Home = s.Env.Home
	}
	if len(s.Provider.Effort[s.Effort]) > 0 {
		l.Effort = s.Effort
	}
	if s.Transport == Headless {
		l.Stream, l.Stdin = s.Provider.Stream, "null"
	}
	if mode, _ := s.promptMode(); mode == PromptStdin && s.Line != "" {
		l.Stdin, l.Line = "line", s.Line
	}
	return l
}

// write creates the directories and files. launch.json comes last: once it exists, the rest is
// complete.
func (s LaunchSpec) write(l Launch, own settings.Settings) error {
	for _, dir := range []string{s.configDir(), s.Runtime, s.Env.Home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := own.Write(); err != nil {
		return err
	}
	if l.ConfigDir != "" && l.Login != LoginShared { // a person's own directory is left alone
		if err := s.settings().Accept(s.Provider.Accept, l.ConfigDir, l.env["ANTHROPIC_API_KEY"]); err != nil {
			return err
		}
	}
	former, err := ReadLaunch(s.Dir) // prepared before, and not started
	if err != nil {
		former = Launch{}
	}
	if err := errors.Join(former.Discard(), l.Discard()); err != nil {
		return err
	}
	data, err := encode(l)
	if err != nil {
		return fmt.Errorf("encode launch: %w", err)
	}
	return durable.Replace(filepath.Join(s.Dir, LaunchFile), data)
}

// Unprepared returns the launch in dir when its launch.json may be missing or written by its
// agent. It has only what Discard removes, all of it in the runtime directory.
func Unprepared(runtime, dir string) Launch {
	l := Launch{Launch: filepath.Base(dir), former: formerFiles(runtime, process.Mark(dir))}
	if noted, err := ReadLaunch(dir); err == nil && noted.Socket != "" {
		l.Socket = filepath.Join(runtime, filepath.Base(noted.Socket))
	}
	return l
}

// ReadLaunch reads launch.json from the directory of a launch.
func ReadLaunch(dir string) (Launch, error) {
	var l Launch
	data, err := durable.ReadRegular(dir, LaunchFile, 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return Launch{}, fmt.Errorf("read launch: %w", err)
	}
	if l.Version != 1 || len(l.Argv) == 0 || l.Mark == "" {
		return Launch{}, fmt.Errorf("read launch %s: version %d with %d arguments is not a record of agentmux", dir, l.Version, len(l.Argv))
	}
	if !markForm().MatchString(l.Mark) || l.Socket != "" && !shield.IsSocketPath(l.Socket) {
		return Launch{}, fmt.Errorf("read launch %s: mark %q with socket %q is not a record of agentmux", dir, l.Mark, l.Socket)
	}
	// The name of a file to remove never comes from a record that an agent can write.
	if at := cmp.Or(l.Socket, l.EnvFile); at != "" {
		l.former = formerFiles(filepath.Dir(at), l.Mark)
	}
	return l, nil
}

// checks returns those of the launch as it was prepared before, and the new one: agent-exec may
// have got the former environment from a host that was then killed.
func (s LaunchSpec) checks(check string) []string {
	former, err := ReadLaunch(s.Dir)
	if err != nil {
		return []string{check}
	}
	all := append(former.Checks, check)
	return all[max(0, len(all)-maxChecks):]
}

func (s LaunchSpec) configDir() string { return filepath.Join(s.Dir, "config") }

// settings returns what the program's own configuration is made from.
func (s LaunchSpec) settings() settings.Launch {
	return settings.Launch{
		Self: s.Self, Session: s.Session, Role: s.Role, Task: s.Task, Launch: s.Launch,
		Dir: s.configDir(), Home: s.Env.Home, Private: s.Env.RealHome == "", Workdir: s.Workdir, TrustDir: s.TrustDir,
		Unattended: s.unattended(), Headless: s.Transport == Headless,
		AskTool: s.Provider.AskTool, Credentials: s.Provider.Credentials, PassOn: []string{sealName}, Lookup: s.Env.Lookup,
	}
}

// session returns the program's session. It is that of the launch as it was prepared before,
// if any, because agent-exec may have started the program with it meanwhile.
func (s LaunchSpec) session() string {
	if former, err := ReadLaunch(s.Dir); err == nil && former.Provider == s.Provider.Name && former.CLISession != "" && !former.Resumed {
		return former.CLISession
	}
	return newSessionID()
}

// newSessionID returns a random UUID, the form that programs take for their sessions.
func newSessionID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails since Go 1.24
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// encode returns indented JSON with a final newline.
func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(data), '\n'), nil
}
