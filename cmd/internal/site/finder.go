// Package site finds what a command works on: the project, its configuration, a session and the
// account, and wires a host for them. A Site reads each of them once; Hand and OpenHanded carry
// it to a detached host. The package also knows the directories of the program's files, and the
// words for problems of a clone, of GitHub and of a start. It writes nothing.
package site

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A Finder finds what a command works on, as its flags say: the project, its configuration,
// a session, and the site where hosts run.
type Finder struct {
	*console.Console

	ConfigFile string // --config
	Stores     string // where the host repositories of servers lie; empty = in the state home
	Project    string // --project
	LogLevel   string // --log-level
	Format     hostlog.Format

	Tokens *account.Tokens

	// Panes is the program whose hidden commands run in panes; empty means this one.
	Panes string

	// Now is the clock by which a bot judges its claims; nil = time.Now.
	Now func() time.Time
}

// ProjectDir returns the directory a command works for: --project, else the
// nearest directory upwards that is a git checkout or has a .agentmux directory.
// It fails if a directory of this program in it is a symlink.
func (f *Finder) ProjectDir() (string, error) {
	dir, err := f.findProject()
	if err != nil {
		return "", err
	}
	if err := session.CheckLinks(dir); err != nil {
		return "", exit.Usage(err)
	}
	if !utf8.ValidString(dir) {
		return "", exit.Usage(fmt.Errorf("the path of the project, %q, is not UTF-8, and the files of a session cannot name it; rename the directory", dir))
	}
	return dir, nil
}

func (f *Finder) findProject() (string, error) {
	start := f.Project
	if start == "" {
		var err error
		if start, err = os.Getwd(); err != nil {
			return "", exit.UsageText("the directory you are in is gone; go to another, or name the project with --project")
		}
	}
	dir, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", exit.Usage(fmt.Errorf("--project: %s is not a directory", dir))
	}
	if f.Project != "" {
		return dir, nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, mark := range []string{".git", ".agentmux"} {
			if _, err := os.Stat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// Sources are the layers of the configuration.
func (f *Finder) Sources(project string) config.Sources {
	builtIn, _ := agent.Load(nil)
	return config.Sources{
		UserFile:  filepath.Join(ConfigHome(), "agentmux", "config.yaml"),
		Project:   Files(project),
		FlagFile:  f.ConfigFile,
		Home:      Home(),
		Providers: builtIn.Names(),
	}
}

// Sandbox is host.Sandbox of this machine. No project decides on it; at is any site, nil to read the configuration.
func (f *Finder) Sandbox(at *Site) (level, words string) {
	if at != nil {
		return host.Sandbox(at.Config, os.LookupEnv)
	}
	own := f.Sources("")
	own.Project = nil
	c, problems := config.Load(own)
	if problems.Err() != nil {
		return "unknown", "unknown (the configuration cannot be read)"
	}
	return host.Sandbox(c, os.LookupEnv)
}

// Config loads every layer; problems are a usage error that lists them all.
func (f *Finder) Config(project string) (*config.Config, error) {
	return f.load(f.Sources(project))
}

// AgentsFile returns where the agents file of a project is: agents.file of the configuration. It says no warnings.
func (f *Finder) AgentsFile(project string) (string, error) {
	c, problems := config.Load(f.Sources(project))
	if problems.Err() != nil {
		return "", configError(problems)
	}
	return filepath.Join(project, c.Agents.File), nil
}

func (f *Finder) load(s config.Sources) (*config.Config, error) {
	c, problems := config.Load(s)
	return c, f.tell(problems)
}

// tell says what is a warning, and returns an error of the other problems.
func (f *Finder) tell(problems document.Problems) error {
	for _, warning := range problems.Warnings() {
		f.Say("warning: %s", warning)
	}
	if problems.Err() != nil {
		return configError(problems)
	}
	return nil
}

func configError(problems document.Problems) error {
	lines := problems.Errors().Lines()
	return exit.UsageText("the configuration has problems:\n  " + strings.Join(lines, "\n  ") + "\nsee agentmux config check")
}

// MachineConfig loads the layers of this machine, without those of a project.
func (f *Finder) MachineConfig() (*config.Config, error) {
	return f.load(f.machine())
}

// Salvage is MachineConfig that returns what could be read beside the error.
func (f *Finder) Salvage() (config.Partial, error) {
	p, problems := config.Salvage(f.machine())
	return p, f.tell(problems)
}

func (f *Finder) machine() config.Sources {
	s := f.Sources("")
	s.Project = nil
	return s
}

// Logger writes to w at the level of --log-level, else of the configuration.
func (f *Finder) Logger(w io.Writer, configured string) *slog.Logger {
	level := configured
	if f.LogLevel != "" {
		level = f.LogLevel
	}
	var at slog.Level
	if err := at.UnmarshalText([]byte(level)); err != nil {
		at = slog.LevelInfo
	}
	return slog.New(hostlog.NewHandler(w, &slog.HandlerOptions{Level: at}, f.LogAs(), f.Console))
}

// LogAs returns the format of --log-format. Without it, --log-level asks for the log as text.
func (f *Finder) LogAs() hostlog.Format {
	switch {
	case f.Format != "":
		return f.Format
	case f.LogLevel != "":
		return hostlog.Text
	}
	return hostlog.Lines
}
