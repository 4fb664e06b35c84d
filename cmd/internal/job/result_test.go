package job_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
)

// An error is one annotation. A request that could not begin is left to another job and fails nothing.
func TestAnErrorIsOneAnnotation(t *testing.T) {
	stalled := &daemon.StalledError{Why: "it waits for this machine: fetch octo/widgets: exit status 128"}
	for kind, c := range map[string]struct {
		err     error
		outcome string
		want    string
		fails   bool
	}{
		"notice": {
			&exit.Error{Code: exit.NeedsHuman, Err: fmt.Errorf("serve: %w", stalled)}, job.OutcomeHandover,
			"handover: serve: " + stalled.Error() + ": mend that; the next sweep starts a job for the request, and a run of the workflow does it now", false,
		},
		"notice of another host": {
			&exit.Error{Code: exit.Locked, Err: errors.New("another host has it")}, job.OutcomeError, "error: another host has it", false,
		},
		"notice of a full disk": {
			&exit.Error{Code: exit.NeedsHuman, Err: &daemon.FullError{Why: "replace /s/state.json: no space left on device"}}, job.OutcomeHandover,
			"handover: the disk of this runner is full (replace /s/state.json: no space left on device); make room on it, or give the runner a larger one", false,
		},
		"error": {errors.New("no space left on device"), job.OutcomeError, "error: no space left on device", true},
	} {
		var out bytes.Buffer
		result, err := job.EndWith(&out, c.err)
		kind, _, _ = strings.Cut(kind, " ")
		if said := runlog.Annotations(out.String(), kind); len(said) != 1 || said["agentmux"] != c.want || result.Outcome != c.outcome || (err != nil) != c.fails {
			t.Errorf("%s: said %q, result %+v, error %v\n%s", kind, said, result, err, out.String())
		}
	}
}

// Each path that needs a look is a warning, as many as the page of a run shows beside how it ended.
func TestPathsThatNeedALookAreWarnings(t *testing.T) {
	var out bytes.Buffer
	result := outcome.Result{Outcome: "needs_human", ExitCode: exit.NeedsHuman}
	for n := range 12 {
		result.Held = append(result.Held, fmt.Sprintf("%d/Makefile\n::error::no", n))
	}
	if err := job.End(&out, result); err != nil {
		t.Error(err)
	}
	heard := runlog.Commands(out.String())
	if len(heard) != 10 || heard[0] != "::warning title=needs a look::0/Makefile%0A::error::no" || !strings.HasPrefix(heard[8], "::warning title=needs a look::8/Makefile") || !strings.HasPrefix(heard[9], "::notice ") {
		t.Errorf("heard %q", heard)
	}
}

// What an agent put where the result should be is not read.
func TestAResultIsAFileOfABoundedSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentmux", "result.json")
	if got, err := job.ReadResult(path); err != nil || got.Outcome != job.OutcomeLost {
		t.Errorf("without a directory: %+v, %v", got, err)
	}
	if err := whole.Write(path); err != nil {
		t.Fatal(err)
	}
	if got, err := job.ReadResult(path); err != nil || got.Outcome != whole.Outcome || got.Sentence != whole.Sentence {
		t.Errorf("as it was written: %+v, %v", got, err)
	}
	other := filepath.Join(filepath.Dir(path), "other.json")
	for name, c := range map[string]struct {
		put  func() error
		want string
	}{
		"a link": {func() error { return errors.Join(whole.Write(other), os.Symlink(other, path)) }, "is a symbolic link"},
		"a FIFO": {func() error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"large":  {func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 16<<20+1)) }, "is larger than 16 MiB"},
	} {
		if err := errors.Join(os.Remove(path), c.put()); err != nil {
			t.Fatal(err)
		}
		if got, err := job.ReadResult(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// What is uploaded is the directory that the job made, not one that a link in its place names.
func TestAnArtifactIsNoLink(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("RUNNER_TEMP", temp)
	dir, elsewhere := filepath.Join(temp, "agentmux", "artifact"), t.TempDir()
	for name, c := range map[string]struct {
		put     func() error
		offered bool
	}{
		"nothing":     {func() error { return nil }, false},
		"a directory": {func() error { return os.Mkdir(dir, 0o700) }, true},
		"a link":      {func() error { return os.Symlink(elsewhere, dir) }, false},
		"a file":      {func() error { return os.WriteFile(dir, nil, 0o600) }, false},
	} {
		output := filepath.Join(t.TempDir(), "output")
		if err := errors.Join(whole.Write(job.ResultFile()), os.RemoveAll(dir), c.put(), job.Report(output, "")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(output)
		if err != nil || strings.Contains(string(text), "artifact="+dir+"\n") != c.offered {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
