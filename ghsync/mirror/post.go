package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// post is one comment the records ask for.
type post struct {
	seq    int
	marker ghsync.Marker
	on     int // issue or pull request, as the records say
	body   markdown.Text
}

// poster creates comments, each once, and finds those that were created before.
type poster struct {
	*ledger
	places *locator
	author int64  // the account that writes; 0: not known yet
	listed string // digest of the status comment when it was listed last; empty: unknown
}

// place returns where a comment can be made that belongs on an issue or a pull request: there,
// or on the other of the two if that is locked. 0: on neither.
func (p *poster) place(on int) int {
	for _, on := range []int{on, p.o.Issue, p.view.Result.Pull} {
		if on != 0 && !p.lockedOn(on) {
			return on
		}
	}
	return 0
}

// lockedOn reports whether the issue or a pull request is known to take no comments.
func (p *poster) lockedOn(on int) bool {
	return p.st.Locked && on == p.o.Issue || on == p.st.LockedPR
}

// lockedBy notes that the issue or a pull request takes no comments, if that is what err
// says and that was not known yet. Only a lock of the issue means that nothing can be asked.
func (p *poster) lockedBy(on int, err error) bool {
	if !transport.HasCode(err, transport.CodeLocked) || p.lockedOn(on) {
		return false
	}
	p.o.Log.Info("comments are locked", "session", p.view.Identity.Session, "issue", on)
	if on != p.o.Issue {
		p.st.LockedPR = on
		return true
	}
	p.st.Locked = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.locked = true
	return true
}

// ensure creates a comment unless it exists, and returns its id; wait says that it must be
// looked for later. The intent is on disk before the request leaves, so a look at the
// comments of the issue repairs a kill at any point.
func (p *poster) ensure(ctx context.Context, want post) (id int64, wait time.Duration, err error) {
	key := want.marker.Key()
	if in, ok := p.st.Intents[key]; ok {
		id, wait, err = p.lookFor(ctx, want, in)
		if id != 0 || wait > 0 || err != nil {
			return id, wait, err
		}
	}
	if p.o.Guard != nil { // an intent would say that the comment may have been made
		if err := p.o.Guard(ctx); err != nil {
			return 0, 0, fmt.Errorf("check the claim: %w", err)
		}
	}
	p.st.Intents[key] = intent{On: want.on, Digest: ghsync.HashOf(want.body.String())[:16], At: p.o.Now().UTC()}
	if err := p.save(); err != nil {
		return 0, 0, err
	}
	id, author, err := p.o.Server.Comments.Create(ctx, p.o.Repo, want.on, withMarker(want.body, want.marker))
	if err != nil {
		return 0, 0, p.notCreated(key, err)
	}
	delete(p.st.Intents, key)
	p.author = author
	p.st.AuthorID = cmp.Or(author, p.st.AuthorID)
	p.o.Log.Info("comment made", "session", p.view.Identity.Session, "kind", want.marker.Kind, "seq", want.seq, "issue", want.on)
	return id, 0, nil
}

// notCreated keeps the intent of what may have been applied and drops that of what was not.
func (p *poster) notCreated(key string, err error) error {
	var (
		after    *transport.RetryAfter
		terminal *transport.Terminal
		missing  *transport.NotFound
		unsent   *transport.Unsent
		moved    *transport.Moved
	)
	switch {
	case errors.As(err, &after), errors.As(err, &terminal), errors.As(err, &missing), errors.As(err, &unsent), errors.As(err, &moved):
		delete(p.st.Intents, key)
	default:
		p.st.Ambiguous++
	}
	return errors.Join(err, p.save())
}

// lookBack is how far back a comment is looked for where the time of the try is not known.
const lookBack = 25 * time.Hour

// lookFor looks for the comment of an earlier try. Lists lag, so it looks twice before it
// lets the comment be made again.
func (p *poster) lookFor(ctx context.Context, want post, in intent) (id int64, wait time.Duration, err error) {
	due := in.At.Add(p.o.Pace.Look)
	if in.Looks > 0 {
		due = due.Add(p.o.Pace.Again)
	}
	since, now := in.At.Add(-10*time.Minute), p.o.Now()
	if in.At.After(now) { // the clock was set back, so the intent does not say how long ago that was
		due, since = now, now.Add(-lookBack)
	}
	if left := due.Sub(now); left > 0 {
		return 0, left, nil
	}
	found, err := p.own(ctx, in.On, since)
	if err != nil {
		return 0, 0, err
	}
	key := want.marker.Key()
	for _, c := range found {
		if c.marker.Same(want.marker) {
			delete(p.st.Intents, key) // the caller saves this together with the id
			return c.id, 0, nil
		}
	}
	if in.Looks++; in.Looks < 2 {
		p.st.Intents[key] = in
		return 0, p.o.Pace.Again, p.save()
	}
	delete(p.st.Intents, key)
	p.st.Ambiguous++ // a list that lags longer hides it: the mirror looks once more at the end
	return 0, 0, p.save()
}

