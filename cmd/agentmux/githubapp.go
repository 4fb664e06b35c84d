package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// actsAsApp reports whether the configuration names a GitHub App as the account.
func actsAsApp(c *config.Config) bool {
	return c.GitHub.Auth == "app" || c.GitHub.Auth == "auto" && c.GitHub.App.KeyFile != ""
}

// checkApp names the settings that an App lacks.
func checkApp(c config.App) error {
	switch {
	case c.ClientID == "":
		return exit.UsageText("github.auth: app needs github.app.client_id, which the App's page on GitHub shows")
	case c.KeyFile == "":
		return exit.UsageText("github.auth: app needs github.app.key_file, the private key that the App's page on GitHub makes")
	}
	return nil
}

// appTokens is the token source of the configured App for the repository of the
// project. Its tokens are good for that repository alone. o is the host's options
// without GitHub; its redactor learns the key now and each token before it is used.
func appTokens(ctx context.Context, s *site, o host.Options) (transport.TokenSource, error) {
	bare, err := host.New(o)
	if err != nil {
		return nil, err
	}
	project, err := bare.Project(ctx, s.project, s.config)
	if err != nil {
		return nil, explainProject(err, s.project)
	}
	if !project.GitHub {
		return nil, nil
	}
	settings := s.config.GitHub.App
	source, err := transport.NewApp(transport.AppOptions{
		APIURL: s.identity.bases.API, ServerURL: s.identity.bases.Server, ClientID: settings.ClientID, KeyFile: settings.KeyFile,
		Installation: settings.InstallationID, Repo: project.Repo.String(),
		Minted: func(token redact.Secret) {
			if err := o.Redactor.AddSecret("github-token", token); err != nil {
				o.Log.Warn("a token is not searched for in texts", "err", err)
			}
		},
	})
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("github.app: %w", err))
	}
	key, err := os.ReadFile(settings.KeyFile)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("github.app: %w", err))
	}
	return source, o.Redactor.Add("app-key", string(key))
}

// mayPush reports whether the account may write to a repository. What an App may do is
// told by its installation, not by the repository.
func (s *site) mayPush(repo ghsync.Repository) bool {
	if app, ok := s.identity.tokens.(*transport.App); ok {
		return !slices.Contains(app.Missing(), "contents:write")
	}
	return repo.CanPush
}
