package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// Base is the commit a session starts from.
type Base struct {
	Branch string // the base of pull requests; may be empty
	SHA    string
	Local  bool     // taken from the clone because the person named it
	Notes  []string // what the person should know, one line each
}

// ErrNoCommit says that a clone or a repository has nothing to start from.
var ErrNoCommit = errors.New("has no commit yet")

// ErrUnknownBase says that the base a person named does not exist.
var ErrUnknownBase = errors.New("names no branch of the server and no commit of this clone; git branch --all lists its branches")

// ErrBaseBranch says that the configured base is not a branch of the server.
var ErrBaseBranch = errors.New("is not a branch of the server; git ls-remote --heads origin lists its branches")

// ErrOffline says that the server of a managed project does not answer.
var ErrOffline = errors.New("the server was not reached")

// Base finds the commit a session starts from. named is what --base says, or empty.
func (p *Project) Base(ctx context.Context, c *config.Config, named string) (Base, error) {
	if err := p.remake(ctx); err != nil {
		return Base{}, err
	}
	tips, online, err := p.serverTips(ctx, c, named)
	if ownCommit := named != "" && (p.Remote == nil || p.Remote.Secret == nil || !c.GitHub.Push); err != nil && (p.Managed || !ownCommit || ctx.Err() != nil) {
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
		return Base{}, fmt.Errorf("%s %w; push a first one", cmp.Or(b.Branch, p.Repo.String()), ErrNoCommit)
	}
	if named != "" && tips["refs/heads/"+named] == "" && !p.tracks(ctx, named, online) {
		return p.localBase(ctx, b, named)
	}
	if tip := tips["refs/heads/"+b.Branch]; online && tip != "" {
		b.SHA = tip
		ref := "refs/remotes/origin/" + b.Branch
		if err := p.Remote.Fetch(ctx, p.Store, "+refs/heads/"+b.Branch+":"+ref); err != nil {
			return Base{}, err
		}
		b.Notes = p.leftOut(true)
		return b, nil
	}
	b, tracked, err := p.trackedBase(ctx, b)
	b.Notes = p.leftOut(tracked)
	if err == nil && p.Remote != nil && !online {
		from := "what this clone fetched last"
		if !tracked {
			from = "the HEAD of this clone, which has fetched nothing of " + b.Branch
		}
		b.Notes = append(b.Notes, fmt.Sprintf("the server was not reached: starting from %s, commit %.10s", from, b.SHA))
	}
	return b, err
}

// configured fails with ErrBaseBranch if the configured branch is not on the server. Without
// the server it looks for the branch among what the clone fetched.
func (p *Project) configured(ctx context.Context, c *config.Config, branch string, tips map[string]string, online bool) error {
	switch {
	case p.Remote == nil || c.GitHub.BaseBranch == "" || branch != c.GitHub.BaseBranch || tips["refs/heads/"+branch] != "":
		return nil
	case !online:
		if _, err := p.Store.FetchClone(ctx, p.Clone.Root, "refs/remotes/origin/"+branch); !errors.Is(err, gitrepo.ErrNoCommit) {
			return err
		}
	}
	return fmt.Errorf("github.base_branch: %s %w", branch, ErrBaseBranch)
}

// begun fails with ErrNoCommit, and what to do, if the clone has no commit, or if work is to be
// pushed to a server that has none: a pull request needs a base branch.
func (p *Project) begun(ctx context.Context, c *config.Config, tips map[string]string, online bool) error {
	if p.Managed {
		return nil
	}
	empty := online && len(tips) == 0 && p.branchless(ctx)
	switch push := "git push origin " + cmp.Or(p.Clone.Branch, "HEAD:refs/heads/main"); {
	case p.Clone.Head == "" && empty:
		return fmt.Errorf("the repository %w; make a first one and push it: git commit, then %s", ErrNoCommit, push)
	case p.Clone.Head == "" && len(tips) > 0:
		return fmt.Errorf("this clone %w; git pull origin %s brings those of the server", ErrNoCommit, p.baseBranch(tips, c, ""))
	case p.Clone.Head == "":
		return fmt.Errorf("this clone %w; git commit makes a first one", ErrNoCommit)
	case empty && c.GitHub.Push && p.Remote.Secret != nil:
		return fmt.Errorf("the repository %w on the server; push a first one: %s", ErrNoCommit, push)
	}
	return nil
}

