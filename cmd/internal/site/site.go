package site

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Site is a project with everything a host needs there.
type Site struct {
	Project  string
	Config   *config.Config
	Identity account.Identity
	Host     *host.Host
	Log      *hostlog.Log
}

// Open reads the project's configuration and wires a host. Without a token the
// host does not use GitHub.
func (f *Finder) Open(ctx context.Context, log *hostlog.Log) (*Site, error) {
	project, err := f.ProjectDir()
	if err != nil {
		return nil, err
	}
	c, err := f.Config(project)
	if err != nil {
		return nil, err
	}
	id, err := f.Identity(c)
	if err != nil {
		return nil, err
	}
	s := &Site{Project: project, Config: c, Identity: id, Log: log}
	return s, f.Wire(ctx, s, log, true)
}

// Wire makes the host; github false leaves GitHub alone.
func (f *Finder) Wire(ctx context.Context, s *Site, log io.Writer, github bool) error {
	own, err := Self()
	if err != nil {
		return err
	}
	redactor := f.Redactor()
	logger := f.logger(log, s.Config.Log.Level)
	o := host.Options{
		Self: own, StateHome: StateHome(), RuntimeDir: RuntimeDir(), Home: home(), Log: logger, Redactor: redactor,
		Server: s.Identity.Bases.Server, ReadOnly: !github && s.Identity.Tokens != nil,
	}
	if github {
		if err := s.useGitHub(ctx, &o); err != nil {
			return err
		}
	}
	s.Host, err = host.New(o)
	return err
}

// useGitHub gives the host the site's account, if there is one, and its redactor the
// account's secrets.
func (s *Site) useGitHub(ctx context.Context, o *host.Options) (err error) {
	if account.ActsAsApp(s.Config) {
		if err := s.useApp(ctx, *o); err != nil {
			return err
		}
	}
	if s.Identity.Tokens == nil {
		return nil
	}
	if o.GitHub, err = s.Identity.Client(o.Log); err != nil {
		return exit.Usage(fmt.Errorf("%w; see github.host, and GITHUB_API_URL, GITHUB_GRAPHQL_URL and GITHUB_SERVER_URL", err))
	}
	o.Token = s.Identity.Tokens
	if o.Token.Mode() == transport.ModeApp {
		return nil // it tells of each token it makes
	}
	token, err := o.Token.Token(ctx)
	if err != nil {
		return err
	}
	if err := o.Redactor.AddSecret("github-token", token); err != nil {
		_, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%w; %s", &account.TokenError{From: s.Identity.From}, hint))
	}
	return nil
}

// ProjectOf is the project that a session lies in.
func ProjectOf(e session.Entry) string { return filepath.Dir(filepath.Dir(filepath.Dir(e.Dir))) }

// SiteOf is the site of a session's project.
func (f *Finder) SiteOf(ctx context.Context, e session.Entry) (*Site, error) {
	f.Project = ProjectOf(e)
	return f.Open(ctx, &hostlog.Log{Terminal: f.Err})
}

// Cleaner is a site that leaves GitHub alone.
func (f *Finder) Cleaner(ctx context.Context) (*Site, error) {
	project, err := f.ProjectDir()
	if err != nil {
		return nil, err
	}
	c, err := f.Config(project)
	if err != nil {
		return nil, err
	}
	bases, err := account.Settle(c)
	if err != nil {
		return nil, badSettings(err)
	}
	s := &Site{Project: project, Config: c, Identity: account.Identity{Bases: bases}}
	return s, f.Wire(ctx, s, io.Discard, false)
}

// useApp makes the site act as the configured App, in the repository of its project. o is the
// host's options without GitHub.
func (s *Site) useApp(ctx context.Context, o host.Options) error {
	bare, err := host.New(o)
	if err != nil {
		return err
	}
	project, err := bare.Project(ctx, s.Project, s.Config)
	if err != nil {
		return ExplainProject(err, s.Project)
	}
	s.Identity.Tokens = nil
	if !project.GitHub {
		return nil
	}
	s.Identity.Tokens, err = account.NewApp(account.AppSpec{
		Settings: s.Config.GitHub.App, Bases: s.Identity.Bases, Repo: project.Repo, Redactor: o.Redactor, Log: o.Log,
	})
	return badSettings(err)
}

// Identity is the account that the configuration names.
func (f *Finder) Identity(c *config.Config) (account.Identity, error) {
	id, err := f.Tokens.Identity(c)
	return id, badSettings(err)
}

// badSettings makes what a configuration lacks an error of its own kind.
func badSettings(err error) error {
	if exit.As[*account.SettingsError](err) {
		return exit.Usage(err)
	}
	return err
}
