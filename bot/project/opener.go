package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// Opener opens projects.
type Opener struct {
	Self      string // absolute path of this program, which git asks for the token
	StateHome string // managed projects, and stores
	Stores    string // stores of repositories of servers, where that is another directory; others share them
	Server    string // address of the GitHub server; empty = the configured host's
	GitHub    *ghsync.Client
	Token     transport.TokenSource // nil = no push
	Log       *slog.Logger
	Located   *Located
	Locate    Locate // nil = a name leads where it leads
}

// Locate returns what a repository is called now, see [remote.Repository].
type Locate func(ctx context.Context, repo ghsync.Repo, ask bool) (ghsync.Repo, error)

// Open inspects the clone that holds dir and opens its store. Nothing in
// the clone changes. The error is clone.ErrNotClone outside of one. Neither the agents file of the
// configuration nor the files in own count as changed while git does not track them.
func (h Opener) Open(ctx context.Context, dir string, c *config.Config, own ...string) (*Project, error) {
	return h.open(ctx, dir, c, func(ctx context.Context, dir string) (clone.Clone, error) {
		return clone.Inspect(ctx, dir, append(own, c.Agents.File)...)
	})
}

// Reopen is Open for the project of an existing session. It only finds root and origin of the
// clone; the rest was inspected when the session was made.
func (h Opener) Reopen(ctx context.Context, dir string, c *config.Config) (*Project, error) {
	return h.open(ctx, dir, c, h.Located.find)
}

// OpenStore is Open for callers that need only the store.
func (h Opener) OpenStore(ctx context.Context, dir string, c *config.Config) (*Project, error) {
	return h.open(ctx, dir, c, clone.Locate)
}

