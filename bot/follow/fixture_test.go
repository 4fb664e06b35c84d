package follow_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

const widgets = "octo/widgets"

var octoWidgets = ghsync.Repo{Owner: "octo", Name: "widgets"}

// desk is a repository with an open pull request of a session that is done, and the owner of it.
type desk struct {
	*testing.T
	hub     *fakehub.Server
	repo    *fakehub.Repo
	client  *ghsync.Client
	session *session.Session
	now     time.Time
	ahead   time.Duration // of the machine's clock
	pull    follow.Pull
	sha     string
	follow  *follow.Follow
	told    []string
	fails   error       // of Deliver
	given   chan string // source ids of what was delivered; may be nil
	gone    bool        // the owner has no pull request
	log     bytes.Buffer
}

func newDesk(t *testing.T, change ...func(*fakehub.Options)) *desk {
	t.Helper()
	d := &desk{T: t, now: noon}
	o := fakehub.Options{
		Now: func() time.Time { return d.now }, Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "robot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}, {Login: "app[bot]", Type: "Bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	}
	for login, role := range map[string]fakehub.Role{"mia": fakehub.Write, "ann": fakehub.Maintain, "tri": fakehub.Triage, "rob": fakehub.Read, "eve": fakehub.None} {
		o.Users = append(o.Users, fakehub.UserSpec{Login: login, Roles: map[string]fakehub.Role{widgets: role}})
	}
	for _, f := range change {
		f(&o)
	}
	d.hub = fakehub.Start(t, o)
	d.repo = d.hub.Repo(widgets)
	// The fake's logs lie on what is the address for people here.
	at := transport.Addresses{API: d.hub.API(), GraphQL: d.hub.GraphQL(), Server: d.hub.OtherURL()}
	var err error
	d.client, err = ghsync.New(transport.Options{
		APIURL: at.API, GraphQLURL: at.GraphQL, ServerURL: at.Server, Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(d.hub.Token("robot")), at),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	d.must(err)
	d.sha = d.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "b"}})
	pr, err := (&ghsync.PullRequest{Client: d.client}).Ensure(t.Context(), ghsync.PullRequestSpec{Repo: octoWidgets, Branch: "fix", Base: "main", Title: "t"})
	d.must(err)
	_, data, problems := workflows.Load("quick", nil)
	d.must(problems.Err())
	d.session, err = session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: d.now, Source: "tokens", Request: "Refuse expired tokens.", Definition: data,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc"},
	})
	d.must(err)
	t.Cleanup(func() { _ = d.session.Close() })
	d.pull = follow.Pull{Number: pr.Number, Dir: d.session.Dir, Head: d.sha, Rules: config.Followup{Days: 14, Rounds: 3, Quiet: 5 * time.Minute}}
	d.pull.State = &orchestrator.State{Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone}
	d.restart()
	return d
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// restart is another process, which knows nothing and hears of the pull request.
func (d *desk) restart() {
	secrets := redact.New()
	d.must(secrets.Add("host-token", d.hub.Token("robot")))
	d.follow = follow.New(follow.Options{
		Client: d.client, Repo: octoWidgets, Bot: config.Bot{MinPermission: "write"}, Owner: d, Secrets: secrets, Now: func() time.Time { return d.now },
		Local: func() time.Time { return d.now.Add(d.ahead) }, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
}

// errFault has Deliver meet a fault of the program.
var errFault = errors.New("a fault")

// Pulls, Deliver and Tell are the owner's.
func (d *desk) Pulls(context.Context) ([]follow.Pull, error) {
	if d.gone {
		return nil, nil
	}
	return []follow.Pull{d.pull}, nil
}

func (d *desk) Deliver(_ context.Context, p follow.Pull, c orchestrator.Payload) error {
	if d.fails == errFault {
		panic("a fault")
	}
	if d.fails != nil {
		return d.fails
	}
	err := d.record(p, c)
	if d.given != nil {
		d.given <- c.SourceID
	}
	return err
}

func (d *desk) Tell(_ context.Context, p follow.Pull, c orchestrator.Payload, reason string) error {
	d.told = append(d.told, reason)
	return d.record(p, c)
}

func (d *desk) record(p follow.Pull, c orchestrator.Payload) error {
	s, err := session.Open(p.Dir)
	if err != nil {
		return err
	}
	return s.Append(session.Commands, d.now.Add(d.ahead), func(session.Tail) (*session.NewLine, error) {
		return &session.NewLine{Tool: "command", Payload: c}, nil
	})
}

// heard is what the intake does: it hands on the open pull request with its reviews.
func (d *desk) heard() {
	d.Helper()
	in := ghsync.Intake{Client: d.client}
	pulls, err := in.OpenPulls(d.Context(), octoWidgets)
	d.must(err)
	reviews, err := in.Reviews(d.Context(), octoWidgets, d.pull.Number)
	d.must(err)
	for _, p := range pulls {
		d.follow.Hear(p, reviews...)
	}
}

// pass lets time go by, with a look whenever one is due.
func (d *desk) pass(t time.Duration) {
	d.Helper()
	for end := d.now.Add(t); ; {
		wait := d.follow.Turn(d.Context())
		if wait < 0 {
			d.Fatalf("wait %s", wait)
		}
		if !d.now.Add(wait).Before(end) {
			d.now = end
			d.follow.Turn(d.Context())
			return
		}
		d.now = d.now.Add(max(wait, time.Second))
	}
}

// rounds are the commands of the session, oldest first.
func (d *desk) rounds() []orchestrator.Payload {
	d.Helper()
	lines, _, err := d.session.Lines(session.Commands, orchestrator.Cursor{}, 0)
	d.must(err)
	var all []orchestrator.Payload
	for _, l := range lines {
		p, err := l.Decode()
		d.must(err)
		if p.State == "" {
			all = append(all, p)
		}
	}
	return all
}

// sources are the source ids of the rounds, with the ids of reviews and checks by their names.
func (d *desk) sources(names map[string]string) string {
	d.Helper()
	var all []string
	for _, p := range d.rounds() {
		parts := strings.Split(p.SourceID, ",")
		for i, part := range parts {
			if name, ok := names[part]; ok {
				parts[i] = name
			}
		}
		slices.Sort(parts)
		all = append(all, strings.Join(parts, "+"))
	}
	return strings.Join(all, " ")
}

// push is what a round leads to: another commit on the branch.
func (d *desk) push() {
	d.Helper()
	d.sha = d.repo.Commit(fakehub.CommitSpec{Branch: "fix", Message: "round", Files: map[string]string{"a": d.now.String()}})
	d.pull.Head = d.sha
	d.heard()
}
