package agent

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// LaunchSpec is everything one launch is made of.
type LaunchSpec struct {
	Dir     string // launches/<launch> of the session; made if missing
	Session string // the session directory
	Launch  string // the launch's id: letters, digits, . _ and -
	Role    string
	Task    string // "" when the role has none
	Self    string // our own binary, absolute

	Provider    Provider
	Transport   Transport
	Unattended  bool // nobody answers dialogs
	AllowUnsafe bool // an unattended run may act without asking, see Provider.SkipsPermissions
	Model       string
	Args        []string // replace the provider's arguments when not nil
	Line        string   // the first line; one sentence with a path, never untrusted text
	Resume      string   // go on with this session of the program instead of a new one

	Workdir  string // absolute, exists
	TrustDir string // pre-accepted beside Workdir, for what lies below it; "" means Workdir only
	Runtime  string // runtime directory, for the file with the environment; made if missing
	Env      EnvSpec
	Now      time.Time

	cliSession string // chosen by Prepare
}

// Launch is launch.json: what Exec needs, and what the host wants to know later. It holds
// no value of a variable.
type Launch struct {
	Version    int       `json:"version"`
	Launch     string    `json:"launch"`
	Session    string    `json:"session"`
	Role       string    `json:"role"`
	Task       string    `json:"task,omitempty"`
	Provider   string    `json:"provider"`
	Transport  Transport `json:"transport"`
	Unattended bool      `json:"unattended"`
	Login      LoginKind `json:"login"`
	Mark       string    `json:"mark"`                  // in the environment of its processes
	CLISession string    `json:"cli_session,omitempty"` // known beforehand, or resumed
	Resumed    bool      `json:"resumed,omitempty"`
	Argv       []string  `json:"argv"`
	Cwd        string    `json:"cwd"`
	EnvNames   []string  `json:"env_names"`
	EnvFile    string    `json:"env_file"`
	Stdin      string    `json:"stdin"`            // "terminal", "null" or "line"
	Line       string    `json:"line,omitempty"`   // with stdin "line"
	Stream     string    `json:"stream,omitempty"` // format of standard output to render
	ConfigDir  string    `json:"config_dir,omitempty"`
	PreparedAt time.Time `json:"prepared_at"`
}

// ErrUnsafe means that the run would act without asking where that is not allowed.
var ErrUnsafe = errors.New("the program would act without asking for permission")

var launchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Prepare writes the files of a launch and returns what it wrote to launch.json. It may be
// called again for a launch that was not started: the files are replaced. One that has
// ended is refused. It fails with ErrUnsafe or ErrNoLogin before anything is written.
func Prepare(s LaunchSpec) (Launch, error) {
	if err := s.check(); err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	login, home, err := s.Provider.Login(s.Env)
	if err != nil {
		return Launch{}, err
	}
	if len(s.Provider.SessionArgs) > 0 && s.Resume == "" {
		s.cliSession = newSessionID()
	}
	mcp, hooks, files := s.additions()
	argv, err := s.argv(mcp.args, hooks.args)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	env, err := s.Env.environment(s.Provider, s.Launch, s.mark(), home)
	if err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	for _, a := range []addition{mcp, hooks} {
		for name, value := range a.env {
			env[name] = value
		}
	}
	l := s.record(login, home, argv, env)
	if err := s.write(l, files, env); err != nil {
		return Launch{}, fmt.Errorf("prepare launch %s: %w", s.Launch, err)
	}
	return l, nil
}

func (s LaunchSpec) check() error {
	if !launchForm.MatchString(s.Launch) || filepath.Base(s.Dir) != s.Launch {
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
		Version: 1, Launch: s.Launch, Session: s.Session, Role: s.Role, Task: s.Task, Provider: s.Provider.Name,
		Transport: s.Transport, Unattended: s.unattended(), Login: login, Mark: s.mark(), CLISession: or(s.Resume, s.cliSession),
		Resumed: s.Resume != "", Argv: argv, Cwd: s.Workdir, EnvNames: sortedKeys(env), EnvFile: s.envFile(),
		Stdin: "terminal", ConfigDir: home, PreparedAt: s.Now,
	}
	if s.Transport == Headless {
		l.Stream, l.Stdin = s.Provider.Stream, "null"
	}
	if mode, _ := s.promptMode(); mode == PromptStdin && s.Line != "" {
		l.Stdin, l.Line = "line", s.Line
	}
	return l
}

