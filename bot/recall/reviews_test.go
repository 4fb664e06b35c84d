package recall_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/claim/claimtest"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// room is a host without the session of a pull request, the checkpoint of that session, and the server.
type room struct {
	recall.Reviews
	hub    *claimtest.Hub
	repo   *fakehub.Repo
	now    time.Time
	pull   int
	head   string
	known  bool
	here   bool
	lines  string // of commands.jsonl
	looked int    // how often the checkpoint was read
	none   bool   // it is not on the server
	made   time.Time
	change func(*orchestrator.State) // of the session in it
}

func newRoom(t *testing.T, body string) *room {
	t.Helper()
	const widgets = "octo/widgets"
	m := &room{hub: claimtest.NewHub(), now: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)}
	server := fakehub.Start(t, fakehub.Options{
		Now: func() time.Time { return m.now }, Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{
			{Login: "robot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}, {Login: "mia", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
			{Login: "rob", Roles: map[string]fakehub.Role{widgets: fakehub.Read}}, {Login: "app[bot]", Type: "Bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
		},
	})
	m.repo = server.Repo(widgets)
	for range issue {
		m.repo.AddIssue(fakehub.IssueSpec{Title: "t", Author: "mia"})
	}
	at := transport.Addresses{API: server.API(), GraphQL: server.GraphQL(), Server: server.OtherURL()}
	client, err := ghsync.New(transport.Options{
		APIURL: at.API, GraphQLURL: at.GraphQL, ServerURL: at.Server, Pause: time.Millisecond, Now: func() time.Time { return m.now },
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(server.Token("robot")), at),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	octo := ghsync.Repo{Owner: "octo", Name: "widgets"}
	m.head = m.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m\n\nAgentmux-Session: " + public, Files: map[string]string{"a": "b"}})
	pr, err := (&ghsync.PullRequest{Client: client}).Ensure(t.Context(), ghsync.PullRequestSpec{Repo: octo, Branch: "fix", Base: "main", Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	m.pull = pr.Number
	m.repo.EditIssue(m.pull, "robot", nil, &body)
	own, err := client.Viewer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	m.Reviews = recall.Reviews{
		Pulls: &recall.Pulls{GitHub: client}, Client: client, Repo: octo, Checks: true, Bot: config.Bot{MinPermission: "write"}, Own: own, Log: log,
		Here: func(context.Context, recall.Pull) (bool, error) { return m.here, nil }, Known: func(string) bool { return m.known },
		Permission: func(ctx context.Context, login string) (ghsync.Permission, error) {
			return client.CurrentPermission(ctx, octo, login)
		},
		Claims: orphan.New(orphan.Options{
			Desk: m.hub.Desk("h_0123456789abcdef"), Own: "h_0123456789abcdef", Now: time.Now, Log: log, Found: func(int) {},
			Room:  func(context.Context) bool { return true },
			Saved: func(context.Context, string) (bool, error) { return true, nil },
		}),
		Saved: m.saved,
	}
	return m
}

// saved is the checkpoint of a session that is done.
func (m *room) saved(context.Context, recall.Pull) (*checkpoint.Fetched, config.Followup, error) {
	m.looked++
	if m.none {
		return nil, config.Followup{}, checkpoint.ErrNone
	}
	s := orchestrator.NewState()
	s.Phase, s.Outcome, s.LastEvent = orchestrator.PhaseDone, orchestrator.OutcomeDone, orchestrator.LastResumed
	s.Completion.Commit, s.Completion.PRNumber = m.head, m.pull
	s.Trigger = asked12
	if m.change != nil {
		m.change(s)
	}
	state, err := s.Encode()
	return &checkpoint.Fetched{Manifest: checkpoint.Manifest{At: m.made}, Session: map[string][]byte{session.StateFile: state, session.Commands: []byte(m.lines)}}, config.Followup{Days: 14, Rounds: 3, Quiet: 5 * time.Minute}, err
}

// took is the line of a session that got what reviews ask for.
func (m *room) took(sources string) {
	m.lines += fmt.Sprintf(`{"v":1,"id":"c-%d","timestamp":%q,"tool":"command","payload":{"name":"changes","actor":"mia","source":"issue","source_id":%q,"origin":"follow-up","args":{"text":"t"}}}`+"\n",
		len(m.lines), m.now.Format(time.RFC3339), sources)
}

const marked = "Closes #12\n\n<!-- agentmux session=" + public + " kind=status seq=9 -->"

// What reviews ask of a session that another machine had is asked for here once that machine had its time, and only if it
// did not take it, by somebody who may ask.
func TestReviewsAreForASessionOfAnotherMachine(t *testing.T) {
	const changes, command = "CHANGES_REQUESTED", "/agentmux changes say three"
	for name, c := range map[string]struct {
		state, body, by string
		after           time.Duration
		do              func(m *room, id int64)
		commands        bool
		round           bool
		looked          bool // at the checkpoint
	}{
		"a command":                   {"COMMENTED", command, "mia", recall.Grace, nil, true, false, true},
		"a command that just came":    {"COMMENTED", command, "mia", recall.Grace - time.Second, nil, false, false, false},
		"a command of yesterday":      {"COMMENTED", command, "mia", 24 * time.Hour, nil, false, false, false},
		"a command of a stranger":     {"COMMENTED", command, "rob", time.Hour, nil, false, false, false},
		"a command of a program":      {"COMMENTED", command, "app[bot]", time.Hour, nil, false, false, false},
		"a command that was judged":   {"COMMENTED", command, "mia", time.Hour, func(m *room, _ int64) { m.known = true }, false, false, false},
		"a command that was taken":    {"COMMENTED", command, "mia", time.Hour, func(m *room, id int64) { m.took(fmt.Sprint("review/", id)) }, false, false, true},
		"a command to a live session": {"COMMENTED", command, "mia", time.Hour, func(m *room, _ int64) { m.live() }, false, false, false},
		"no checkpoint":               {"COMMENTED", command, "mia", time.Hour, func(m *room, _ int64) { m.none = true }, false, false, true},
		"no command":                  {"COMMENTED", "Nice.", "mia", time.Hour, nil, false, false, false},
		"changes":                     {changes, "Louder.", "mia", 5*time.Minute + recall.Grace, nil, false, true, true},
		"changes in the quiet time":   {changes, "Louder.", "mia", 5*time.Minute + recall.Grace - time.Second, nil, false, false, true},
		"changes by a stranger":       {changes, "Louder.", "rob", time.Hour, nil, false, false, false},
		"changes that were taken":     {changes, "Louder.", "mia", time.Hour, func(m *room, id int64) { m.took(fmt.Sprint("check/1/x,review/", id)) }, false, false, true},
		"changes after a round": {changes, "Louder.", "mia", 59 * time.Minute, func(m *room, _ int64) {
			m.now = m.now.Add(-59 * time.Minute)
			m.took("review/1")
			m.now = m.now.Add(59 * time.Minute)
		}, false, false, true},
		"changes, and the follow-ups were stopped": {changes, "Louder.", "mia", time.Hour, func(m *room, _ int64) {
			m.repo.Comment(m.pull, "/agentmux stop", "mia")
		}, false, false, true},
		"changes, and stopped on the issue": {changes, "Louder.", "mia", time.Hour, func(m *room, _ int64) {
			m.repo.Comment(issue, "/agentmux stop", "mia")
		}, false, false, true},
		"changes, and stopped in a review": {changes, "Louder.", "mia", time.Hour, func(m *room, _ int64) {
			m.repo.Review(m.pull, "mia", "COMMENTED", "/agentmux stop")
			m.known = true
		}, false, false, true},
		"changes, and a stranger says stop": {changes, "Louder.", "mia", time.Hour, func(m *room, _ int64) {
			m.repo.Comment(m.pull, "/agentmux stop", "rob")
		}, false, true, true},
		"changes, and a stop before the checkpoint": {changes, "Louder.", "mia", time.Hour, func(m *room, _ int64) {
			m.repo.Comment(m.pull, "/agentmux stop", "mia")
			m.now = m.now.Add(time.Hour)
			m.made = m.now
		}, false, true, true},
		"changes of an old head": {changes, "Louder.", "mia", time.Hour, func(m *room, _ int64) {
			m.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "n", Files: map[string]string{"a": "c"}})
		}, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRoom(t, marked)
			id := m.repo.Review(m.pull, c.by, c.state, c.body)
			m.now = m.now.Add(c.after)
			if c.do != nil {
				c.do(m, id)
			}
			w, err := m.Read(t.Context(), m.pull)
			if err != nil {
				t.Fatal(err)
			}
			heard := slices.ContainsFunc(w.Commands, func(v ghsync.Review) bool { return v.ID == id })
			if heard != c.commands || (w.Round == id) != c.round || (m.looked > 0) != c.looked || w.Issue != issue || w.Session != public {
				t.Errorf("heard %v, %+v, looked %d times", heard, w, m.looked)
			}
		})
	}
}

// A checkpoint that a review needs may still come: it is looked for again, and not for ever.
func TestACheckpointThatIsStillToCome(t *testing.T) {
	m := newRoom(t, marked)
	m.none = true
	id := m.repo.Review(m.pull, "mia", "COMMENTED", "/agentmux changes louder")
	m.now = m.now.Add(time.Hour)
	looks := 0
	for again := time.Second; again > 0; looks++ {
		w, err := m.Read(t.Context(), m.pull)
		if err != nil || looks > 20 {
			t.Fatalf("looked %d times: %v", looks, err)
		}
		again = w.Again
	}
	if looks != 12 {
		t.Errorf("looked for %d times", looks)
	}
	m.none = false
	if w, err := m.Read(t.Context(), m.pull); err != nil || len(w.Commands) != 1 || w.Commands[0].ID != id {
		t.Errorf("once it is there: %+v, %v", w, err)
	}
}

// asked12 is what the session was asked for by.
const asked12 = "label/agentmux/2026-11-21T10:04:31Z/9"

// A head without checks is looked at once more, since they may be still to come; so is the next head.
func TestChecksThatAreStillToCome(t *testing.T) {
	m := newRoom(t, marked)
	again := func() time.Duration {
		w, err := m.Read(t.Context(), m.pull)
		if err != nil {
			t.Fatal(err)
		}
		return w.Again
	}
	if first, then := again(), again(); first != 5*time.Minute || then != 0 {
		t.Errorf("again after %s, then %s", first, then)
	}
	m.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "n", Files: map[string]string{"a": "c"}})
	if first, then := again(), again(); first != 5*time.Minute || then != 0 {
		t.Errorf("the next head: again after %s, then %s", first, then)
	}
}

