package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/spf13/cobra"
)

// offer returns the words that a shell can offer in one place, each with or without a description
// behind a tab. It reads only files of this machine and returns nothing if there are none: a
// person who presses a key wants neither to wait nor to read an error.
type offer func() []string

// allOffers are the words for the arguments of each command, in their order.
func allOffers(a *app) map[string][]offer {
	every, none := sessionNames(a, nil), offer(func() []string { return nil })
	return map[string][]offer{
		"status": {every}, "logs": {every}, "monitor": {every}, "doctor": {every},
		"attach": {sessionNames(a, site.Live), workflows.Roles},
		"resume": {sessionNames(a, func(e session.Entry) bool {
			return e.Err != nil || site.Unfinished(e) || site.Changeable(e) || site.Live(e) && e.State.Paused
		})},
		"stop": {sessionNames(a, site.Stoppable)}, "pause": {sessionNames(a, site.Live)}, "retry": {sessionNames(a, site.Unended)},
		"approve": {sessionNames(a, site.Gated)}, "changes": {none, sessionNames(a, site.Changeable)},
		"answer":         {none, none, sessionNames(a, site.Asking)},
		"workflows show": {workflowNames(a)}, "workflows check": {workflowNames(a)},
		"providers show": {providerNames(a, func(agent.Provider) bool { return true })},
		"providers login": {providerNames(a, func(p agent.Provider) bool {
			return p.CheckLogin() == nil
		})},
	}
}

// completeWords tells shells which words may follow the commands and flags below cmd. Without it
// they offer the names of files everywhere.
func completeWords(a *app, cmd *cobra.Command, offers map[string][]offer) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	words := offers[path]
	switch {
	case cmd.ValidArgsFunction != nil: // help, which knows the commands
	case path == "run":
		cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"md"}, cobra.ShellCompDirectiveFilterFileExt)
	default:
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= len(words) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return offered(words[len(args)], typed)
		}
	}
	for name, of := range map[string]offer{
		"session": sessionOffer(a, words), "role": workflows.Roles, "workflow": workflowNames(a),
		"log-level": func() []string { return logLevels },
	} {
		completeFlag(cmd, name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return offered(of, typed)
		})
	}
	completeFlag(cmd, "project", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	completeFlag(cmd, "config", cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
	for _, name := range []string{"name", "base", "repo", "message", "of", "changes", "older-than", "max-size"} {
		completeFlag(cmd, name, cobra.NoFileCompletions)
	}
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			completeWords(a, child, offers)
		}
	}
}

// sessionOffer is for --session: the sessions that the command takes as its last word, else those
// that run.
func sessionOffer(a *app, words []offer) offer {
	if len(words) > 0 {
		return words[len(words)-1]
	}
	return sessionNames(a, site.Live)
}

// completeFlag is for a flag of the command itself.
func completeFlag(cmd *cobra.Command, name string, f cobra.CompletionFunc) {
	if cmd.LocalFlags().Lookup(name) != nil {
		_ = cmd.RegisterFlagCompletionFunc(name, f) // a command's own flags come once
	}
}

// typeableIssue matches owner/repo#N. A shell takes a # within a word as it is.
var typeableIssue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+#[0-9]+$`)

// offered returns the words with the typed prefix. A session may be named by its directory, too.
func offered(of offer, typed string) ([]string, cobra.ShellCompDirective) {
	words := slices.DeleteFunc(slices.Clone(of()), func(line string) bool {
		word, _, _ := strings.Cut(line, "\t")
		return !strings.HasPrefix(word, typed) || !console.Typeable.MatchString(word) && !typeableIssue.MatchString(word)
	})
	if len(words) == 0 && (strings.ContainsAny(typed, "/") || strings.HasPrefix(typed, ".")) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// sessionNames offers the sessions that a command takes, those of other repositories by their
// issues; can may be nil.
func sessionNames(a *app, can func(session.Entry) bool) offer {
	return func() (names []string) {
		near, far, err := a.Known(context.Background())
		if err != nil {
			return nil
		}
		shown := a.Shown()
		for _, e := range near {
			if can == nil || can(e) {
				names = append(names, e.Name+"\t"+shown(e.Condition()))
			}
		}
		for _, e := range far {
			if e.State != nil && e.State.IssueNumber > 0 && (can == nil || can(e)) {
				names = append(names, fmt.Sprintf("%s#%d\t%s", e.State.Repo, e.State.IssueNumber, shown(e.Condition())))
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

func workflowNames(a *app) offer {
	return func() []string {
		if project, err := a.ProjectDir(); err == nil {
			return workflows.Names(site.Files(project))
		}
		return workflows.Shipped()
	}
}

// providerNames offers the built-in and the configured providers; only the built-in ones if the
// configuration has problems.
func providerNames(a *app, fits func(agent.Provider) bool) offer {
	return func() (names []string) {
		providers, _ := agent.Load(nil)
		if project, err := a.ProjectDir(); err == nil {
			if c, problems := config.Load(a.Sources(project)); problems.Err() == nil {
				if all, err := host.Providers(c); err == nil {
					providers = all
				}
			}
		}
		for _, name := range providers.Names() {
			if fits(providers[name]) {
				names = append(names, name)
			}
		}
		return names
	}
}
