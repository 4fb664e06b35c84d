// Package job is agentmux issue as the process of a job of GitHub Actions. It reads what the run's
// event asks for, has package bot serve that one issue, and writes how that ended: as groups and
// annotations in the log, as result.json, and, in a later step, as outputs and summary.
//
// Promises:
//
//   - An event that asks for nothing, or that cannot be read, costs no request.
//   - Texts of others are not commands to the runner, whatever they say (Log), and neither this
//     process nor a child of it can write to the runner's files (Withhold).
//   - A session that needs a person, or that another host has, does not fail the job: the exit code
//     in result.json is the true one.
//   - A signal cancels the session in order; what the issue shows is final then.
//
// It writes result.json, and what a person may see of the session, below the runner's directory for
// temporary files. The last step of a job (Left) removes all that a session has there.
package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync/origin"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// run is one job.
type run struct {
	finder  *site.Finder
	log     *Log
	inputs  Inputs
	watcher *watch.Watcher
	shown   func(string) string
	dir     string         // of the session that was run last
	told    map[string]int // the last record of each that the log has
	report  report.Report
	refused bool // the inputs; each that is wrong has its annotation
}

// Run does what the event of the job asks for. asked is the issue that the step names, "" for none.
func Run(ctx context.Context, f *site.Finder, asked string) error {
	log := NewLog(f.Raw)
	defer log.Close()
	f.Console = console.New(console.Streams{In: f.In, Out: log, Err: log}, f.Redactor)
	inputs := ReadInputs()
	ctx, cancel := context.WithDeadlineCause(ctx, time.Now().Add(inputs.HandsOver()), host.ErrHandOver)
	defer cancel()
	room := newReserve()
	defer room.free()
	r := &run{finder: f, log: log, inputs: inputs, watcher: watch.New(watch.Options{}), shown: f.Shown(), told: map[string]int{}}
	var result outcome.Result
	err := r.serve(ctx, asked, &result)
	code, text := exit.Explain(err)
	if err == nil {
		code = codeOf(result)
	}
	if signaled(ctx) {
		code = exit.Canceled
	}
	if err == nil && host.IsHandOver(ctx) && result.Outcome == OutcomeLost {
		code = exit.NeedsHuman
		result.Outcome, result.Sentence = OutcomeHandover, "the time of the job ends soon, so the session was let go of"
		result.Next = letGo(r.dir, true)
	}
	full := exit.As[*daemon.FullError](err) && r.dir != ""
	if full {
		if err := ofSession(ctx, &result, r.dir); err != nil {
			f.Say("%v", err)
		}
		result.Next = letGo(r.dir, false)
	}
	if text != "" {
		ofError(&result, err, f.Redactor().Redact(text))
	}
	result.ExitCode = code
	if r.dir != "" && !full {
		r.keep(ctx, result.Repo)
		if err := result.Write(filepath.Join(r.dir, outcome.File)); err != nil { // as after any run without a person
			f.Say("%v", err)
		}
	}
	room.free()
	if err := result.Write(ResultFile()); err != nil && text != "" {
		f.Say("%v", err) // the disk is full, as a rule, and the annotation says what the job lacked
	} else if err != nil {
		log.Annotate(Warning, "result.json", f.Redactor().Redact(err.Error()))
	}
	return r.end(ctx, result)
}

// parkAfter is how long a job keeps its runner while only a person can continue the session.
const parkAfter = 10 * time.Minute

// signaled reports whether a signal ended the job.
func signaled(ctx context.Context) bool {
	var signal engine.Signal
	return errors.As(context.Cause(ctx), &signal)
}

