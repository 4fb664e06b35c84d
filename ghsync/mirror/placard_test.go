package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// placard opens the placard of the session of a stage, kept where the session will find it.
func (st *stage) placard(o mirror.Options, taken bool) *mirror.Placard {
	st.t.Helper()
	o.Repo, o.Issue, o.Host = octoWidgets, 12, "h_0123456789abcdef"
	p, err := mirror.OpenPlacard(o, st.placardFile(), mirror.Ticket{Session: filepath.Base(st.session.Dir), Began: st.clock(), Taken: taken})
	if err != nil {
		st.t.Fatal(err)
	}
	return p
}

func (st *stage) placardFile() string { return st.session.Path(session.MirrorFile) }

// status is the only comment of ours on the issue.
func (st *stage) status() string {
	st.t.Helper()
	var found []string
	for _, c := range st.repo.Comments(12) {
		if _, ours := ghsync.ParseMarker(c.Body); ours {
			found = append(found, c.Body)
		}
	}
	if len(found) != 1 {
		st.t.Fatalf("comments of ours: %q", found)
	}
	return found[0]
}

func (st *stage) show(p *mirror.Placard, w comment.Waiting) time.Duration {
	st.t.Helper()
	next, err := p.Show(st.t.Context(), w)
	if err != nil {
		st.t.Fatal(err)
	}
	return next
}

func TestATicketShowsItsPlaceAndReason(t *testing.T) {
	st := newStage(t)
	p := st.placard(st.options(), false)
	st.show(p, comment.Waiting{Place: 3, Of: 7, Reason: "for a slot, 2 of 2 are taken"})
	if got := st.status(); !strings.HasPrefix(got, "### agentmux: queued: 3rd of 7\n") || !strings.Contains(got, "Waits: for a slot, 2 of 2 are taken\n") ||
		!strings.Contains(got, "`/agentmux stop`") {
		t.Errorf("status:\n%s", got)
	}
	if got := st.repo.Issue(12).Labels; !slices.Equal(got, []string{"agentmux:queued", "bug"}) && !slices.Equal(got, []string{"bug", "agentmux:queued"}) {
		t.Errorf("labels %v", got)
	}
	writes := len(st.server.Log())
	if next := st.show(p, comment.Waiting{Place: 2, Of: 6, Reason: "for a slot, 2 of 2 are taken"}); next <= 0 || next > 5*time.Minute {
		t.Errorf("the new place is shown in %s", next)
	}
	if n := len(st.server.Log()) - writes; n != 0 {
		t.Errorf("%d writes for a new place alone", n)
	}
	st.show(p, comment.Waiting{Place: 2, Of: 6, Reason: "PAUSED is in the state directory"})
	if got := st.status(); !strings.HasPrefix(got, "### agentmux: queued: 2nd of 6\n") || !strings.Contains(got, "PAUSED") {
		t.Errorf("a new reason is not shown at once:\n%s", got)
	}
	st.show(p, comment.Waiting{Place: 12, Of: 30, Reason: "@all of <b>"})
	if got := st.status(); !strings.HasPrefix(got, "### agentmux: queued: behind the first 10 of 30\n") || strings.Contains(got, "<b>") || !strings.Contains(got, "`@all`") {
		t.Errorf("status:\n%s", got)
	}
	p = st.placard(st.options(), false) // of the next process
	if next := st.show(p, comment.Waiting{Place: 12, Of: 30, Reason: "@all of <b>"}); next != 0 {
		t.Errorf("next %s", next)
	}
	st.repo.Label(12, "agentmux", "octo") // asks for something else: the one of the ticket was taken off
	if _, err := p.Drop(t.Context(), "the issue was closed"); err != nil {
		t.Fatal(err)
	}
	if got := st.status(); !strings.HasPrefix(got, "### agentmux: not started: the issue was closed\n") || strings.Contains(got, "/agentmux stop") {
		t.Errorf("status:\n%s", got)
	}
	if got := st.repo.Issue(12).Labels; !slices.Equal(slices.Sorted(slices.Values(got)), []string{"agentmux", "bug"}) {
		t.Errorf("labels %v", got)
	}
}

