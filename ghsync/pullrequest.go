package ghsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// PullRequestState is what became of a pull request.
type PullRequestState string

const (
	PullRequestOpen   PullRequestState = "open"
	PullRequestClosed PullRequestState = "closed" // not merged: a person rejected it
	PullRequestMerged PullRequestState = "merged"
)

// draftPrefix marks a draft where the server knows no drafts.
const draftPrefix = "[draft] "

// maxTitle is GitHub's limit for a title, in characters.
const maxTitle = 256

// fitTitle cuts a title so that it may become that of a draft and back.
func fitTitle(title string) string {
	if r, most := []rune(title), maxTitle-len(draftPrefix); len(r) > most {
		return strings.TrimRight(string(r[:most-3]), " ") + "..."
	}
	return title
}

// PullRequestSpec is the pull request a session wants. One of the branch is taken for it if it is for
// the same base, or if the session made it, whatever its base is by now.
type PullRequestSpec struct {
	Repo      Repo   // where the pull request is opened
	HeadOwner string // owner of the branch; empty: the repository's
	Branch    string
	Base      string
	Title     string        // cut if GitHub would not take it
	Body      markdown.Text // with the marker of RenderBody as its last line
	// Ready makes a draft ready for review. False leaves it as it is: a draft that a person
	// made ready stays ready.
	Ready    bool
	Reviewer string // login to ask for a review; empty, or the author: no review is asked for
}

// PullRequestResult is the pull request as it is now.
type PullRequestResult struct {
	Number  int
	URL     string
	Draft   bool
	Adopted bool // it was there already
	State   PullRequestState
	Head    string // commit the server has for the branch
}

// PullRequest opens and adopts pull requests. The runner of a session's effects calls it; its
// result is an input of the session.
type PullRequest struct {
	Client *Client
	Writes PullWrites // nil: the client's
}

func (p *PullRequest) writes() PullWrites {
	if p.Writes == nil {
		return clientPulls{p.Client}
	}
	return p.Writes
}

// Ensure creates the pull request unless it exists, and returns it. A closed or merged one is
// returned as it is and never reopened, unless another one is open; one that was closed
// because its base was deleted is ignored. It may be called again after any error: it looks
// before it creates.
//
// Errors callers tell apart: Terminal with CodeNoCommits, CodePRForbidden, CodeHeadInvalid;
// RetryAfter, Unsent and Ambiguous pass.
func (p *PullRequest) Ensure(ctx context.Context, spec PullRequestSpec) (PullRequestResult, error) {
	ctx = transport.WithPriority(ctx, transport.PriorityFinishing)
	spec.HeadOwner, spec.Title = cmp.Or(spec.HeadOwner, spec.Repo.Owner), fitTitle(spec.Title)
	have, err := p.find(ctx, spec)
	if err == nil && have != nil {
		have, err = p.unlessBaseless(ctx, spec, have)
	}
	if err != nil {
		return PullRequestResult{}, err
	}
	adopted := have != nil
	if !adopted {
		if have, err = p.create(ctx, spec); transport.HasCode(err, transport.CodePRExists) {
			adopted = true
			if have, err = p.find(ctx, spec); err == nil && have == nil {
				err = &transport.RetryAfter{Wait: 0, Scope: "server", Err: errors.New("a pull request exists but is not listed yet")}
			}
		}
		if err != nil {
			return PullRequestResult{}, err
		}
	}
	result := toPullRequest(have)
	result.Adopted = adopted
	if result.State != PullRequestOpen {
		return result, nil
	}
	return p.settle(ctx, spec, have, result)
}

// settle brings an open pull request to what spec says.
func (p *PullRequest) settle(ctx context.Context, spec PullRequestSpec, have *github.PullRequest, result PullRequestResult) (PullRequestResult, error) {
	if result.Adopted {
		if err := p.update(ctx, spec, have); err != nil {
			return result, err
		}
	}
	if spec.Ready && result.Draft {
		if err := p.markReady(ctx, spec, have); err != nil {
			return result, err
		}
		adopted := result.Adopted
		result = toPullRequest(have)
		if result.Adopted = adopted; result.State != PullRequestOpen {
			return result, nil
		}
	}
	return result, p.requestReview(ctx, spec, have)
}

