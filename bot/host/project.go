package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Project is the clone a session is made for, with its place on the server.
type Project struct {
	Clone gitrepo.Clone
	Host  string      // server of origin, as github.com; empty if it is none
	Repo  ghsync.Repo // of origin; zero if its address is no owner/name
	User  gitrepo.UserConfig
	// GitHub reports whether origin is on the configured server, so that issues and
	// pull requests are its.
	GitHub bool

	// Managed says that the program made the directory for itself: there is no clone in
	// it, and everything comes from the server.
	Managed bool

	repo   *gitrepo.Host
	remote *gitrepo.Remote // nil: nothing is fetched from or pushed to
	edited restored
}

// Project inspects the clone that holds dir and opens its host repository. Nothing in
// the clone changes. The error is gitrepo.ErrNotClone outside of one.
func (h *Host) Project(ctx context.Context, dir string, c *config.Config) (*Project, error) {
	return h.project(ctx, dir, c, gitrepo.Inspect)
}

// projectOf is the project of a session that was made before: what else the clone holds
// was asked then.
func (h *Host) projectOf(ctx context.Context, s *session.Session, c *config.Config) (*Project, error) {
	return h.project(ctx, s.Project(), c, h.located.find)
}

// located remembers for a moment where clones are: a process that takes up many sessions of
// one clone asks git once.
type located struct {
	mu     sync.Mutex
	clones map[string]location // by directory
	user   gitrepo.UserConfig
	userAt time.Time
}

type location struct {
	clone gitrepo.Clone
	at    time.Time
}

// locatedTime is short, because people change the address of origin.
const locatedTime = 10 * time.Second

func (l *located) find(ctx context.Context, dir string) (gitrepo.Clone, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.clones[dir]; ok && time.Since(p.at) < locatedTime {
		return p.clone, nil
	}
	clone, err := gitrepo.Locate(ctx, dir)
	if err != nil {
		return clone, err
	}
	if l.clones == nil {
		l.clones = map[string]location{}
	}
	l.clones[dir] = location{clone, time.Now()}
	return clone, nil
}

// person is who commits are made for.
func (l *located) person(ctx context.Context) (gitrepo.UserConfig, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.userAt.IsZero() && time.Since(l.userAt) < locatedTime {
		return l.user, nil
	}
	user, err := gitrepo.ReadUserConfig(ctx)
	if err == nil {
		l.user, l.userAt = user, time.Now()
	}
	return user, err
}

func (h *Host) project(
	ctx context.Context, dir string, c *config.Config, look func(context.Context, string) (gitrepo.Clone, error),
) (*Project, error) {
	if repo, ok := h.managedRepo(dir, c); ok {
		return h.Managed(ctx, repo, c)
	}
	clone, err := look(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &Project{Clone: clone}
	if p.User, err = h.located.person(ctx); err != nil {
		return nil, err
	}
	return h.openProject(ctx, p, c)
}

// Managed is the project of a repository without anybody's clone, as a bot serves it. Its
// sessions lie below the state home.
func (h *Host) Managed(ctx context.Context, repo ghsync.Repo, c *config.Config) (*Project, error) {
	dir := h.managedDir(repo, c)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make project of %s: %w", repo, err)
	}
	server := or(h.server(), "https://"+c.GitHub.Host)
	p := &Project{Managed: true, Clone: gitrepo.Clone{Root: dir, Origin: server + "/" + repo.String() + ".git"}}
	return h.openProject(ctx, p, c)
}

// managedDir is beside the repository's host repository.
func (h *Host) managedDir(repo ghsync.Repo, c *config.Config) string {
	server := strings.ReplaceAll(strings.ToLower(h.serverHost(c)), ":", "_")
	return filepath.Join(h.StateHome, server, strings.ToLower(repo.Owner), strings.ToLower(repo.Name))
}

// managedRepo is the inverse of managedDir.
func (h *Host) managedRepo(dir string, c *config.Config) (ghsync.Repo, bool) {
	repo := ghsync.Repo{Owner: filepath.Base(filepath.Dir(dir)), Name: filepath.Base(dir)}
	return repo, dir == h.managedDir(repo, c)
}