// A host was killed before it noted that the request labels of a ticket were off. A label that was set since asks for something
// new: only those of the ticket go, also where the ticket is dropped before it was ever shown.
func TestALabelThatIsNewerThanATicketStays(t *testing.T) {
	for name, c := range map[string]struct {
		found, drop bool
		want        string
	}{
		"shown": {found: true, want: "agentmux:queued agentmux:quick bug"}, "dropped": {found: true, drop: true, want: "agentmux:quick bug"},
		"dropped by the process that made it": {drop: true, want: "agentmux:quick bug"},
		"shown by the process that made it":   {want: "agentmux:queued bug"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			o := st.options()
			o.Repo, o.Issue, o.Host = octoWidgets, 12, "h_0123456789abcdef"
			away, asked := errors.New("the server is away"), 0
			p, err := mirror.OpenPlacard(o, st.placardFile(), mirror.Ticket{
				Session: filepath.Base(st.session.Dir), Began: st.clock(), Found: c.found,
				Off: func(ctx context.Context) error {
					if asked++; asked == 1 {
						return away
					}
					return o.Server.Labels.RemoveLabel(ctx, octoWidgets, 12, "agentmux")
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			st.repo.Label(12, "agentmux", "octo")
			st.repo.Label(12, "agentmux:quick", "octo")
			act := func() error {
				if c.drop {
					_, err := p.Drop(t.Context(), "mia stopped it")
					return err
				}
				_, err := p.Show(t.Context(), comment.Waiting{Place: 1, Of: 1})
				return err
			}
			err = act()
			if errors.Is(err, away) {
				err = act()
			} else if c.found || c.drop {
				t.Errorf("the labels of the ticket are on: %v", err)
			}
			if got := st.repo.Issue(12).Labels; err != nil || strings.Join(slices.Sorted(slices.Values(got)), " ") != join(c.want) {
				t.Errorf("labels %v, want %s: %v", got, c.want, err)
			}
		})
	}
}

// Once the claim is lost no label of the ticket is taken off.
func TestALostClaimTakesNoLabelOff(t *testing.T) {
	st := newStage(t)
	o := st.options()
	o.Repo, o.Issue, o.Host = octoWidgets, 12, "h_0123456789abcdef"
	lost, asked := errors.New("the claim is lost"), 0
	o.Guard = func(context.Context) error {
		if asked++; asked > 1 { // the comment is made before
			return lost
		}
		return nil
	}
	p, err := mirror.OpenPlacard(o, st.placardFile(), mirror.Ticket{
		Session: filepath.Base(st.session.Dir), Began: st.clock(), Found: true,
		Off: func(context.Context) error { t.Error("a label is taken off"); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Show(t.Context(), comment.Waiting{Place: 1, Of: 1}); !errors.Is(err, lost) || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// join sorts words.
func join(words string) string { return strings.Join(slices.Sorted(strings.FieldsSeq(words)), " ") }

// The session that a ticket becomes continues with the ticket's comment and label, also if the
// placard was killed at any of its writes.
func TestProtocolD7TheMirrorContinuesWithThePlacard(t *testing.T) {
	t.Parallel()
	for n := range 5 {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed at write %d, made %t", n, after), func(t *testing.T) {
				t.Parallel()
				st := newStage(t)
				o := st.options()
				k := &killer{Comments: o.Server.Comments, Labels: o.Server.Labels, left: n, after: after}
				o.Server.Comments, o.Server.Labels = k, k
				w := comment.Waiting{Place: 1, Of: 1}
				if n > 0 && !showsBeforeKill(t, st.placard(o, false), w) {
					st.showAll(st.placard(st.options(), false), w)
				} else if n == 0 {
					st.showAll(st.placard(st.options(), false), w)
				}
				m := st.mirror(st.options())
				st.play(st.script[0])
				st.finish(m)
				if got := st.status(); strings.Contains(got, "queued") {
					t.Errorf("status:\n%s", got)
				}
				if got := st.repo.Issue(12).Labels; !slices.Contains(got, "agentmux:running") || slices.Contains(got, "agentmux:queued") || slices.Contains(got, "agentmux") {
					t.Errorf("labels %v", got)
				}
			})
		}
	}
}

func showsBeforeKill(t *testing.T, p *mirror.Placard, w comment.Waiting) (whole bool) {
	t.Helper()
	_, err := p.Show(t.Context(), w)
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	return err == nil
}

// showAll shows until nothing is left.
func (st *stage) showAll(p *mirror.Placard, w comment.Waiting) {
	st.t.Helper()
	ctx, cancel := context.WithTimeout(st.t.Context(), time.Minute)
	defer cancel()
	for {
		next, err := p.Show(ctx, w)
		if err != nil {
			st.t.Fatal(err)
		}
		if next == 0 {
			return
		}
		select {
		case <-ctx.Done():
			st.t.Fatal(ctx.Err())
		case <-time.After(next):
		}
	}
}

// A host that takes a ticket over finds the comment of the one before.
func TestATicketThatIsTakenOverKeepsItsComment(t *testing.T) {
	st := newStage(t)
	st.show(st.placard(st.options(), false), comment.Waiting{Place: 1, Of: 1})
	if err := os.Remove(st.placardFile()); err != nil {
		t.Fatal(err)
	}
	st.showAll(st.placard(st.options(), true), comment.Waiting{})
	if got := st.status(); !strings.HasPrefix(got, "### agentmux: starting\n") {
		t.Errorf("status:\n%s", got)
	}
}

// A ticket whose issue was transferred ends at once; one whose issue was deleted after a second look,
// since a server that lags says the same.
func TestATicketOfAnIssueThatIsGoneEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		leave func(*stage)
		looks int
	}{
		"deleted":     {func(st *stage) { st.repo.DeleteIssue(12) }, 2},
		"transferred": {func(st *stage) { st.repo.Transfer(12, "octo/elsewhere") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			if err := st.server.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "elsewhere"}); err != nil {
				t.Fatal(err)
			}
			o := st.options()
			now := st.clock()
			o.RepoID, o.Now = st.repo.ID(), func() time.Time { return now }
			p := st.placard(o, false)
			st.show(p, comment.Waiting{Place: 1, Of: 1, Reason: "a"})
			tc.leave(st)
			looks := 0
			for {
				_, err := p.Show(t.Context(), comment.Waiting{Place: 1, Of: 1, Reason: "b"})
				if looks++; errors.Is(err, mirror.ErrIssueGone) {
					break
				}
				after := (*transport.RetryAfter)(nil)
				if !errors.As(err, &after) || !mirror.Absent(err) || looks > 2 {
					t.Fatalf("look %d: %v", looks, err)
				}
				now = now.Add(after.Wait)
			}
			if looks != tc.looks {
				t.Errorf("%d looks", looks)
			}
			if _, err := p.Drop(t.Context(), "gone"); !errors.Is(err, mirror.ErrIssueGone) {
				t.Errorf("drop: %v", err)
			}
		})
	}
}

