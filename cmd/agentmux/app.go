package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// app holds what every command needs.
type app struct {
	*console.Console

	configFile string // --config
	project    string // --project
	logLevel   string // --log-level
	logFormat  logFormat

	tokens map[string]string // of the environment, by the names of their variables
	handed *handedToken      // by the launcher of this host
}

func newApp(std console.Streams) *app {
	tokens := environmentTokens()
	redactor := sync.OnceValue(func() *redact.Redactor {
		r := redact.New()
		for _, token := range tokens {
			_ = r.Add("github-token", token) // too short to be one
		}
		return r
	})
	return &app{Console: console.New(std, redactor), tokens: tokens}
}

// projectDir returns the directory a command works for: --project, else the
// nearest directory upwards that is a git checkout or has a .agentmux directory.
// It fails if a directory of ours in it is a symlink.
func (a *app) projectDir() (string, error) {
	dir, err := a.findProject()
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

func (a *app) findProject() (string, error) {
	start := a.project
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
		return "", exit.Usage(fmt.Errorf("--project: %s is no directory", dir))
	}
	if a.project != "" {
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

// find returns the session a person means; can says to which the command could
// apply when none is named.
func (a *app) find(args []string, can func(session.Entry) bool) (session.Entry, error) {
	arg := ""
	if len(args) > 0 {
		arg = args[0]
	}
	project, err := a.projectDir()
	if err != nil {
		return session.Entry{}, err
	}
	return session.Find(project, arg, can)
}

// home is where the person's own files are.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return dir
}

func configHome() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home(), ".config")
}

func stateHome() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agentmux")
	}
	return filepath.Join(home(), ".local", "state", "agentmux")
}

// runtimeDir holds sockets: it is short, because their paths are bounded.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agentmux")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("agentmux-%d", os.Getuid()))
}

// self is the path of this program.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own path: %w", err)
	}
	return filepath.EvalSymlinks(path)
}

func (a *app) sources(project string) config.Sources {
	builtIn, _ := agent.Load(nil)
	return config.Sources{
		UserFile:  filepath.Join(configHome(), "agentmux", "config.yaml"),
		Project:   os.DirFS(project),
		FlagFile:  a.configFile,
		Home:      home(),
		Providers: builtIn.Names(),
	}
}

// config loads every layer; problems are a usage error that lists them all.
func (a *app) config(project string) (*config.Config, error) {
	c, problems := config.Load(a.sources(project))
	for _, warning := range problems.Warnings() {
		a.Say("warning: %s", warning)
	}
	if err := problems.Err(); err != nil {
		return nil, configError(problems)
	}
	return c, nil
}

func configError(problems document.Problems) error {
	lines := problems.Errors().Lines()
	return exit.UsageText("the configuration has problems:\n  " + strings.Join(lines, "\n  ") + "\nsee agentmux config check")
}

// logger writes to w at the level of --log-level, else of the configuration.
func (a *app) logger(w io.Writer, configured string) *slog.Logger {
	level := configured
	if a.logLevel != "" {
		level = a.logLevel
	}
	var at slog.Level
	if err := at.UnmarshalText([]byte(level)); err != nil {
		at = slog.LevelInfo
	}
	return slog.New(a.logHandler(w, &slog.HandlerOptions{Level: at}))
}
