package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/command"
)

// Probe is what the installed program of a provider says about itself.
type Probe struct {
	Path    string   // of the program
	Version string   // the first line it prints for --version
	Known   bool     // that version is one of Provider.Versions
	Missing []string // flags of Provider.Flags that its help does not name
}

// Probe runs the installed program twice, for its version and its help, without a login
// and with an empty home that is removed again. path is the agents' PATH.
func (p Provider) Probe(ctx context.Context, path string) (Probe, error) {
	program, err := lookPath(p.Command, path)
	if err != nil {
		return Probe{}, err
	}
	home, err := os.MkdirTemp("", "agentmux-probe")
	if err != nil {
		return Probe{}, fmt.Errorf("probe %s: %w", p.Name, err)
	}
	out := Probe{Path: program}
	version, err := ask(ctx, home, path, program, "--version")
	if err == nil {
		out.Version, _, _ = strings.Cut(strings.TrimSpace(version), "\n")
		out.Known = slices.Contains(p.Versions, versionForm().FindString(out.Version))
		out.Missing, err = p.missing(ctx, home, path, program)
	}
	if err := errors.Join(err, os.RemoveAll(home)); err != nil {
		return Probe{}, fmt.Errorf("probe %s: %w", p.Name, err)
	}
	return out, nil
}

var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+(\.\d+)+`) })

// missing returns the flags in use that the help does not name. A call for the version together
// with a flag would prove nothing: programs answer before they parse the rest.
func (p Provider) missing(ctx context.Context, home, path, program string) ([]string, error) {
	if len(p.HelpArgs) == 0 {
		return nil, nil
	}
	help, err := ask(ctx, home, path, program, p.HelpArgs...)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, flag := range p.Flags {
		if !regexp.MustCompile(`(^|[\s,])` + regexp.QuoteMeta(flag) + `($|[\s,=<\[])`).MatchString(help) {
			missing = append(missing, flag)
		}
	}
	return missing, nil
}

// ask runs a program that answers at once and returns what it prints.
func ask(ctx context.Context, home, path, program string, args ...string) (string, error) {
	out := &command.Output{Max: 1 << 20}
	err := command.Cmd{
		Argv: append([]string{program}, args...), Dir: home, Stdout: out, Stderr: out, Limit: 20 * time.Second, Drain: time.Second,
		Env: []string{"PATH=" + path, "HOME=" + home, "LANG=C.UTF-8", "TERM=dumb", "DISABLE_AUTOUPDATER=1"},
	}.Run(ctx)
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w", program, strings.Join(args, " "), err)
	}
	return out.String(), nil
}
