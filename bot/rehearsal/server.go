package rehearsal

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// Server returns a server for a mirror that reads from s; its writes go to w.
func (w *Writes) Server(s mirror.Server) mirror.Server {
	return mirror.Server{Comments: comments{w, s.Comments}, Labels: labels{w, s.Place}, Place: s.Place, Verdicts: verdicts{w}}
}

// Pulls returns the writes of pull requests of a client; they go to w.
func (w *Writes) Pulls(c *ghsync.Client) ghsync.PullWrites { return pulls{w, c} }

type comments struct {
	w      *Writes
	server mirror.Comments
}

func (c comments) Create(_ context.Context, repo ghsync.Repo, on int, body markdown.Text) (id, author int64, err error) {
	marker, _ := ghsync.ParseMarker(body.String())
	c.w.request(http.MethodPost, repo, "issues/"+numbered(on)+"/comments", "comment: "+marker.Kind)
	return c.w.id(), 0, nil
}

func (c comments) Edit(_ context.Context, repo ghsync.Repo, id int64, _ markdown.Text) error {
	c.w.request(http.MethodPatch, repo, "issues/comments/"+identified(id), "the status comment")
	return nil
}

func (c comments) Delete(_ context.Context, repo ghsync.Repo, id int64) error {
	c.w.request(http.MethodDelete, repo, "issues/comments/"+identified(id), "")
	return nil
}

func (c comments) Since(ctx context.Context, repo ghsync.Repo, on int, since time.Time) ([]ghsync.Comment, error) {
	if on >= madeNumber {
		return nil, nil
	}
	return c.server.Since(ctx, repo, on, since)
}

type labels struct {
	w     *Writes
	place mirror.Place
}

// AddLabel returns the new label beside those of the issue. If the issue cannot be read, no
// label is known that would be removed.
func (l labels) AddLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) ([]string, error) {
	l.w.request(http.MethodPost, repo, "issues/"+numbered(issue)+"/labels", "label "+name)
	has, err := l.place.Issue(ctx, repo, issue)
	if err != nil {
		return []string{name}, nil
	}
	return append(has.Labels, name), nil
}

func (l labels) RemoveLabel(_ context.Context, repo ghsync.Repo, issue int, name string) error {
	l.w.request(http.MethodDelete, repo, "issues/"+numbered(issue)+"/labels/"+name, "label "+name+" comes off")
	return nil
}

type verdicts struct{ w *Writes }

// CommitStatus does not name the commit, which is not made yet.
func (v verdicts) CommitStatus(_ context.Context, repo ghsync.Repo, _ string, state ghsync.CommitState, _, _ string) error {
	v.w.request(http.MethodPost, repo, "statuses/{commit}", "commit status "+ghsync.ReviewContext+": "+string(state))
	return nil
}

type pulls struct {
	w *Writes
	c *ghsync.Client
}

// Open returns a pull request of the account that would open it. An App cannot ask everywhere
// who it is; the pull request then has no author.
func (p pulls) Open(ctx context.Context, repo ghsync.Repo, draft ghsync.PullDraft) (ghsync.OpenedPull, error) {
	p.w.request(http.MethodPost, repo, "pulls", fmt.Sprintf("draft pull request against %s: %s", draft.Base, draft.Title))
	author, err := p.c.Viewer(ctx)
	if _, later := transport.Later(err); later {
		return ghsync.OpenedPull{}, err
	}
	return ghsync.NewOpenedPull(p.w.number(), author, draft), nil
}

func (p pulls) Edit(_ context.Context, repo ghsync.Repo, number int, _ ghsync.PullEdit) error {
	p.w.request(http.MethodPatch, repo, "pulls/"+numbered(number), "")
	return nil
}

func (p pulls) MarkReady(context.Context, string) error {
	p.w.add(Write{Request: "MUTATION MarkReady", Text: "the draft becomes ready for review, if every review passed for exactly that tree"})
	return nil
}

func (p pulls) RequestReview(_ context.Context, repo ghsync.Repo, number int, login string) error {
	p.w.request(http.MethodPost, repo, "pulls/"+numbered(number)+"/requested_reviewers", "review asked of "+login)
	return nil
}