// branchless reports whether the server has no branch at all.
func (p *Project) branchless(ctx context.Context) bool {
	refs, err := p.Remote.Refs(ctx, p.Store, "refs/heads/*")
	return err == nil && len(refs) == 0
}

// serverTips asks the server for the tips of its branches; online reports whether it answered.
// A server that cannot be reached is not an error, one that refuses is.
func (p *Project) serverTips(ctx context.Context, c *config.Config, named string) (tips map[string]string, online bool, err error) {
	if p.Remote == nil {
		return nil, false, nil
	}
	patterns := []string{"HEAD"}
	for _, branch := range []string{named, c.GitHub.BaseBranch, p.Clone.DefaultBranch} {
		if branch != "" {
			patterns = append(patterns, "refs/heads/"+branch)
		}
	}
	refs, err := p.Remote.Refs(ctx, p.Store, patterns...)
	if err != nil {
		refused := refusedRead(ctx, err)
		if refused == nil && p.Managed { // no person is there to read a note
			refused = fmt.Errorf("%w: %w", ErrOffline, err)
		}
		return nil, false, refused
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

// MayHaveBranch reports whether the server has a branch that begins with prefix, as the branches
// of an issue do. It returns true if the server does not answer.
func (p *Project) MayHaveBranch(ctx context.Context, prefix string) bool {
	if p.Remote == nil {
		return true
	}
	refs, err := p.Remote.Refs(ctx, p.Store, "refs/heads/"+prefix+"*")
	return err != nil || len(refs) > 0
}

// refusedRead returns err unless a later try may succeed: the network, or the source of the token,
// was not reached.
func refusedRead(ctx context.Context, err error) error {
	var read *remote.ReadError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &read) && read.Kind == remote.PushNetwork, errors.As(err, new(*transport.RetryAfter)), errors.As(err, new(net.Error)):
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
	_, err := p.Store.FetchClone(ctx, p.Clone.Root, "refs/remotes/origin/"+named)
	return err == nil
}

// localBase starts from what a person named in the clone, pushed or not.
func (p *Project) localBase(ctx context.Context, b Base, named string) (Base, error) {
	sha, err := p.Store.FetchClone(ctx, p.Clone.Root, named)
	if errors.Is(err, gitrepo.ErrNoCommit) {
		return Base{}, fmt.Errorf("--base %s %w", named, ErrUnknownBase)
	}
	b.SHA, b.Local = sha, true
	if p.Clone.Changed > 0 {
		b.Notes = append(b.Notes, count(p.Clone.Changed, "changed file")+" not included: only commits are")
	}
	return b, err
}

// trackedBase starts from what the clone knows of the server, else, with tracked false, from its HEAD.
func (p *Project) trackedBase(ctx context.Context, b Base) (_ Base, tracked bool, err error) {
	if p.Clone.Origin != "" && b.Branch != "" {
		if b.SHA, err = p.Store.FetchClone(ctx, p.Clone.Root, "refs/remotes/origin/"+b.Branch); !errors.Is(err, gitrepo.ErrNoCommit) {
			return b, true, err
		}
	}
	b.SHA, err = p.Store.FetchClone(ctx, p.Clone.Root, "HEAD")
	return b, false, err
}

// leftOut names the work of the clone that is not part of a base, which is of the server or the clone's HEAD.
func (p *Project) leftOut(ofServer bool) []string {
	var parts []string
	if p.Clone.Changed > 0 {
		parts = append(parts, count(p.Clone.Changed, "changed file"))
	}
	unpushed := 0
	if ofServer && p.Clone.Origin != "" {
		unpushed = p.Clone.Unpushed
	}
	if unpushed > 0 {
		parts = append(parts, count(unpushed, "unpushed commit"))
	}
	if len(parts) == 0 {
		return nil
	}
	verb := " are"
	if p.Clone.Changed+unpushed == 1 {
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

// BranchTaken reports whether a branch exists already, here or on the server.
func (p *Project) BranchTaken(ctx context.Context, branch string) bool {
	ref := "refs/heads/" + branch
	if !p.Managed {
		if _, err := p.Store.FetchClone(ctx, p.Clone.Root, ref); err == nil {
			return true
		}
	}
	if p.Remote == nil {
		return false
	}
	refs, err := p.Remote.Refs(ctx, p.Store, ref)
	return err == nil && len(refs) > 0
}
