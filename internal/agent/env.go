package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/agentmux/agentmux/internal/agent/process"
)

// secretName matches the names of variables whose values are secret.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)KEY|TOKEN|SECRET|PASS|CREDENTIAL|(^|_)(PAT|AUTH)$`)
})

// EnvSpec is what the host puts into the environment of one launch. Nothing else gets in.
type EnvSpec struct {
	Path     string // PATH, also used to find the program
	Home     string // private home of the agent: absolute, made if missing, kept for its next launch
	RealHome string // the person's home; set only for an interactive run without a sandbox
	Logins   string // directory of the logins made for agentmux, one directory for each provider
	Term     string // "" means screen-256color
	TimeZone string
	Temp     string // "" means /tmp
	Author   string // name and mail of the commits an agent makes in its workspace
	Email    string
	Proxy    string // for HTTPS_PROXY and HTTP_PROXY; "" means none
	NoProxy  string
	Runner   string            // RUNNER_TRACKING_ID of a runner's job
	Extra    map[string]string // allowed by configuration; see EnvAllowed
	// Lookup returns a variable of the host. It is called with names of the provider's lists only.
	Lookup func(name string) (string, bool)
}

// LoginKind says how a program gets its credentials.
type LoginKind string

// The ways to log in, in the order they are tried.
const (
	LoginToken  LoginKind = "token"  // a variable; the program's directory is private
	LoginOwn    LoginKind = "own"    // a login made for agentmux, in a directory of its own
	LoginShared LoginKind = "shared" // the person's own directory, as the program means it to be used
	LoginNone   LoginKind = "none"   // the program needs none
)

// ErrNoLogin means that a launch has no way to log its program in.
var ErrNoLogin = errors.New("no login")

// Login returns which login p uses and the directory of the program, "" for the program's
// default. A credential file is never copied or linked: the tokens in it are renewed by use,
// and a second user would end the login of the first.
func (p Provider) Login(e EnvSpec) (kind LoginKind, dir string, err error) {
	private := ""
	if p.ConfigDir != "" && e.Home != "" {
		private = filepath.Join(e.Home, p.ConfigDir)
	}
	if len(p.Credentials) == 0 {
		return LoginNone, private, nil
	}
	for _, name := range p.Credentials {
		if v, ok := e.lookup(name); ok && v != "" {
			return LoginToken, private, nil
		}
	}
	if own := filepath.Join(e.Logins, p.Name); e.Logins != "" && p.ConfigDirEnv != "" {
		if info, err := os.Stat(own); err == nil && info.IsDir() {
			return LoginOwn, own, nil
		}
	}
	if e.RealHome != "" {
		return LoginShared, "", nil
	}
	hint := "set " + strings.Join(p.Credentials, " or ") + " for agentmux"
	if p.ConfigDirEnv != "" && len(p.LoginArgs) > 0 {
		hint += fmt.Sprintf(", or run \"agentmux providers login %s\"", p.Name)
	}
	return "", "", fmt.Errorf("%s: %w: %s", p.Name, ErrNoLogin, hint)
}

// Account tells the login that p uses, and the address it is asked at, from others, without naming
// them: keys are long enough that nobody finds one by its hash. "" without a login.
func (p Provider) Account(e EnvSpec) string {
	kind, dir, err := p.Login(e)
	if err != nil {
		return ""
	}
	parts := []string{string(kind)}
	switch kind {
	case LoginOwn:
		parts = append(parts, dir)
		if info, err := os.Stat(dir); err == nil { // the next login has a directory of its own
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				parts = append(parts, strconv.FormatUint(stat.Ino, 10))
			}
		}
	case LoginShared:
		parts = append(parts, e.RealHome)
	}
	for _, name := range p.Env {
		if value, ok := e.lookup(name); ok && value != "" {
			parts = append(parts, name, value)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

func (e EnvSpec) lookup(name string) (string, bool) {
	if e.Lookup == nil {
		return "", false
	}
	return e.Lookup(name)
}

// environment builds the variables of a launch from nothing.
func (e EnvSpec) environment(p Provider, launch, mark, configDir string) (map[string]string, error) {
	home := e.Home
	if e.RealHome != "" {
		home = e.RealHome
	}
	env := map[string]string{
		"PATH": e.Path, "HOME": home, "USER": "agent", "SHELL": shell(), "LANG": "C.UTF-8",
		"TERM": cmp.Or(e.Term, "screen-256color"), "COLORTERM": "truecolor", "TMPDIR": cmp.Or(e.Temp, "/tmp"),
		"GIT_TERMINAL_PROMPT": "0", process.LaunchName: launch, process.MarkName: mark,
	}
	if e.RealHome == "" {
		for name, dir := range map[string]string{
			"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state",
		} {
			env[name] = filepath.Join(home, dir)
		}
	}
	optional := map[string]string{
		"TZ": e.TimeZone, "HTTPS_PROXY": e.Proxy, "HTTP_PROXY": e.Proxy, "NO_PROXY": e.NoProxy, "RUNNER_TRACKING_ID": e.Runner,
		"GIT_AUTHOR_NAME": e.Author, "GIT_COMMITTER_NAME": e.Author, "GIT_AUTHOR_EMAIL": e.Email, "GIT_COMMITTER_EMAIL": e.Email,
	}
	for name, value := range optional {
		if value != "" {
			env[name] = value
		}
	}
	for name, value := range e.Extra {
		if !EnvAllowed(name) {
			return nil, fmt.Errorf("variable %s cannot be passed to an agent", name)
		}
		env[name] = value
	}
	e.addProvider(env, p, configDir)
	return env, nil
}

// addProvider adds the provider's own variables last.
func (e EnvSpec) addProvider(env map[string]string, p Provider, configDir string) {
	maps.Copy(env, p.Set)
	for _, name := range p.Env {
		if value, ok := e.lookup(name); ok && !reserved(name) {
			env[name] = value
		}
	}
	if p.ConfigDirEnv != "" && configDir != "" {
		env[p.ConfigDirEnv] = configDir
	}
}

// Secrets returns the variables that log the provider in or whose names match secretName, by
// name: those of the provider and the extra ones.
func (e EnvSpec) Secrets(p Provider) map[string]string {
	found := map[string]string{}
	for _, name := range p.Env {
		value, ok := e.lookup(name)
		if ok && (slices.Contains(p.Credentials, name) || secretName().MatchString(name)) {
			found[name] = value
		}
	}
	for name, value := range e.Extra {
		if secretName().MatchString(name) {
			found[name] = value
		}
	}
	return found
}

func shell() string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}
