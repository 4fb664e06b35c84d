package intake

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	// heardFrom is how far back the first full sync reads comments. Commands of more than a
	// day ago are refused, and this machine's clock may be a day ahead.
	heardFrom    = 48 * time.Hour
	overlap      = 10 * time.Minute // more than the replicas of a server lag
	maxSyncPages = 50               // of one full sync of a list; the next one continues
	maxPasses    = 3                // how often a list of several pages is gone through, until that shows nothing more
	// nameEvery is after how many full syncs an idle repository is looked up by its id, besides
	// the first. One with a live session is each time: another repository may have taken its name.
	nameEvery = 48
)

// fullSync is what the full syncs of a repository know of each other.
type fullSync struct {
	count    int
	steps    []step
	labelled map[string]*labelled // by the label's name
	// heard is the time of the newest comment that was handed on, by the server, so that the
	// address stays the same while there is no other one.
	heard time.Time
	tag   transport.Validator // of the comments since then
}

// A step is one request of a full sync, and returns what takes its place. Between two steps
// the lists are read if they are due: a full sync of many pages holds up no hook.
type step func(context.Context) ([]step, error)

// labelled is the list of open issues with one label.
type labelled struct {
	tag        transport.Validator
	candidates []Candidate
	// passed are the issues of the last pass that had several pages.
	passed map[int]bool
}

// A pass goes through the pages of a label.
type pass struct {
	n, page int // both count from 1
	issues  map[int]bool
	fresh   bool // one of them was not in the pass before
}

func firstPage(n int) pass { return pass{n: n, page: 1, issues: map[int]bool{}} }

// sync takes the next step of a full sync, or the first of a new one. It hands on all open issues
// with a request label, whether they changed or not, and all comments since the last full sync.
// A step that fails is taken again.
func (p *Poller) sync(ctx context.Context) (done bool, err error) {
	f := &p.full
	if len(f.steps) == 0 {
		f.steps = []step{p.syncLabels, p.syncComments}
		if p.o.Issue != 0 {
			f.steps[0] = p.syncIssue
		}
		if f.count++; (p.o.Issue == 0 || f.count > 1) && (p.busy() || f.count%nameEvery == 1) {
			f.steps = slices.Insert(f.steps, 0, p.syncName)
		}
	}
	then, err := f.steps[0](ctx)
	if err != nil {
		return false, err
	}
	f.steps = append(then, f.steps[1:]...)
	return len(f.steps) == 0, nil
}

// syncIssue hands on the one issue that is served: that is cheaper than to look for it in the lists of labels.
func (p *Poller) syncIssue(ctx context.Context) ([]step, error) {
	if p.o.Commanded {
		return nil, nil
	}
	return nil, p.hand(ctx, Changes{Candidates: []Candidate{{Host: p.o.Client.Host(), Owner: p.repo.Owner, Repo: p.repo.Name, RepoID: p.o.RepoID, Issue: p.o.Issue, Via: Poll}}})
}

func (p *Poller) syncName(ctx context.Context) ([]step, error) { return nil, p.find(ctx) }

// syncLabels goes through the request label and those of its workflows that the repository has.
func (p *Poller) syncLabels(ctx context.Context) ([]step, error) {
	all, err := p.o.Client.Labels(ctx, p.repo)
	if err != nil {
		return nil, err
	}
	names := []string{p.o.Label}
	for _, l := range all {
		if workflow, ok := ghsync.RequestLabel(l.Name, p.o.Label); ok && workflow != "" {
			names = append(names, l.Name)
		}
	}
	former := p.full.labelled
	p.full.labelled = map[string]*labelled{}
	var steps []step
	for _, name := range names {
		l := former[name]
		if l == nil {
			l = &labelled{}
		}
		p.full.labelled[name] = l
		steps = append(steps, p.syncLabel(name, l, firstPage(1)))
	}
	return steps, nil
}

// syncLabel reads a page of the open issues with a label. An issue that loses the label moves those
// behind it up, one of them to a page that was read before. So pages are gone through until a pass
// has no issue that the one before had not.
func (p *Poller) syncLabel(name string, l *labelled, in pass) step {
	return func(ctx context.Context) ([]step, error) {
		at := ctx
		if in.page == 1 {
			at = l.tag.Context(ctx)
		}
		all, more, err := p.in.LabelledIssues(at, p.repo, name, in.page)
		if err != nil {
			return nil, err
		}
		if in.page == 1 && l.tag.Unchanged() {
			return nil, p.hand(ctx, Changes{Candidates: p.renamed(l.candidates)})
		}
		if err := p.follow(ctx, all); err != nil {
			return nil, err
		}
		c := Changes{Issues: all, Candidates: p.candidates(all)}
		if err := p.hand(ctx, c); err != nil {
			return nil, err
		}
		for _, issue := range all {
			in.fresh = in.fresh || !l.passed[issue.Number]
			in.issues[issue.Number] = true
		}
		switch {
		case more && in.page < maxSyncPages:
			in.page++
			return []step{p.syncLabel(name, l, in)}, nil
		case in.page == 1:
			l.candidates, l.passed = c.Candidates, nil
			l.tag.Keep()
			return nil, nil
		}
		l.tag.Forget() // it is of one page
		if l.passed = in.issues; in.fresh && in.n < maxPasses {
			return []step{p.syncLabel(name, l, firstPage(in.n+1))}, nil
		}
		return nil, nil
	}
}

// renamed returns candidates by the present name of the repository.
func (p *Poller) renamed(all []Candidate) []Candidate {
	now := slices.Clone(all)
	for i := range now {
		now[i].Owner, now[i].Repo = p.repo.Owner, p.repo.Name
	}
	return now
}

// syncComments reads all comments since the newest that the last full sync has read.
func (p *Poller) syncComments(ctx context.Context) ([]step, error) {
	if p.full.heard.IsZero() {
		p.full.heard = p.clock.Now().Add(-heardFrom)
	}
	return p.syncCommentsFrom(p.full.heard.Add(-overlap).UTC().Truncate(time.Second), 1, 1)(ctx)
}

// syncCommentsFrom reads the n-th page of a full sync. It reads on from the last comment of a page
// and not by the numbers of pages, unless all of them are of one second: an edit moves a comment
// to the end of the list, and another one to the page before.
func (p *Poller) syncCommentsFrom(since time.Time, page, n int) step {
	return func(ctx context.Context) ([]step, error) {
		f, at := &p.full, ctx
		if n == 1 {
			at = f.tag.Context(ctx)
		}
		all, more, err := p.in.CommentsSince(at, p.repo, since, page)
		if err != nil || n == 1 && f.tag.Unchanged() {
			return nil, err
		}
		if err := p.hand(ctx, Changes{Comments: all}); err != nil {
			return nil, err
		}
		next, nextPage, former := since, page+1, f.heard
		if len(all) > 0 && all[len(all)-1].EditedAt.After(since) {
			next, nextPage = all[len(all)-1].EditedAt, 1
			f.heard = latest(f.heard, next)
		}
		switch {
		case !f.heard.Equal(former) || more: // the next address is another one
			f.tag.Forget()
		case n == 1:
			f.tag.Keep()
		}
		if more && n < maxSyncPages {
			return []step{p.syncCommentsFrom(next, nextPage, n+1)}, nil
		}
		return nil, nil
	}
}