// find returns the open pull request of the branch: the session's own, else the one for the
// same base. If none is open it returns the newest one of these, or nil. Anyone may open more of
// them, for other bases: those are not the session's.
func (p *PullRequest) find(ctx context.Context, spec PullRequestSpec) (*github.PullRequest, error) {
	found, resp, err := api(p.Client).PullRequests.List(ctx, spec.Repo.Owner, spec.Repo.Name, &github.PullRequestListOptions{
		State: "all", Head: spec.HeadOwner + ":" + spec.Branch, ListOptions: github.ListOptions{PerPage: 50},
	})
	if err := served(p.Client, resp, err); err != nil {
		return nil, fmt.Errorf("list pull requests: %w", err)
	}
	// A server may ignore a head it does not know and list everything.
	found = slices.DeleteFunc(found, func(pr *github.PullRequest) bool {
		return pr.GetHead().GetRef() != spec.Branch || !strings.EqualFold(pr.GetHead().GetUser().GetLogin(), spec.HeadOwner) ||
			!spec.made(pr) && pr.GetBase().GetRef() != spec.Base
	})
	slices.SortFunc(found, func(a, b *github.PullRequest) int {
		return cmp.Or(spec.weight(b)-spec.weight(a), b.GetNumber()-a.GetNumber())
	})
	if len(found) == 0 {
		return nil, nil
	}
	return found[0], nil
}

// weight orders pull requests of one branch.
func (spec PullRequestSpec) weight(pr *github.PullRequest) int {
	switch {
	case pr.GetState() != string(PullRequestOpen):
		return 0
	case spec.made(pr):
		return 2
	}
	return 1
}

// made reports whether this session opened a pull request.
func (spec PullRequestSpec) made(pr *github.PullRequest) bool {
	theirs, ok := ParseMarker(pr.GetBody())
	own, _ := ParseMarker(spec.Body.String())
	return ok && theirs.Session == own.Session
}

// unlessBaseless returns nil for a pull request that was closed because its base was deleted.
// The server closes those, and they cannot be reopened.
func (p *PullRequest) unlessBaseless(ctx context.Context, spec PullRequestSpec, have *github.PullRequest) (*github.PullRequest, error) {
	if toPullRequest(have).State != PullRequestClosed {
		return have, nil
	}
	there, err := p.Client.HasBranch(ctx, spec.Repo, have.GetBase().GetRef())
	if err != nil || there {
		return have, err
	}
	return nil, nil
}

// Retarget moves an open pull request to another base. One that is not open stays as it is.
// Errors: as Ensure.
func (p *PullRequest) Retarget(ctx context.Context, repo Repo, number int, base string) error {
	ctx = transport.WithPriority(ctx, transport.PriorityFinishing)
	have, err := p.read(ctx, repo, number)
	if err == nil && have.GetState() == string(PullRequestOpen) && have.GetBase().GetRef() != base {
		err = p.writes().Edit(ctx, repo, number, PullEdit{Base: &base})
	}
	if err != nil {
		return fmt.Errorf("move pull request %d to %s: %w", number, base, err)
	}
	return nil
}

func (p *PullRequest) read(ctx context.Context, repo Repo, number int) (*github.PullRequest, error) {
	have, resp, err := api(p.Client).PullRequests.Get(ctx, repo.Owner, repo.Name, number)
	return have, served(p.Client, resp, err)
}

