package recall_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/claim/claimtest"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

const (
	issue  = 12
	public = "20261121-100436-issue-12-say-two-0123456789abcdef"
	newer  = "20261122-100436-issue-12-say-two-fedcba9876543210"
)

var bot, ada, eve = ghsync.Account{ID: 1, Login: "bot", Type: "Bot"}, ghsync.Account{ID: 2, Login: "ada", Type: "User"}, ghsync.Account{ID: 3, Login: "eve", Type: "User"}

// shows is a comment that shows a session.
func shows(session string, by ghsync.Account) ghsync.Comment {
	return ghsync.Comment{Author: by, Body: sanitize.Raw("### agentmux: needs a person\n\n" + ghsync.Marker{Session: session, Kind: ghsync.KindStatus, Seq: 9}.String())}
}

// scene is a host to which a command comes, and what it has done.
type scene struct {
	recall.Recaller
	hub       *claimtest.Hub
	comments  []ghsync.Comment
	closed    bool
	saved     []string
	refused   string
	err       error
	continued []string
	done      bool // the session has nothing left to try
}

func newScene(t *testing.T, h *claimtest.Hub, host claim.HostID) *scene {
	s := &scene{hub: h, saved: []string{public, newer}}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	saved := func(_ context.Context, session string) (bool, error) { return slices.Contains(s.saved, session), nil }
	s.Recaller = recall.Recaller{
		Claims: orphan.New(orphan.Options{
			Desk: h.Desk(host), Own: host, Now: time.Now, Log: log, Found: func(int) {}, Room: func(context.Context) bool { return true }, Saved: saved,
		}),
		Saved: saved, Log: log, Unfinished: func(context.Context, string, int) (bool, error) { return !s.done, s.err },
		Record: func(context.Context, int) (ghsync.Record, error) {
			return ghsync.Record{Issue: ghsync.Issue{Number: issue, Closed: s.closed}, Comments: s.comments}, nil
		},
		Believes: func(_ context.Context, c ghsync.Comment) (bool, error) { return c.Author != eve, nil },
		Continue: func(_ context.Context, session string, _ int) (dir, refused string, err error) {
			if s.refused != "" || s.err != nil {
				return "", s.refused, s.err
			}
			s.continued = append(s.continued, session)
			return "/sessions/" + session, "", nil
		},
	}
	return s
}

func asked() recall.Asked { return recall.Asked{Issue: issue, By: gate.CommentTrigger(7)} }

// A command brings the session here that the newest comment of the program shows, under a claim of its issue. What keeps it
// from that leaves no claim.
func TestACommandBringsTheSessionThatTheIssueShows(t *testing.T) {
	there := errors.New("the server is away")
	for name, c := range map[string]struct {
		do   func(s *scene, a *recall.Asked)
		want string // the session
		err  error
	}{
		"of the program's account": {func(s *scene, _ *recall.Asked) {
			s.comments = []ghsync.Comment{shows(public, bot), {Author: ada, Body: "/agentmux answer 2"}}
		}, public, nil},
		"of a person who may push":   {func(s *scene, _ *recall.Asked) { s.comments = []ghsync.Comment{shows(public, ada)} }, public, nil},
		"the newest one":             {func(s *scene, _ *recall.Asked) { s.comments = []ghsync.Comment{shows(public, bot), shows(newer, bot)} }, newer, nil},
		"no comment":                 {func(*scene, *recall.Asked) {}, "", nil},
		"of a stranger":              {func(s *scene, _ *recall.Asked) { s.comments = []ghsync.Comment{shows(public, eve)} }, "", nil},
		"a stranger's is the newest": {func(s *scene, _ *recall.Asked) { s.comments = []ghsync.Comment{shows(public, bot), shows(newer, eve)} }, public, nil},
		"not the name of a session": {func(s *scene, _ *recall.Asked) {
			s.comments = []ghsync.Comment{shows("s", bot)}
			s.saved = []string{"s"}
		}, "", nil},
		"without a checkpoint": {func(s *scene, _ *recall.Asked) { s.comments, s.saved = []ghsync.Comment{shows(public, bot)}, nil }, "", nil},
		"the issue is closed":  {func(s *scene, _ *recall.Asked) { s.comments, s.closed = []ghsync.Comment{shows(public, bot)}, true }, "", nil},
		"the checkpoint is refused": {func(s *scene, _ *recall.Asked) {
			s.comments, s.refused = []ghsync.Comment{shows(public, bot)}, "it is forged"
		}, "", nil},
		"the server is away":        {func(s *scene, _ *recall.Asked) { s.comments, s.err = []ghsync.Comment{shows(public, bot)}, there }, "", there},
		"on its pull request":       {func(s *scene, a *recall.Asked) { s.comments, a.Of = []ghsync.Comment{shows(public, bot)}, public }, public, nil},
		"on that of an earlier one": {func(s *scene, a *recall.Asked) { s.comments, a.Of = []ghsync.Comment{shows(newer, bot)}, public }, "", nil},
		"here, and nowhere else": {func(s *scene, a *recall.Asked) {
			s.comments = []ghsync.Comment{shows(public, bot)}
			here(a, public, false)
		}, "", nil},
		"here, and elsewhere later": {func(s *scene, a *recall.Asked) {
			s.comments = []ghsync.Comment{shows(public, bot)}
			here(a, public, true)
		}, public, nil},
		"an earlier one is here": {func(s *scene, a *recall.Asked) {
			s.comments = []ghsync.Comment{shows(newer, bot)}
			here(a, public, false)
		}, newer, nil},
		"another try": {func(s *scene, a *recall.Asked) {
			s.comments, a.Retry = []ghsync.Comment{shows(public, bot)}, true
		}, public, nil},
		"another try of one that is done": {func(s *scene, a *recall.Asked) {
			s.comments, a.Retry, s.done = []ghsync.Comment{shows(public, bot)}, true, true
		}, "", nil},
		"another try, shown by a stranger": {func(s *scene, a *recall.Asked) {
			s.comments, a.Retry = []ghsync.Comment{shows(public, eve)}, true
		}, "", nil},
		"its host is gone":            {func(s *scene, _ *recall.Asked) { s.left("a_7_1", public) }, public, nil},
		"gone without a checkpoint":   {func(s *scene, _ *recall.Asked) { s.left("a_7_1", public); s.saved = nil }, "", nil},
		"the comment of a former one": {func(s *scene, _ *recall.Asked) { s.comments = []ghsync.Comment{former(bot)} }, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := claimtest.NewHub()
			s, a := newScene(t, h, "h_0123456789abcdef"), asked()
			c.do(s, &a)
			left := h.Of(issue)
			dir, held, err := s.Session(t.Context(), a)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v", err)
			}
			if c.want == "" {
				if dir != "" || held != nil || h.Of(issue).ID != left.ID || len(s.continued) > 0 {
					t.Errorf("at %q, continued %v, claim %+v", dir, s.continued, h.Of(issue))
				}
				return
			}
			got := h.Of(issue).Claim
			if dir != "/sessions/"+c.want || held == nil || held.Check(t.Context()) != nil || got.Session != c.want || got.Trigger != "comment/7" || got.State != claim.Running {
				t.Errorf("at %q, claim %+v", dir, got)
			}
		})
	}
}