func (h *Host) openProject(ctx context.Context, p *Project, c *config.Config) (*Project, error) {
	p.Host, p.Repo = splitOrigin(p.Clone.Origin)
	if server := h.serverHost(c); overSSH(p.Clone.Origin) && strings.EqualFold(p.Host, hostName(server)) {
		p.Host = server // the port of ssh says nothing about that of https
	}
	p.GitHub = p.Repo != ghsync.Repo{} && strings.EqualFold(p.Host, h.serverHost(c))
	p.remote = h.remote(p)
	path, err := h.hostPath(p)
	if err != nil {
		return nil, err
	}
	if p.repo, err = gitrepo.OpenHost(ctx, path); err != nil {
		return p, err
	}
	for _, what := range p.repo.Mended() {
		h.Log.Warn("the host repository was damaged; what was missing is made again", "repository", path, "missing", what)
	}
	p.repo.Restored = func(file string) {
		h.Log.Warn("a file of the host repository was not as this program writes it, and was written again", "repository", path, "file", file)
		p.edited.note(filepath.Join(path, file))
	}
	return p, nil
}

// serverHost is the name of the configured server.
func (h *Host) serverHost(c *config.Config) string {
	if u, err := url.Parse(h.server()); err == nil && u.Host != "" {
		return u.Host
	}
	return c.GitHub.Host
}

// server is the address of the GitHub server, "" if only its name is known.
func (h *Host) server() string {
	if h.GitHub != nil {
		return h.GitHub.Server()
	}
	return strings.TrimSuffix(h.Server, "/")
}

// hostPath is where the project's host repository lies.
func (h *Host) hostPath(p *Project) (string, error) {
	if p.Repo != (ghsync.Repo{}) {
		server := strings.ReplaceAll(strings.ToLower(p.Host), ":", "_")
		return gitrepo.HostPath(h.StateHome, server, strings.ToLower(p.Repo.Owner), strings.ToLower(p.Repo.Name))
	}
	return gitrepo.LocalHostPath(h.StateHome, p.Clone.Root), nil
}

// remote is the repository over https, whatever the clone's own address is, because
// that is what a token is good for.
func (h *Host) remote(p *Project) *gitrepo.Remote {
	if !p.GitHub {
		return nil
	}
	server := h.server()
	if server == "" {
		server = "https://" + p.Host
	}
	r := &gitrepo.Remote{URL: server + "/" + p.Repo.String() + ".git", Config: p.User, Askpass: h.Self}
	if h.Token != nil && h.Token.Serves(r.URL) {
		r.Secret = func(ctx context.Context) (string, error) {
			token, err := h.Token.Token(ctx)
			return token.Reveal(), err
		}
	}
	return r
}

// OriginHost names the server of a clone's origin, without port; "" if it is on none.
func OriginHost(origin string) string {
	host, _ := splitOrigin(origin)
	return hostName(host)
}

// splitOrigin takes apart https://host/owner/name.git, ssh://git@host/owner/name and
// git@host:owner/name. Anything else is no repository of a server.
func splitOrigin(origin string) (host string, repo ghsync.Repo) {
	var path string
	u, err := url.Parse(origin)
	switch {
	case err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http"):
		host, path = u.Host, u.Path
	case err == nil && u.Host != "" && u.Scheme == "ssh":
		host, path = u.Hostname(), u.Path
	default:
		user, rest, ok := strings.Cut(origin, "@")
		if !ok || strings.ContainsAny(user, "/:") {
			return "", repo
		}
		host, path, _ = strings.Cut(rest, ":")
	}
	owner, name, ok := strings.Cut(strings.Trim(path, "/"), "/")
	name = strings.TrimSuffix(name, ".git")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", repo
	}
	return host, ghsync.Repo{Owner: owner, Name: name}
}

// overSSH tells an address that splitOrigin took apart from one for https.
func overSSH(origin string) bool { return !strings.HasPrefix(origin, "http") }

// hostName is a host without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// Base is the commit a session starts from.
type Base struct {
	Branch string // pull requests go there; empty if there is none
	SHA    string
	Local  bool     // taken from the clone because the person named it
	Notes  []string // what the person should know, one line each
}

// ErrNoCommit says that a clone or a repository has nothing to start from.
var ErrNoCommit = errors.New("has no commit yet")

// ErrUnknownBase says that what a person named as base is nothing.
var ErrUnknownBase = errors.New("names no branch of the server and no commit of this clone; git branch --all lists its branches")

// ErrBaseBranch says that the configured base is not a branch of the server.
var ErrBaseBranch = errors.New("is not a branch of the server; git ls-remote --heads origin lists its branches")

