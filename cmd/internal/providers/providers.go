// Package providers finds and shows the agents' CLIs that a project can use, and logs one in. It starts nothing else.
package providers

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/document"
)

// load returns the providers of the project that the command works for.
func load(a *site.Finder) (agent.Providers, error) {
	project, err := a.ProjectDir()
	if err != nil {
		return nil, err
	}
	c, err := a.Config(project)
	if err != nil {
		return nil, err
	}
	providers, err := host.Providers(c)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return providers, nil
}

// Find returns one of them.
func Find(a *site.Finder, name string) (agent.Provider, error) {
	providers, err := load(a)
	if err != nil {
		return agent.Provider{}, err
	}
	p, ok := providers[name]
	if !ok {
		return p, exit.Usage(fmt.Errorf("no provider %q; known: %s", name, strings.Join(providers.Names(), ", ")))
	}
	return p, nil
}

// List prints the providers and whether they can start.
func List(a *site.Finder, asJSON bool) error {
	providers, err := load(a)
	if err != nil {
		return err
	}
	rows := show.KnownProviders(providers)
	if asJSON {
		return a.PrintJSON(rows)
	}
	show.PrintProviders(a.Console, rows)
	return nil
}

// Show prints what is known of a provider.
func Show(a *site.Finder, name string) error {
	p, err := Find(a, name)
	if err != nil {
		return err
	}
	data, err := document.Encode(p)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(data)
	return err
}