// A check that failed asks for changes of a session of another machine, once that machine had its time and did not take it.
func TestAFailedCheckIsForASessionOfAnotherMachine(t *testing.T) {
	const quiet = 5 * time.Minute
	for name, c := range map[string]struct {
		result string // of the check; empty: it is not finished
		after  time.Duration
		do     func(m *room, check int64)
		want   string
		looked bool // at the checkpoint
	}{
		"failed":                     {"failure", quiet + recall.Grace, nil, "round", true},
		"in the quiet time":          {"failure", quiet + recall.Grace - time.Second, nil, "again", true},
		"passed":                     {"success", time.Hour, nil, "", false},
		"not finished":               {"", time.Hour, nil, "again", false},
		"to a job":                   {"failure", time.Hour, func(m *room, _ int64) { m.Checks = false }, "", false},
		"taken":                      {"failure", time.Hour, func(m *room, id int64) { m.took(fmt.Sprintf("check/%d/%s", id, m.head)) }, "", true},
		"to a live session":          {"failure", time.Hour, func(m *room, _ int64) { m.live() }, "again", false},
		"no checkpoint":              {"failure", time.Hour, func(m *room, _ int64) { m.none = true }, "again", true},
		"the follow-ups are stopped": {"failure", time.Hour, func(m *room, _ int64) { m.repo.Comment(m.pull, "/agentmux stop", "mia") }, "", true},
		"with a review that wants changes": {"failure", time.Hour, func(m *room, _ int64) {
			m.now = m.now.Add(-time.Hour)
			m.repo.Review(m.pull, "mia", "CHANGES_REQUESTED", "Louder.")
			m.now = m.now.Add(time.Hour)
		}, "review", true},
		"with a review that has a command": {"failure", time.Hour, func(m *room, _ int64) {
			m.now = m.now.Add(-time.Hour)
			m.repo.Review(m.pull, "mia", "COMMENTED", "/agentmux changes louder")
			m.now = m.now.Add(time.Hour)
		}, "command", true},
		"all rounds are done": {"failure", time.Hour, func(m *room, _ int64) {
			m.now = m.now.Add(-2 * time.Hour)
			for n := range 3 {
				m.took(fmt.Sprint("review/", n))
			}
			m.now = m.now.Add(2 * time.Hour)
		}, "", true},
		"the session waits for a person": {"failure", time.Hour, func(m *room, _ int64) {
			m.change = func(s *orchestrator.State) { s.Phase, s.Outcome = "completing", orchestrator.OutcomeNeedsHuman }
		}, "", true},
		"the pull request is closed": {"failure", time.Hour, func(m *room, _ int64) { m.repo.Merge(m.pull, "mia") }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRoom(t, marked)
			id := m.repo.AddCheck(m.head, fakehub.CheckSpec{Name: "test", Conclusion: c.result})
			m.now = m.now.Add(c.after)
			if c.do != nil {
				c.do(m, id)
			}
			w, err := m.Read(t.Context(), m.pull)
			got := ""
			switch {
			case len(w.Commands) > 0:
				got = "command"
			case w.Round != 0:
				got = "review"
			case w.First.String() == asked12 && w.Head == m.head:
				got = "round"
			case w.Again != 0:
				got = "again"
			}
			if err != nil || got != c.want || (m.looked > 0) != c.looked {
				t.Errorf("%q, looked %d times, %+v, %v", got, m.looked, w, err)
			}
		})
	}
}

// live has another host work on the issue.
func (m *room) live() {
	held, err := m.hub.Desk("h_fedcba9876543210").Take(context.Background(), claim.Want{Issue: issue, Session: public, State: claim.Running})
	if err != nil || held == nil {
		panic(err)
	}
}

// A pull request that is not of a session costs one request, however often it changes.
func TestOtherPullRequestsAreReadOnce(t *testing.T) {
	m := newRoom(t, "Closes #12")
	m.repo.Review(m.pull, "mia", "COMMENTED", "/agentmux changes say three")
	m.now = m.now.Add(time.Hour)
	for range 3 {
		if w, err := m.Read(t.Context(), m.pull); err != nil || w.Issue != 0 || len(w.Commands) > 0 || m.looked > 0 {
			t.Errorf("%+v, %v", w, err)
		}
	}
}