// ErrOffline says that the server of a managed project does not answer.
var ErrOffline = errors.New("the server was not reached")

// Base finds the commit a session starts from. named is what --base says, or empty.
func (p *Project) Base(ctx context.Context, c *config.Config, named string) (Base, error) {
	tips, online, err := p.serverTips(ctx, c, named)
	if ownCommit := named != "" && (p.remote == nil || p.remote.Secret == nil || !c.GitHub.Push); err != nil && (p.Managed || !ownCommit || ctx.Err() != nil) {
		return Base{}, err
	}
	if err := p.begun(ctx, c, tips, online); err != nil {
		return Base{}, err
	}
	if p.Managed && !online {
		return Base{}, ErrOffline
	}
	b := Base{Branch: p.baseBranch(tips, c, named)}
	if err := p.configured(ctx, c, b.Branch, tips, online); err != nil {
		return Base{}, err
	}
	if p.Managed && tips["refs/heads/"+b.Branch] == "" {
		return Base{}, fmt.Errorf("%s %w; push a first one", or(b.Branch, p.Repo.String()), ErrNoCommit)
	}
	if named != "" && tips["refs/heads/"+named] == "" && !p.tracks(ctx, named, online) {
		return p.localBase(ctx, b, named)
	}
	b.Notes = append(b.Notes, p.leftOut()...)
	if tip := tips["refs/heads/"+b.Branch]; online && tip != "" {
		b.SHA = tip
		ref := "refs/remotes/origin/" + b.Branch
		if err := p.repo.FetchRemote(ctx, *p.remote, "+refs/heads/"+b.Branch+":"+ref); err != nil {
			return Base{}, err
		}
		return b, nil
	}
	b, err = p.trackedBase(ctx, b)
	if err == nil && p.remote != nil && !online {
		b.Notes = append(b.Notes, fmt.Sprintf("the server was not reached: starting from what this clone fetched last, commit %.10s", b.SHA))
	}
	return b, err
}

// configured fails with ErrBaseBranch if the branch of the configuration is not on the server,
// or, while that is away, not among what the clone fetched from it.
func (p *Project) configured(ctx context.Context, c *config.Config, branch string, tips map[string]string, online bool) error {
	switch {
	case p.remote == nil || c.GitHub.BaseBranch == "" || branch != c.GitHub.BaseBranch || tips["refs/heads/"+branch] != "":
		return nil
	case !online:
		if _, err := p.repo.FetchClone(ctx, p.Clone.Root, "refs/remotes/origin/"+branch); !errors.Is(err, gitrepo.ErrNoCommit) {
			return err
		}
	}
	return fmt.Errorf("github.base_branch: %s %w", branch, ErrBaseBranch)
}

// begun fails with ErrNoCommit, and what to do, if the clone has no commit, or if the server
// has none and work is to be pushed there: nothing can be proposed to a branch that is not.
func (p *Project) begun(ctx context.Context, c *config.Config, tips map[string]string, online bool) error {
	if p.Managed {
		return nil
	}
	empty := online && len(tips) == 0 && p.branchless(ctx)
	switch push := "git push origin " + or(p.Clone.Branch, "HEAD:refs/heads/main"); {
	case p.Clone.Head == "" && empty:
		return fmt.Errorf("the repository %w; make a first one and push it: git commit, then %s", ErrNoCommit, push)
	case p.Clone.Head == "" && len(tips) > 0:
		return fmt.Errorf("this clone %w; git pull origin %s brings those of the server", ErrNoCommit, p.baseBranch(tips, c, ""))
	case p.Clone.Head == "":
		return fmt.Errorf("this clone %w; git commit makes a first one", ErrNoCommit)
	case empty && c.GitHub.Push && p.remote.Secret != nil:
		return fmt.Errorf("the repository %w on the server; push a first one: %s", ErrNoCommit, push)
	}
	return nil
}

// branchless reports whether the server has no branch at all.
func (p *Project) branchless(ctx context.Context) bool {
	refs, err := p.repo.RemoteRefs(ctx, *p.remote, "refs/heads/*")
	return err == nil && len(refs) == 0
}

