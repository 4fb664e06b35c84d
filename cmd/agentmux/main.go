// Command agentmux turns an issue into a reviewed pull request with the
// coding-agent CLIs of the machine it runs on.
//
// This package parses arguments, wires the parts and turns errors into exit
// codes; one file per command. It decides nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/internal/agent/agentexec"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/spf13/cobra"
)

// version and commit are set by the build.
var (
	version = "dev"
	commit  = ""
)

func main() { os.Exit(runProcess("")) }

// runProcess is main without its end: it returns the exit code. Another program may run in the
// panes, and each of with may change the rest.
func runProcess(panes string, with ...func(a *app, cancel context.CancelCauseFunc)) int {
	job.Withhold()
	if code, done := hiddenMain(os.Args[1:]); done {
		return code
	}
	if err := conceal(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "agentmux:", err)
		return exit.Failed
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go cancelOnSignal(signals, cancel)
	a := newApp(console.System())
	a.Panes = panes
	for _, change := range with {
		change(a, cancel)
	}
	return execute(ctx, a, os.Args[1:])
}

// cancelOnSignal ends the context with the signal as its cause, so that a
// session is canceled in order; a later signal ends the process at once.
func cancelOnSignal(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	exit.Signals(signals, func(sig os.Signal) { cancel(engine.Signal{Name: sig.String()}) })
	os.Exit(exit.Canceled)
}

// hiddenMain handles the calls that must start without the cost of the command
// line: git's question for a password, and the first process of a pane or of a chore.
func hiddenMain(args []string) (code int, done bool) {
	if asked, code := remote.AnswerAskpass(args, os.Stdout); asked {
		return code, true
	}
	if len(args) >= 2 && args[0] == "agent-exec" {
		return agentexec.Run(context.Background(), args[1], args[2:]...), true
	}
	return 0, false
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, std console.Streams) int {
	return execute(ctx, newApp(std), args)
}

func execute(ctx context.Context, a *app, args []string) int {
	root := newRootCmd(a)
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeWords(a, root, allOffers(a)) // a shell asks; everybody else would pay for it, too
	}
	err := root.ExecuteContext(ctx)
	code, text := exit.Explain(err)
	var signal engine.Signal
	if text != "" && (code == exit.Failed || code == exit.BadUsage) && errors.As(context.Cause(ctx), &signal) {
		code, text = exit.Canceled, "canceled" // what the interrupt broke means nothing to the person who typed it
	}
	if text != "" {
		a.Say("agentmux: %s", text)
	}
	return code
}
