// Package testplain builds the running test binary once more, without the race detector.
//
// The tests of whole sessions start their own binary dozens of times in panes: as the
// scripted agents, their tools and what watches over them. Each start costs four times as
// much with the race detector, which finds nothing there: each of these programs has tests
// of its own that run with it. Hosts and commands keep it in the tests of package main that say
// so.
package testplain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/agentmux/agentmux/internal/command"
)

// limit bounds a build. A cold one on a busy machine takes minutes.
const limit = 20 * time.Minute

// Build returns a program like the running test binary that has no race detector: this one,
// if it has none, else one that Build makes in a directory. It must be called in the
// directory of the package under test, where go test starts its binaries. Where there is no
// go command it returns the running binary. Go's build cache makes a second call cheap.
func Build(ctx context.Context, dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own path: %w", err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || setting(info, "-race") != "true" {
		return self, nil
	}
	program := filepath.Join(dir, "plain.test")
	out := command.Output{Max: 64 << 10}
	err = command.Cmd{
		Argv: []string{"go", "test", "-c", "-race=false", "-vet=off", "-ldflags=-s -w", "-tags=" + setting(info, "-tags"), "-o", program},
		Env:  os.Environ(), Stdout: &out, Stderr: &out, Limit: limit,
	}.Run(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return self, nil
	}
	if err != nil {
		return "", fmt.Errorf("build without the race detector: %w\n%s", err, out.String())
	}
	return program, nil
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
