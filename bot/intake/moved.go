package intake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// find asks for the repository by its id, which renames and transfers keep, and takes over its name.
// What was seen may be of another repository that has the former name now, and is forgotten.
func (p *Poller) find(ctx context.Context) error {
	r, err := p.o.Client.RepositoryByID(ctx, p.o.RepoID)
	if err != nil {
		return fmt.Errorf("find repository %d: %w", p.o.RepoID, err)
	}
	former := p.repo
	if r.Repo == former {
		return nil
	}
	p.mu.Lock()
	p.repo, p.facts.Repo = r.Repo, r.Repo
	p.mu.Unlock()
	p.lists, p.open = [everything]list{}, nil
	p.full.heard = time.Time{}
	p.full.tag.Forget()
	for _, l := range p.full.labelled {
		*l = labelled{}
	}
	p.log.Info("a repository has another name", "repo", former.String(), "now", r.Repo.String())
	if p.o.Moved != nil {
		p.o.Moved(former, r.Repo)
	}
	return nil
}

// follow finds the repository if a list calls it by another name: the server has led the read
// from its former one. A name that only lists have is not asked for twice.
func (p *Poller) follow(ctx context.Context, all []ghsync.Issue) error {
	for _, issue := range all {
		if issue.Repo == (ghsync.Repo{}) || sameRepo(issue.Repo, p.repo) || sameRepo(issue.Repo, p.alias) {
			continue
		}
		if err := p.find(ctx); err != nil {
			return err
		}
		if !sameRepo(issue.Repo, p.repo) {
			p.alias = issue.Repo
		}
	}
	return nil
}

// recovered reports whether an error came from a former name, so that the reading may be begun
// again. Otherwise it returns the error, or that of the search by the id.
func (p *Poller) recovered(ctx context.Context, err error) (bool, error) {
	if !transport.IsNotFound(err) && !transport.IsMoved(err) {
		return false, err
	}
	former := p.repo
	if lost := p.find(ctx); lost != nil {
		p.gone(transport.IsNotFound(lost))
		return false, lost
	}
	p.gone(false)
	return p.repo != former, err
}

// gone notes whether the repository is there.
func (p *Poller) gone(missing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts.Missing = missing
}

func sameRepo(a, b ghsync.Repo) bool {
	return strings.EqualFold(a.Owner, b.Owner) && strings.EqualFold(a.Name, b.Name)
}
