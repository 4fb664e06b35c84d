package site

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/ghsync/sight"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Site is a project with everything a host needs there. Each part was read once, in this process
// or by its launcher.
type Site struct {
	Project  string
	Config   *config.Config
	Identity account.Identity
	Host     *host.Host
	Log      *hostlog.Log
	Take     bool // although another host has the claim, if that host is gone

	opened  *project.Project // by OpenProject
	located project.Located  // what was found of clones, for every host of this site
	handed  bool             // the launcher has looked into the clone
}

// Open reads the project's configuration and wires a host. Without a token the
// host does not use GitHub.
func (f *Finder) Open(ctx context.Context, log *hostlog.Log) (*Site, error) {
	s, err := f.read()
	if err != nil {
		return nil, err
	}
	return s, f.Connect(ctx, s, log)
}

// Cleaner returns a site that does not use GitHub. Connect changes that.
func (f *Finder) Cleaner(ctx context.Context) (*Site, error) {
	s, err := f.read()
	if err != nil {
		return nil, err
	}
	bases, err := account.Settle(s.Config)
	if err != nil {
		return nil, badSettings(err)
	}
	s.Identity = account.Identity{Bases: bases}
	return s, f.Wire(ctx, s, io.Discard, false)
}

// read returns a site with its configuration.
func (f *Finder) read() (*Site, error) {
	dir, err := f.ProjectDir()
	if err != nil {
		return nil, err
	}
	c, err := f.Config(dir)
	if err != nil {
		return nil, err
	}
	return &Site{Project: dir, Config: c}, nil
}

// Connect finds the account of a site and wires a host that uses it and writes to the log.
func (f *Finder) Connect(ctx context.Context, s *Site, log *hostlog.Log) (err error) {
	if s.Identity, err = f.Identity(s.Config); err != nil {
		return err
	}
	s.Log = log
	return f.Wire(ctx, s, log, true)
}

// OpenProject opens the project of the site at its first call. ExplainProject words the error. Files in own do not count as
// changed, see [clone.Inspect].
func (s *Site) OpenProject(ctx context.Context, own ...string) (*project.Project, error) {
	if s.opened == nil {
		p, err := s.Host.Project(ctx, s.Project, s.Config, own...)
		if err != nil {
			return p, err
		}
		s.keep(p)
	}
	return s.opened, nil
}

// keep lets the hosts of the site use what was found of the clone.
func (s *Site) keep(p *project.Project) {
	s.opened = p
	if found := p.Found(); found != nil {
		s.located.Know(found.Root, *found)
		s.located.Know(s.Project, *found)
	}
}

// Wire makes the host of the site. Without github the host does not use GitHub.
func (f *Finder) Wire(ctx context.Context, s *Site, log io.Writer, github bool) error {
	program, err := f.program()
	if err != nil {
		return err
	}
	redactor := f.Redactor()
	logger := f.Logger(log, s.Config.Log.Level)
	o := host.Options{
		Self: program, StateHome: StateHome(), RuntimeDir: RuntimeDir(), Home: Home(), Log: logger, Redactor: redactor,
		Server: s.Identity.Bases.Server, ReadOnly: !github && s.Identity.Tokens != nil, Located: &s.located,
		Reach: sight.TokensAt(s.Identity.Bases, f.Now).Private,
	}
	if github {
		if err := s.useGitHub(ctx, &o); err != nil {
			return err
		}
	}
	if s.Host, err = host.New(o); err == nil && github && s.opened != nil {
		s.Host.Connect(s.opened) // it was opened to make the account
	}
	return err
}

// program returns the path of what runs in panes.
func (f *Finder) program() (string, error) {
	if f.Panes != "" {
		return f.Panes, nil
	}
	return Self()
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
		return nil // it reports each token it makes
	}
	token, err := o.Token.Token(ctx)
	if err != nil {
		return err
	}
	if err := o.Redactor.AddToken(token); err != nil {
		_, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%w; %s", &account.TokenError{From: s.Identity.From}, hint))
	}
	return nil
}

// ProjectOf returns the directory of a session's project.
func ProjectOf(e session.Entry) string { return filepath.Dir(filepath.Dir(filepath.Dir(e.Dir))) }

// SiteOf opens the site of a session's project, for the session.
func (f *Finder) SiteOf(ctx context.Context, e session.Entry) (*Site, error) {
	f.Project = ProjectOf(e)
	s, err := f.Open(ctx, &hostlog.Log{Terminal: f.Err})
	if err == nil {
		err = f.AtBase(ctx, s, e.State)
	}
	return s, err
}

// AtBase gives the site of a managed project, which holds no files of its own, the configuration
// of the commit that a session began with. It changes nothing for a clone.
func (f *Finder) AtBase(ctx context.Context, s *Site, state *orchestrator.State) error {
	if _, managed := project.ManagedAt(StateHome(), s.Project); !managed || state == nil || state.BaseSHA == "" {
		return nil
	}
	p, err := s.OpenProject(ctx)
	if err != nil {
		return ExplainProject(err, s.Project)
	}
	sources := f.Sources("")
	if sources.Project, err = p.Files(ctx, state.BaseSHA); err != nil {
		return fmt.Errorf("read the configuration of %s: %w", state.BaseSHA, err)
	}
	s.Config, err = f.load(sources)
	return err
}

// useApp makes the site act as the configured App, in the repository of its project. o are the
// options of the host without GitHub.
func (s *Site) useApp(ctx context.Context, o host.Options) error {
	bare, err := host.New(o)
	if err != nil {
		return err
	}
	var p *project.Project
	if s.handed {
		p, err = bare.Reopen(ctx, s.Project, s.Config)
	} else {
		p, err = bare.Project(ctx, s.Project, s.Config)
	}
	if err != nil {
		return ExplainProject(err, s.Project)
	}
	s.Identity.Tokens = nil
	if p.GitHub {
		s.Identity.Tokens, err = account.NewApp(account.AppSpec{
			Settings: s.Config.GitHub.App, Bases: s.Identity.Bases, Repo: p.Repo, Redactor: o.Redactor, Log: o.Log,
		})
	}
	s.keep(p)
	return badSettings(err)
}

// Identity returns the account that the configuration names.
func (f *Finder) Identity(c *config.Config) (account.Identity, error) {
	id, err := f.Tokens.Identity(c)
	return id, badSettings(err)
}

// badSettings turns an *account.SettingsError into a usage error.
func badSettings(err error) error {
	if exit.As[*account.SettingsError](err) {
		return exit.Usage(err)
	}
	return err
}
