package account

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// ActsAsApp reports whether the configuration names a GitHub App as the account.
func ActsAsApp(c *config.Config) bool {
	return c.GitHub.Auth == "app" || c.GitHub.Auth == "auto" && c.GitHub.App.KeyFile != ""
}

// checkApp fails when the configuration lacks a setting of the App.
func checkApp(c config.App) error {
	switch {
	case c.ClientID == "":
		return settingsErr(errors.New("github.auth: app needs github.app.client_id, which the App's page on GitHub shows"))
	case c.KeyFile == "":
		return settingsErr(errors.New("github.auth: app needs github.app.key_file, the private key that the App's page on GitHub makes"))
	}
	return nil
}

// AppSpec is what the token source of an App needs. The redactor gets the key at once and each
// token before its first use.
type AppSpec struct {
	Settings config.App
	Bases    transport.Addresses
	Repo     ghsync.Repo // the only one that the tokens are valid for
	Redactor *redact.Redactor
	Log      *slog.Logger
}

// NewApp returns the token source of a configured App.
func NewApp(o AppSpec) (transport.TokenSource, error) {
	source, err := transport.NewApp(transport.AppOptions{
		APIURL: o.Bases.API, ServerURL: o.Bases.Server, ClientID: o.Settings.ClientID, KeyFile: o.Settings.KeyFile,
		Installation: o.Settings.InstallationID, Repo: o.Repo.String(),
		Minted: func(token redact.Secret) {
			if err := o.Redactor.AddSecret("github-token", token); err != nil {
				o.Log.Warn("a token is not searched for in texts", "err", err)
			}
		},
	})
	if err != nil {
		return nil, settingsErr(fmt.Errorf("github.app: %w", err))
	}
	key, err := os.ReadFile(o.Settings.KeyFile)
	if err != nil {
		return nil, settingsErr(fmt.Errorf("github.app: %w", err))
	}
	return source, o.Redactor.Add("app-key", string(key))
}

// MayPush reports whether the account may write to a repository. The rights of an App are those
// of its installation, not what the repository shows.
func (id Identity) MayPush(repo ghsync.Repository) bool {
	if app, ok := id.Tokens.(*transport.App); ok {
		return !slices.Contains(app.Missing(), "contents:write")
	}
	return repo.CanPush
}