// create opens a draft, or marks the title where the server has no drafts.
func (p *PullRequest) create(ctx context.Context, spec PullRequestSpec) (*github.PullRequest, error) {
	head := spec.Branch
	if spec.HeadOwner != spec.Repo.Owner {
		head = spec.HeadOwner + ":" + spec.Branch
	}
	draft := PullDraft{Title: spec.Title, Head: head, Base: spec.Base, Body: spec.Body, Draft: true}
	opened, err := p.writes().Open(ctx, spec.Repo, draft)
	if transport.HasCode(err, transport.CodeDraftUnsupported) {
		draft.Draft, draft.Title = false, draftPrefix+spec.Title
		opened, err = p.writes().Open(ctx, spec.Repo, draft)
	}
	if errors.As(err, new(*transport.Ambiguous)) {
		// The server allows one open pull request of a branch for a base, so a list shows it.
		if found, findErr := p.find(ctx, spec); findErr == nil && found != nil {
			return found, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open pull request: %w", err)
	}
	return opened.pr, nil
}

// update renews title and body of a pull request this session made. One that a person
// opened keeps the person's words.
func (p *PullRequest) update(ctx context.Context, spec PullRequestSpec, have *github.PullRequest) error {
	if !spec.made(have) {
		return nil
	}
	var edit PullEdit
	if !sameText(withoutMarker(have.GetBody()), withoutMarker(spec.Body.String())) {
		edit.Body = &spec.Body
	}
	if want := titleFor(spec, have); have.GetTitle() != want {
		edit.Title = &want
	}
	if edit == (PullEdit{}) {
		return nil
	}
	if err := p.writes().Edit(ctx, spec.Repo, have.GetNumber(), edit); err != nil {
		return fmt.Errorf("update pull request %d: %w", have.GetNumber(), err)
	}
	return nil
}

// titleFor keeps the mark in the title of a pull request that would be a draft.
func titleFor(spec PullRequestSpec, have *github.PullRequest) string {
	if strings.HasPrefix(have.GetTitle(), draftPrefix) {
		return draftPrefix + spec.Title
	}
	return spec.Title
}

// sameText compares texts the way GitHub keeps them.
func sameText(a, b string) bool {
	tidy := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return tidy(a) == tidy(b)
}

// markReady makes a draft ready for review and renews have. An account that may open a pull
// request may not always do this: a job's own token is refused the mutation, a server without GraphQL
// has none, and the REST interface ignores draft:false. The draft stays then; it is for a
// person to end it. A person may also have been faster.
func (p *PullRequest) markReady(ctx context.Context, spec PullRequestSpec, have *github.PullRequest) error {
	number := have.GetNumber()
	failed := func(err error) error { return fmt.Errorf("make pull request %d ready: %w", number, err) }
	if !have.GetDraft() {
		title := strings.TrimPrefix(spec.Title, draftPrefix)
		if err := p.writes().Edit(ctx, spec.Repo, number, PullEdit{Title: &title}); err != nil {
			return failed(err)
		}
		have.Title = &title
		return nil
	}
	err := errNoGraphQL
	if !p.Client.withoutGraphQL() {
		err = p.writes().MarkReady(ctx, have.GetNodeID())
	}
	unsure := errors.As(err, new(*transport.Ambiguous))
	switch {
	case err == nil:
		have.Draft = new(false)
		return nil
	case errors.Is(err, errNoGraphQL):
	case unsure, refusedForGood(err):
		now, readErr := p.read(ctx, spec.Repo, number)
		if readErr != nil {
			return failed(err)
		}
		if *have = *now; !now.GetDraft() || now.GetState() != string(PullRequestOpen) {
			return nil
		}
		if unsure {
			return failed(err)
		}
	default:
		return failed(err)
	}
	p.Client.log.Warn("the draft stays: a person makes it ready for review", "pr", number, "err", err)
	return nil
}

// refusedForGood reports whether the server refused this one request for good. An unknown
// token is another matter: all its requests fail.
func refusedForGood(err error) bool {
	var terminal *transport.Terminal
	return transport.IsNotFound(err) || errors.As(err, &terminal) && terminal.Code != transport.CodeUnauthorized
}

// requestReview asks the reviewer once per call of Ensure. A refusal is logged and is not an
// error: the pull request exists. After a limit, and where the repository has another name,
// Ensure is called again.
func (p *PullRequest) requestReview(ctx context.Context, spec PullRequestSpec, have *github.PullRequest) error {
	author := have.GetUser().GetLogin()
	if spec.Reviewer == "" || strings.EqualFold(spec.Reviewer, author) {
		return nil
	}
	for _, r := range have.RequestedReviewers {
		if strings.EqualFold(r.GetLogin(), spec.Reviewer) {
			return nil
		}
	}
	err := p.writes().RequestReview(ctx, spec.Repo, have.GetNumber(), spec.Reviewer)
	if errors.As(err, new(*transport.RetryAfter)) || transport.IsMoved(err) {
		return fmt.Errorf("request a review of pull request %d: %w", have.GetNumber(), err)
	}
	if err != nil && !transport.HasCode(err, transport.CodeReviewFromAuthor) {
		p.Client.log.Warn("no review requested", "pr", have.GetNumber(), "err", err)
	}
	return ctx.Err()
}

func toPullRequest(pr *github.PullRequest) PullRequestResult {
	state := PullRequestState(pr.GetState())
	if !pr.GetMergedAt().IsZero() || pr.GetMerged() {
		state = PullRequestMerged
	}
	return PullRequestResult{
		Number: pr.GetNumber(), URL: pr.GetHTMLURL(), State: state, Head: pr.GetHead().GetSHA(),
		Draft: pr.GetDraft() || strings.HasPrefix(pr.GetTitle(), draftPrefix),
	}
}

// CompareURL is where a person opens the pull request that the program may not open.
func (c *Client) CompareURL(repo Repo, base, head string) string {
	return fmt.Sprintf("%s/%s/compare/%s...%s?expand=1", c.Server(), repo, pathSegments(base), pathSegments(head))
}

// pathSegments escapes a branch name but keeps its slashes.
func pathSegments(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
