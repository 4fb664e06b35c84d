package ghsync

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// Repo names a repository.
type Repo struct {
	Owner, Name string
}

func (r Repo) String() string { return r.Owner + "/" + r.Name }

// path is the API path of the repository, with more behind it.
func (r Repo) path(format string, args ...any) string {
	return fmt.Sprintf("repos/%s/%s", r.Owner, r.Name) + fmt.Sprintf(format, args...)
}

// Repository is what the program needs to know of one.
type Repository struct {
	Repo
	ID                         int64
	DefaultBranch              string
	Private, Fork              bool
	Archived, Disabled         bool
	HasIssues                  bool
	ParentOwner, ParentName    string // of a fork
	ParentID                   int64
	HTMLURL, CloneURL          string
	CanPush, CanAdmin, CanRead bool // this identity
	// AccessUntold is true for a token of an App's installation, such as a workflow's own
	// token. It belongs to no account with a role, so the server names none; the first write
	// shows what the token may do. CanPush and CanRead are true then.
	AccessUntold bool
}

// Repository reads a repository. A renamed one is followed; the result has its new name.
func (c *Client) Repository(ctx context.Context, owner, name string) (Repository, error) {
	r, resp, err := api(c).Repositories.Get(ctx, owner, name)
	if err != nil {
		return Repository{}, served(c, resp, err)
	}
	return c.withAccess(ctx, r)
}

// withAccess asks what this identity may do where the server's answer does not say it.
func (c *Client) withAccess(ctx context.Context, r *github.Repository) (Repository, error) {
	repo := toRepository(r)
	c.mu.Lock()
	known := c.viewer
	c.mu.Unlock()
	if known != nil && !known.IsPerson() && !repo.CanPush {
		repo.CanRead, repo.CanPush, repo.AccessUntold = true, true, true
		return repo, nil
	}
	if r.Permissions != nil {
		return repo, nil
	}
	viewer, err := c.Viewer(ctx)
	if err != nil {
		return repo, unlessFinal(err)
	}
	p, err := c.Permission(ctx, repo.Repo, viewer.Login)
	if err != nil {
		return repo, unlessFinal(err)
	}
	repo.CanRead, repo.CanPush, repo.CanAdmin = p.Level >= LevelRead, p.Write(), p.Level == LevelAdmin
	return repo, nil
}

// unlessFinal drops an error that waiting does not cure: such an account may do nothing here.
func unlessFinal(err error) error {
	if _, later := transport.Later(err); !later {
		return nil
	}
	return err
}

// RepositoryByID reads a repository by its id, which survives renames and transfers.
func (c *Client) RepositoryByID(ctx context.Context, id int64) (Repository, error) {
	r, resp, err := api(c).Repositories.GetByID(ctx, id)
	if err != nil {
		return Repository{}, served(c, resp, err)
	}
	return toRepository(r), nil
}

func toRepository(r *github.Repository) Repository {
	can := r.GetPermissions()
	return Repository{
		Repo: Repo{Owner: r.GetOwner().GetLogin(), Name: r.GetName()}, ID: r.GetID(),
		DefaultBranch: r.GetDefaultBranch(), Private: r.GetPrivate(), Fork: r.GetFork(),
		Archived: r.GetArchived(), Disabled: r.GetDisabled(), HasIssues: r.GetHasIssues(),
		ParentOwner: r.GetParent().GetOwner().GetLogin(), ParentName: r.GetParent().GetName(), ParentID: r.GetParent().GetID(),
		HTMLURL: r.GetHTMLURL(), CloneURL: r.GetCloneURL(),
		CanPush: can["push"] || can["maintain"] || can["admin"], CanAdmin: can["admin"], CanRead: can["pull"],
	}
}