// ownComment is a comment of this session as it is on GitHub.
type ownComment struct {
	id     int64
	marker ghsync.Marker
	mine   bool   // of the present account, which may edit it
	digest string // of the text above the marker; empty: it was not written like one of ours
	whole  string // digest of all of it
}

// own lists the comments of this session on an issue or pull request, oldest first: those of
// the present account, and those of the account that an earlier token belonged to.
func (p *poster) own(ctx context.Context, on int, since time.Time) ([]ownComment, error) {
	if p.author == 0 {
		me, err := p.o.Server.Place.Viewer(ctx)
		if _, later := transport.Later(err); err != nil && (later || p.st.AuthorID == 0) {
			return nil, err
		}
		p.author = cmp.Or(me.ID, p.st.AuthorID)
	}
	comments, err := p.o.Server.Comments.Since(ctx, p.o.Repo, on, since)
	if err != nil {
		return nil, err
	}
	var out []ownComment
	for _, c := range comments {
		marker, ok := ghsync.ParseMarker(c.Body)
		written := c.Author.ID != 0 && (c.Author.ID == p.author || c.Author.ID == p.st.AuthorID)
		if ok && written && marker.Session == p.view.Identity.Public {
			out = append(out, ownComment{
				id: c.ID, marker: marker, mine: c.Author.ID == p.author,
				digest: digestAbove(string(c.Body), marker), whole: ghsync.HashOf(string(c.Body)),
			})
		}
	}
	return out, nil
}

// digestAbove is the digest of the text above a marker.
func digestAbove(body string, marker ghsync.Marker) string {
	text, ok := strings.CutSuffix(body, "\n\n"+marker.String())
	if !ok {
		return ""
	}
	return ghsync.HashOf(text)
}

// adopt takes over the first comment of each marker that the records ask for, and deletes its twins. What they do not ask
// for, or not with this text, is a stray.
func (p *poster) adopt(ctx context.Context, on int, found []ownComment) error {
	asked := p.asked(found)
	seen := map[string]int64{}
	for _, c := range found {
		key := c.marker.Key()
		want, ok := asked[key]
		switch {
		case key == ghsync.KindStatus:
		case !ok && p.st.Comments[key] != 0: // the one that is known is gone
		case want.marker.Kind != c.marker.Kind, want.text != "" && want.text != c.whole:
			p.stray(on, c)
			continue
		}
		if first, ok := seen[key]; ok && first != c.id {
			if err := p.o.Server.Comments.Delete(ctx, p.o.Repo, c.id); err != nil {
				return err
			}
			continue
		}
		seen[key] = c.id
		delete(p.st.Intents, key)
		if key != ghsync.KindStatus {
			p.st.Comments[key] = c.id
			continue
		}
		if p.listed = c.digest; p.st.StatusCommentID != c.id {
			p.st.StatusCommentID, p.st.StatusOn, p.st.StatusDigest = c.id, on, ""
		}
	}
	return nil
}

// findTwins takes over the comments on the issue and on the pull request.
func (p *poster) findTwins(ctx context.Context) error {
	places := []int{p.o.Issue}
	if p.view.Result.Pull > 0 {
		places = append(places, p.view.Result.Pull)
	}
	for _, on := range places {
		found, err := p.own(ctx, on, p.view.Identity.Started.Add(-10*time.Minute))
		if transport.IsNotFound(err) {
			if err := p.places.deleted(ctx, err); err != nil {
				return err
			}
			continue // and the comments with it
		}
		if err != nil {
			return err
		}
		if err := p.adopt(ctx, on, found); err != nil {
			return err
		}
	}
	return nil
}

// withMarker puts the marker below a text. A blank line keeps it out of a table, a quote, HTML
// or code.
func withMarker(text markdown.Text, marker ghsync.Marker) markdown.Text {
	line := text.String()
	line = line[strings.LastIndex(line, "\n")+1:]
	gap := "\n"
	if marker.Kind == ghsync.KindStatus || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "<") ||
		strings.HasPrefix(line, "`") || strings.HasPrefix(line, "~") || strings.HasPrefix(line, ">") {
		gap = "\n\n"
	}
	return text.Below(gap + marker.String())
}
