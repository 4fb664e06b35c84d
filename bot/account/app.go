package account

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// ActsAsApp reports whether the configuration names a GitHub App as the account. In a job the
// account is that of the job, unless the configuration says otherwise.
func ActsAsApp(c *config.Config) bool {
	return c.GitHub.Auth == "app" || c.GitHub.Auth == "auto" && c.GitHub.App.KeyFile != "" && !actsAsJob(c)
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
	return newApp(installation.Options{Repo: o.Repo.String(), Minted: newKeeper(o.Redactor, o.Log, time.Now).minted}, o.Settings, o.Bases, o.Redactor)
}

// newApp completes the options with what the configuration says of the App.
func newApp(o installation.Options, c config.App, at transport.Addresses, r *redact.Redactor) (*installation.Installation, error) {
	o.APIURL, o.ServerURL, o.ClientID, o.KeyFile, o.ID = at.API, at.Server, c.ClientID, c.KeyFile, c.InstallationID
	source, err := installation.New(o)
	if err != nil {
		return nil, settingsErr(fmt.Errorf("github.app: %w", err))
	}
	key, err := os.ReadFile(c.KeyFile)
	if err != nil {
		return nil, settingsErr(fmt.Errorf("github.app: %w", err))
	}
	return source, r.Add("app-key", string(key))
}

// MayPush reports whether the account may write to a repository. The rights of an App are those
// of its installation, not what the repository shows.
func (id Identity) MayPush(repo ghsync.Repository) bool {
	if app, ok := id.Tokens.(*installation.Installation); ok {
		return !slices.Contains(app.Missing(), "contents:write")
	}
	return repo.CanPush
}