// serve judges the event and serves its issue.
func (r *run) serve(ctx context.Context, asked string, result *outcome.Result) error {
	result.Outcome = OutcomeNone
	if problems := r.inputs.Check(); len(problems) > 0 {
		r.refused = true
		var lines []string
		for _, p := range problems {
			r.log.Annotate(Failure, "input "+p.Input, p.Text)
			lines = append(lines, "input "+p.Input+": "+p.Text)
		}
		return exit.UsageText(strings.Join(lines, "\n"))
	}
	if file := r.inputs["config"]; file != "" {
		r.finder.ConfigFile = file
	}
	r.finder.Stores = r.inputs["state"]
	c, err := r.finder.MachineConfig()
	if err != nil {
		return err
	}
	request, err := ReadEvent(os.Getenv, c.Bot.Label, asked)
	if err != nil {
		return exit.Usage(err)
	}
	result.Repo, result.Issue = request.Repo.String(), request.Issue
	if request.Idle != "" {
		result.Sentence = request.Idle
		return nil
	}
	if request.Sweep {
		return r.sweep(ctx, c, request, result)
	}
	own, err := hostID(os.Getenv)
	if err != nil {
		return exit.Usage(err)
	}
	pull := 0
	if request.Pull {
		pull = request.Issue
		if err := r.ofPull(ctx, c, &request); err != nil {
			return err
		}
		if result.Issue = request.Issue; request.Issue == 0 {
			result.Sentence = "the pull request is not of a session"
			return nil
		}
	}
	request.settle(ctx)
	err = daemon.Run(ctx, r.finder, &daemon.Options{
		Repos: []string{request.Repo.String()}, Once: !r.inputs.On("dry-run"), DryRun: r.inputs.On("dry-run"), Interval: "auto",
		Job: &daemon.Job{
			Issue: request.Issue, Pull: pull, Commanded: request.Command, Host: own, ParkAfter: parkAfter, Change: r.inputs.Change, Opened: r.follow,
			Ended: func(now report.Report) { r.report = now },
		},
	})
	switch {
	case claim.Denied(err):
		return exit.UsageText(fmt.Sprintf("the token may not write to %s: its job needs the permissions contents, issues, pull-requests and statuses: write; agentmux init --actions prints a job that has them", request.Repo))
	case err != nil:
		return err
	case r.inputs.On("dry-run"):
		result.Sentence = "a dry run: nothing was written; the log says what would be"
	case r.dir != "":
		return ofSession(ctx, result, r.dir)
	case len(r.report.Refused) > 0:
		result.Outcome, result.Sentence = OutcomeRefused, "the request was refused; the issue says why"
	default:
		result.Sentence = "nothing asks for work on the issue now, or another host has it"
	}
	return nil
}

// ofPull puts the issue of a pull request into its place in a request; 0 if it is not of a session.
func (r *run) ofPull(ctx context.Context, c *config.Config, request *Request) error {
	_, act, err := daemon.Reach(ctx, r.finder, c, request.Repo)
	if err != nil {
		return err
	}
	if request.Issue, _, err = origin.OfPull(ctx, act.Client, request.Repo, request.Issue); err != nil {
		return explain(err, request.Repo, act.Name)
	}
	return nil
}

// hostID is the host of the run.
func hostID(env func(string) string) (claim.HostID, error) {
	id, err := strconv.ParseInt(env("GITHUB_RUN_ID"), 10, 64)
	if err != nil || id < 1 {
		return "", fmt.Errorf("GITHUB_RUN_ID: expected a number, found %q", cut(env("GITHUB_RUN_ID")))
	}
	attempt, err := strconv.Atoi(env("GITHUB_RUN_ATTEMPT"))
	if err != nil || attempt < 1 {
		return "", fmt.Errorf("GITHUB_RUN_ATTEMPT: expected a number, found %q", cut(env("GITHUB_RUN_ATTEMPT")))
	}
	return claim.JobHostID(id, attempt), nil
}

// ResultFile is where result.json of the job lies.
func ResultFile() string {
	dir := os.Getenv("RUNNER_TEMP")
	if !filepath.IsAbs(dir) {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "agentmux", "result.json")
}

// mostHeld bounds the annotations of a kind: the page of a run shows ten.
const mostHeld = 9

// end tells how the job ended, and returns the error with its exit code. What needs a person does
// not fail it.
func (r *run) end(ctx context.Context, result outcome.Result) error {
	for i, path := range result.Held {
		if i == mostHeld {
			break
		}
		r.log.Annotate(Warning, "needs a look", path)
	}
	line := lineOf(result)
	if r.refused {
		r.finder.Say("%s", r.shown(line))
		return exit.Quiet(result.ExitCode)
	}
	switch code := result.ExitCode; {
	case code == exit.Done:
		r.finder.Say("%s", r.shown(line))
		return nil
	case code == exit.NeedsHuman, code == exit.Locked, code == exit.Canceled && !signaled(ctx): // a person stopped the session, not the job
		r.log.Annotate(Notice, "agentmux", r.shown(line))
		return nil
	case code == exit.Canceled:
		r.log.Annotate(Warning, "agentmux", r.shown(line))
	default:
		r.log.Annotate(Failure, "agentmux", r.shown(line))
	}
	return exit.Quiet(result.ExitCode)
}

// lineOf says how the job ended in a line or a few.
func lineOf(r outcome.Result) string {
	parts := []string{strings.ReplaceAll(r.Outcome, "_", " ")}
	if r.PRURL != "" {
		parts = append(parts, r.PRURL)
	}
	for _, part := range []string{r.Sentence, r.Next} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}