// here says that this host had a session, which went on elsewhere or not.
func here(a *recall.Asked, session string, elsewhere bool) {
	a.Here, a.Newer = session, func(context.Context) (bool, error) { return elsewhere, nil }
}

// former is the comment of a session that another one followed.
func former(by ghsync.Account) ghsync.Comment {
	c := shows(public, by)
	c.Body = sanitize.Raw(ghsync.Marker{Session: public, Kind: ghsync.KindStatus, Part: "former"}.String())
	return c
}

// left is a claim of a session whose host is gone.
func (s *scene) left(host claim.HostID, session string) {
	_, _ = s.hub.Desk(host).Take(context.Background(), claim.Want{Issue: issue, Session: session, Trigger: "comment/3", State: claim.Running})
	s.hub.Kill(host)
}

// Of hosts that hear the same command at once one has the session; the others are told which.
func TestOneOfManyHostsContinues(t *testing.T) {
	h := claimtest.NewHub()
	var wait sync.WaitGroup
	var mu sync.Mutex
	won, taken := 0, 0
	for run := range int64(20) {
		s := newScene(t, h, claim.JobHostID(run+1, 1))
		s.comments = []ghsync.Comment{shows(public, bot)}
		wait.Go(func() {
			dir, _, err := s.Session(t.Context(), asked())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.As(err, new(*claim.TakenError)):
				taken++
			case err == nil && dir != "":
				won++
			default:
				t.Errorf("at %q, %v", dir, err)
			}
		})
	}
	wait.Wait()
	if won != 1 || taken != 19 {
		t.Errorf("%d have it, %d are told", won, taken)
	}
}

// A host that lost the files of a session gives its claim back if the command that called the session here is heard again. If
// the session had it already, nobody hears it again: the issue has to be told that the session is lost.
func TestASessionThatHadItsCommandIsLostWithItsFiles(t *testing.T) {
	by := gate.CommentTrigger(7)
	for name, c := range map[string]struct {
		trigger string
		records []journal.Record
		want    bool
	}{
		"not heard yet":        {by.String(), nil, true},
		"another was heard":    {by.String(), []journal.Record{journal.Command{Source: "comment/8", Issue: issue, Verb: "answer", State: journal.Accepted, Session: "/s"}}, true},
		"given to the session": {by.String(), []journal.Record{journal.Command{Source: by.String(), Issue: issue, Verb: "answer", State: journal.Accepted, Session: "/s"}}, false},
		"carried out": {by.String(), []journal.Record{
			journal.Command{Source: by.String(), Issue: issue, Verb: "answer", State: journal.Accepted, Session: "/s"},
			journal.Command{Source: by.String(), Issue: issue, Verb: "answer", State: journal.Done, Session: "/s"},
		}, false},
		"another try, to be judged": {by.String(), []journal.Record{journal.Command{Source: by.String(), Issue: issue, Verb: "retry", State: journal.Accepted}}, true},
		"another try, judged":       {by.String(), []journal.Record{journal.Decided{Issue: issue, Trigger: by, What: gate.Queue, Row: gate.RowStart}}, false},
		"by a label":                {"label/agentmux/2026-11-21T10:04:31Z/9", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := journal.Open(t.TempDir(), journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.records {
				if _, err := j.Append(r); err != nil {
					t.Fatal(err)
				}
			}
			seen := claim.Seen{Issue: issue, Claim: claim.Claim{Issue: issue, Session: public, Trigger: c.trigger, State: claim.Running}}
			if got := recall.Unheard(seen, j); got != c.want {
				t.Errorf("unheard %t", got)
			}
		})
	}
}