// serverTips asks the server where its branches are; online says whether it answered. The
// error is of a server that refuses to be read: only one that was not reached is done without.
func (p *Project) serverTips(ctx context.Context, c *config.Config, named string) (tips map[string]string, online bool, err error) {
	if p.remote == nil {
		return nil, false, nil
	}
	patterns := []string{"HEAD"}
	for _, branch := range []string{named, c.GitHub.BaseBranch, p.Clone.DefaultBranch} {
		if branch != "" {
			patterns = append(patterns, "refs/heads/"+branch)
		}
	}
	refs, err := p.repo.RemoteRefs(ctx, *p.remote, patterns...)
	if err != nil {
		return nil, false, refusedRead(ctx, err)
	}
	tips = map[string]string{}
	for _, ref := range refs {
		if ref.Name == "HEAD" {
			tips["HEAD"] = ref.Target
			tips[ref.Target] = ref.ID
			continue
		}
		tips[ref.Name] = ref.ID
	}
	return tips, true, nil
}

// MayHaveBranch reports whether the server has a branch that begins with prefix, as those of an
// issue do. A server that does not tell may have one.
func (p *Project) MayHaveBranch(ctx context.Context, prefix string) bool {
	if p.remote == nil {
		return true
	}
	refs, err := p.repo.RemoteRefs(ctx, *p.remote, "refs/heads/"+prefix+"*")
	return err != nil || len(refs) > 0
}

// refusedRead returns err unless it is of a network, or of a token's maker, that may be back.
func refusedRead(ctx context.Context, err error) error {
	var read *gitrepo.RemoteError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &read) && read.Kind == gitrepo.PushNetwork, errors.As(err, new(*transport.RetryAfter)), errors.As(err, new(net.Error)):
		return nil
	}
	return err
}

// baseBranch is the branch a pull request would go to.
func (p *Project) baseBranch(tips map[string]string, c *config.Config, named string) string {
	switch {
	case named != "" && tips["refs/heads/"+named] != "":
		return named
	case c.GitHub.BaseBranch != "":
		return c.GitHub.BaseBranch
	case tips["HEAD"] != "":
		return strings.TrimPrefix(tips["HEAD"], "refs/heads/")
	case p.Clone.Origin != "" && p.Clone.DefaultBranch != "":
		return p.Clone.DefaultBranch
	}
	return p.Clone.Branch
}

// tracks reports whether a name that could not be asked for is a branch this clone
// fetched from the server.
func (p *Project) tracks(ctx context.Context, named string, online bool) bool {
	if online || p.Clone.Origin == "" || named == "HEAD" {
		return false
	}
	_, err := p.repo.FetchClone(ctx, p.Clone.Root, "refs/remotes/origin/"+named)
	return err == nil
}

// localBase starts from what a person named in the clone, pushed or not.
func (p *Project) localBase(ctx context.Context, b Base, named string) (Base, error) {
	sha, err := p.repo.FetchClone(ctx, p.Clone.Root, named)
	if errors.Is(err, gitrepo.ErrNoCommit) {
		return Base{}, fmt.Errorf("--base %s %w", named, ErrUnknownBase)
	}
	b.SHA, b.Local = sha, true
	if p.Clone.Changed > 0 {
		b.Notes = append(b.Notes, count(p.Clone.Changed, "changed file")+" not included: only commits are")
	}
	return b, err
}

// trackedBase starts from what the clone knows of the server, else from its HEAD.
func (p *Project) trackedBase(ctx context.Context, b Base) (Base, error) {
	revs := []string{"HEAD"}
	if p.Clone.Origin != "" && b.Branch != "" {
		revs = []string{"refs/remotes/origin/" + b.Branch, "HEAD"}
	}
	var err error
	for _, rev := range revs {
		if b.SHA, err = p.repo.FetchClone(ctx, p.Clone.Root, rev); !errors.Is(err, gitrepo.ErrNoCommit) {
			break
		}
	}
	return b, err
}

// leftOut names the work of the clone that is not part of the base.
func (p *Project) leftOut() []string {
	var parts []string
	if p.Clone.Changed > 0 {
		parts = append(parts, count(p.Clone.Changed, "changed file"))
	}
	if p.Clone.Unpushed > 0 && p.Clone.Origin != "" {
		parts = append(parts, count(p.Clone.Unpushed, "unpushed commit"))
	}
	if len(parts) == 0 {
		return nil
	}
	verb := " are"
	if p.Clone.Changed+p.Clone.Unpushed == 1 {
		verb = " is"
	}
	next := "use --base HEAD for the commits"
	if len(parts) == 1 && p.Clone.Changed > 0 {
		next = "only commits are"
	}
	return []string{strings.Join(parts, " and ") + verb + " not included; " + next}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