// A status comment that a person deleted is made again.
func TestATicketWhoseCommentWasDeletedIsShownAgain(t *testing.T) {
	st := newStage(t)
	o := st.options()
	o.RepoID = st.repo.ID()
	p := st.placard(o, false)
	st.show(p, comment.Waiting{Place: 2, Of: 2, Reason: "a"})
	for _, c := range st.repo.Comments(12) {
		if _, ours := ghsync.ParseMarker(c.Body); ours {
			st.repo.DeleteComment(c.ID, "write")
		}
	}
	for range 2 {
		st.show(p, comment.Waiting{Place: 1, Of: 1, Reason: "b"})
	}
	if got := st.status(); !strings.Contains(got, "queued: 1st of 1") {
		t.Errorf("status:\n%s", got)
	}
}

// The comment of a session that was lost says so under the marker of the session that follows; its labels
// are left to that one. Without a comment of it none is made.
func TestALostSessionIsToldOf(t *testing.T) {
	st := newStage(t)
	lost := func(file string) *mirror.Placard {
		o := st.options()
		o.Repo, o.Issue, o.Host = octoWidgets, 12, "a_8_1"
		p, err := mirror.OpenPlacard(o, file, mirror.Ticket{
			Session: filepath.Base(st.session.Dir), Began: st.clock().Add(-time.Hour), Taken: true, Begun: true, Follower: "follower-0123456789abcdef",
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	end := func(p *mirror.Placard) {
		for {
			next, err := p.End(t.Context(), "its host is gone")
			if err != nil {
				t.Fatal(err)
			}
			if next == 0 {
				return
			}
			select {
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			case <-time.After(next):
			}
		}
	}
	end(lost(st.placardFile() + ".none"))
	if n := len(st.repo.Comments(12)); n != 0 {
		t.Fatalf("%d comments about a session that told nothing", n)
	}
	st.show(st.placard(st.options(), false), comment.Waiting{Place: 1, Of: 1})
	labels := st.repo.Issue(12).Labels
	for range 2 {
		end(lost(st.placardFile() + ".former"))
	}
	body := st.status()
	m, _ := ghsync.ParseMarker(body)
	if !strings.HasPrefix(body, "### agentmux: lost: its host is gone\n") || m != (ghsync.Marker{Session: "follower-0123456789abcdef", Kind: ghsync.KindStatus, Part: "former"}) {
		t.Errorf("status:\n%s", body)
	}
	if now := st.repo.Issue(12).Labels; !slices.Equal(now, labels) {
		t.Errorf("labels %q, before %q", now, labels)
	}
}

// A ticket that begins at once was never in the queue: the label says so, and the session's mirror need not change it.
func TestATicketWithASlotHasTheLabelOfASession(t *testing.T) {
	labelled := func(st *stage) (routes []string) {
		for _, e := range st.server.Log() {
			if strings.Contains(e.Route, "/labels") {
				method, _, _ := strings.Cut(e.Route, " ")
				routes = append(routes, method+" "+e.Path[strings.LastIndex(e.Path, "/")+1:])
			}
		}
		return routes
	}
	begins := comment.Waiting{Slot: true, Reason: "for the repository, which is fetched"}
	for name, c := range map[string]struct {
		queued bool
		want   []string
	}{
		"at once":        {want: []string{"POST labels", "DELETE agentmux"}},
		"from the queue": {queued: true, want: []string{"POST labels", "DELETE agentmux", "POST labels", "DELETE agentmux:queued"}},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			p := st.placard(st.options(), false)
			if c.queued {
				st.show(p, comment.Waiting{Place: 1, Of: 1})
			}
			st.show(p, begins)
			m := st.mirror(st.options())
			st.play(st.script[0])
			st.finish(m)
			if got := st.repo.Issue(12).Labels; !slices.Contains(got, "agentmux:running") || slices.Contains(got, "agentmux:queued") || slices.Contains(got, "agentmux") {
				t.Errorf("labels %v", got)
			}
			if got := labelled(st); !slices.Equal(got, c.want) {
				t.Errorf("writes of labels %q, want %q", got, c.want)
			}
		})
	}
}

// A ticket whose issue is locked after it was shown ends all the same: its comment stays as it is, and the label goes.
func TestATicketEndsOnAnIssueThatWasLocked(t *testing.T) {
	st := newStage(t)
	p := st.placard(st.options(), false)
	st.show(p, comment.Waiting{Place: 1, Of: 1, Reason: "for the slot, which is taken"})
	before := st.status()
	st.repo.Lock(12, true)
	st.server.Inject(fakehub.Refuse("PATCH .../issues/comments/{id}", "locked"))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the first pause alone is longer
	defer cancel()
	if !mirror.Insist(ctx, p.Drop, "@mia stopped it", slog.New(slog.DiscardHandler)) {
		t.Fatal("it is told again and again")
	}
	if got := st.repo.Issue(12).Labels; st.status() != before || slices.Contains(got, "agentmux:queued") {
		t.Errorf("labels %v, status:\n%s", got, st.status())
	}
}