// write makes the directories and files. launch.json comes last: where it stands, the rest
// is complete.
func (s LaunchSpec) write(l Launch, files map[string]any, env map[string]string) error {
	for _, dir := range []string{s.configDir(), s.Runtime, s.Env.Home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(files) {
		data, err := encode(files[name])
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		path := filepath.Join(s.configDir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := durable.View(path, data); err != nil {
			return err
		}
	}
	if err := s.accept(l.Login, l.ConfigDir, env); err != nil {
		return err
	}
	data, err := json.Marshal(env)
	if err != nil {
		return fmt.Errorf("encode environment: %w", err)
	}
	// A host that was killed while it wrote the variables has left them beside the file.
	if err := durable.Remove(l.EnvFile); err != nil {
		return err
	}
	if err := durable.View(l.EnvFile, data); err != nil {
		return err
	}
	if data, err = encode(l); err != nil {
		return fmt.Errorf("encode launch: %w", err)
	}
	return durable.Replace(filepath.Join(s.Dir, "launch.json"), data)
}

// Discard removes the files with secrets of a launch that will not be started or has
// ended, and what a host that was killed while it wrote one left of it. Whoever they are
// for removes them at once, so calling this later changes nothing.
func (l Launch) Discard() error {
	if err := errors.Join(durable.Remove(l.EnvFile), durable.Remove(l.lentFile())); err != nil {
		return fmt.Errorf("discard launch %s: %w", l.Launch, err)
	}
	return nil
}

// Lend leaves data for another process of the host that serves this launch, in a file
// only this user can read and that Borrow removes: secrets stand in no argv.
func (l Launch) Lend(data []byte) error {
	if err := durable.View(l.lentFile(), data); err != nil {
		return fmt.Errorf("lend to launch %s: %w", l.Launch, err)
	}
	return nil
}

// Borrow takes what was lent, and what a killed lender left of it; nothing is no error.
func (l Launch) Borrow() ([]byte, error) {
	data, err := os.ReadFile(l.lentFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err := errors.Join(err, durable.Remove(l.lentFile())); err != nil {
		return nil, fmt.Errorf("borrow for launch %s: %w", l.Launch, err)
	}
	return data, nil
}

func (l Launch) lentFile() string { return strings.TrimSuffix(l.EnvFile, ".env") + ".lent" }

// Unprepared is the launch in dir if its host was killed before launch.json was there: it
// has nothing but the files that Discard removes.
func Unprepared(runtime, dir string) Launch {
	return Launch{Launch: filepath.Base(dir), EnvFile: LaunchSpec{Runtime: runtime, Dir: dir}.envFile()}
}

// ReadLaunch reads launch.json from the directory of a launch.
func ReadLaunch(dir string) (Launch, error) {
	var l Launch
	data, err := durable.ReadRegular(dir, "launch.json", 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return Launch{}, fmt.Errorf("read launch: %w", err)
	}
	if l.Version != 1 || len(l.Argv) == 0 || l.Mark == "" {
		return Launch{}, fmt.Errorf("read launch %s: version %d with %d arguments is none of ours", dir, l.Version, len(l.Argv))
	}
	return l, nil
}

func (s LaunchSpec) configDir() string { return filepath.Join(s.Dir, "config") }

func (s LaunchSpec) trustDir() string { return or(s.TrustDir, s.Workdir) }

// mark tells the launch from those of every other session, and is the same again when it
// is prepared again.
func (s LaunchSpec) mark() string {
	sum := sha256.Sum256([]byte(filepath.Clean(s.Dir)))
	return hex.EncodeToString(sum[:16])
}

func (s LaunchSpec) envFile() string { return filepath.Join(s.Runtime, s.mark()[:16]+".env") }

// newSessionID returns a random UUID, the form programs want for a session of theirs.
func newSessionID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails since Go 1.24
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// encode is indented JSON with a final newline.
func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(data), '\n'), nil
}