func (h Opener) open(
	ctx context.Context, dir string, c *config.Config, look func(context.Context, string) (clone.Clone, error),
) (*Project, error) {
	if repo, ok := h.ManagedRepo(dir, c); ok {
		return h.Managed(ctx, repo, c)
	}
	clone, err := look(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &Project{Clone: clone}
	if p.User, err = h.Located.person(ctx); err != nil {
		return nil, err
	}
	return h.openProject(ctx, p, c)
}

// Managed returns the project of a repository without a person's clone, as a bot serves it. Its
// sessions are below the state home.
func (h Opener) Managed(ctx context.Context, repo ghsync.Repo, c *config.Config) (*Project, error) {
	return h.ManagedIn(ctx, h.ManagedDir(repo, c), repo, c)
}

// ManagedIn is Managed for the project in dir. repo is what to call the repository if dir does not
// say it.
func (h Opener) ManagedIn(ctx context.Context, dir string, repo ghsync.Repo, c *config.Config) (*Project, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make project of %s: %w", repo, err)
	}
	names, err := ReadNames(dir)
	switch {
	case err == nil && names.Now() != ghsync.Repo{}:
		repo = names.Now()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	user, err := h.Located.person(ctx)
	if err != nil {
		return nil, err
	}
	user.Name, user.Mail = "", "" // the commits are the account's; the way to the server is the machine's
	server := cmp.Or(h.server(), "https://"+c.GitHub.Host)
	p := &Project{Managed: true, User: user, Clone: clone.Clone{Root: dir, Origin: server + "/" + repo.String() + ".git"}}
	if p, err = h.openProject(ctx, p, c); err == nil {
		h.takeIn(ctx, p, names)
	}
	return p, err
}

// ManagedDir is the directory of a repository's managed project, beside its store. It need not
// exist.
func (h Opener) ManagedDir(repo ghsync.Repo, c *config.Config) string {
	server := strings.ReplaceAll(strings.ToLower(h.ServerName(c)), ":", "_")
	return filepath.Join(h.StateHome, server, strings.ToLower(repo.Owner), strings.ToLower(repo.Name))
}

// ManagedRepo is the inverse of ManagedDir.
func (h Opener) ManagedRepo(dir string, c *config.Config) (ghsync.Repo, bool) {
	repo := ghsync.Repo{Owner: filepath.Base(filepath.Dir(dir)), Name: filepath.Base(dir)}
	return repo, dir == h.ManagedDir(repo, c)
}

func (h Opener) openProject(ctx context.Context, p *Project, c *config.Config) (*Project, error) {
	p.stateHome = h.StateHome
	p.Host, p.Repo = splitOrigin(p.Clone.Origin)
	if server := h.ServerName(c); overSSH(p.Clone.Origin) && strings.EqualFold(p.Host, hostName(server)) {
		p.Host = server // the port of ssh says nothing about that of https
	}
	p.GitHub = p.Repo != ghsync.Repo{} && strings.EqualFold(p.Host, h.ServerName(c))
	h.Connect(p)
	path, err := h.storePath(p)
	if err != nil {
		return nil, err
	}
	if p.Store, err = gitrepo.Open(ctx, path); err != nil {
		return p, err
	}
	if h.Located != nil {
		h.Located.share(p.Store)
	}
	for _, what := range p.Store.Mended() {
		h.Log.Warn("the host repository was damaged; what was missing is made again", "repository", path, "missing", what)
	}
	p.Store.Restored = func(file string) {
		h.Log.Warn("a file of the host repository was not as this program writes it, and was written again", "repository", path, "file", file)
		p.Edited.note(filepath.Join(path, file))
	}
	return p, nil
}

// ServerName is the name of the configured server.
func (h Opener) ServerName(c *config.Config) string {
	if u, err := url.Parse(h.server()); err == nil && u.Host != "" {
		return u.Host
	}
	return c.GitHub.Host
}

// server is the address of the GitHub server, "" if only its name is known.
func (h Opener) server() string {
	if h.GitHub != nil {
		return h.GitHub.Server()
	}
	return strings.TrimSuffix(h.Server, "/")
}

// storePath returns the path of the project's store. That of a managed project has the names of its
// directory, which stay when the repository gets another one: sessions need what is in it.
func (h Opener) storePath(p *Project) (string, error) {
	if p.Managed {
		owner := filepath.Dir(p.Clone.Root)
		return gitrepo.StorePath(cmp.Or(h.Stores, h.StateHome), filepath.Base(filepath.Dir(owner)), filepath.Base(owner), filepath.Base(p.Clone.Root))
	}
	if p.Repo != (ghsync.Repo{}) {
		server := strings.ReplaceAll(strings.ToLower(p.Host), ":", "_")
		return gitrepo.StorePath(cmp.Or(h.Stores, h.StateHome), server, strings.ToLower(p.Repo.Owner), strings.ToLower(p.Repo.Name))
	}
	return gitrepo.LocalStorePath(h.StateHome, p.Clone.Root), nil
}

// Connect has the project reach its repository on the server as this opener does. It is for a
// project that was opened before the account was known.
func (h Opener) Connect(p *Project) { p.Remote = h.remote(p) }

// Repository returns a repository of the server as this opener reaches it.
func (h Opener) Repository(ctx context.Context, repo ghsync.Repo) (remote.Repository, error) {
	user, err := h.Located.person(ctx)
	if err != nil {
		return remote.Repository{}, err
	}
	return h.reach(h.server(), repo, user), nil
}

// remote returns the repository over https, whatever the clone's own address is, because a token
// only works over https.
func (h Opener) remote(p *Project) *remote.Repository {
	if !p.GitHub {
		return nil
	}
	r := h.reach(cmp.Or(h.server(), "https://"+p.Host), p.Repo, p.User)
	return &r
}

func (h Opener) reach(server string, repo ghsync.Repo, user remote.UserConfig) remote.Repository {
	r := remote.Repository{URL: server + "/" + repo.String() + ".git", Config: user, Askpass: h.Self}
	if h.Locate != nil {
		r.Locate = func(ctx context.Context, ask bool) (string, error) {
			now, err := h.Locate(ctx, repo, ask)
			if transport.IsNotFound(err) {
				err = &remote.GoneError{Err: err}
			}
			return server + "/" + now.String() + ".git", err
		}
	}
	if h.Token != nil && h.Token.Serves(r.URL) {
		r.Secret = func(ctx context.Context) (string, error) {
			token, err := h.Token.Token(ctx)
			return token.Reveal(), err
		}
	}
	return r
}
