package bot_test

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/front"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testexit"
)

// TestMain lets the test binary answer as the askpass program.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

const (
	widgets = "octo/widgets"
	robo    = "robo" // the bot's account
	mia     = "mia"  // who asks
)

var octoWidgets = ghsync.Repo{Owner: "octo", Name: "widgets"}

// rig is a bot of one repository. Without roomy it has no slot for a session: what it decides and tells is seen on the server.
type rig struct {
	*testing.T
	server *fakehub.Server
	repo   *fakehub.Repo
	client *ghsync.Client // of the bot's account
	token  transport.TokenSource
	roomy  *roomy
	front  string // where its git finds the server
	state  string // the state home of the bot that was made last

	mu    sync.Mutex
	ahead time.Duration // of the clock of the server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t}
	r.server = fakehub.Start(t, fakehub.Options{
		Now:   r.now,
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets", Private: true}},
		Users: []fakehub.UserSpec{
			{Login: robo, Roles: map[string]fakehub.Role{widgets: fakehub.Write}}, {Login: mia, Roles: map[string]fakehub.Role{widgets: fakehub.Write}},
		},
	})
	r.repo = r.server.Repo(widgets)
	r.connect(front.Open(t, r.server, r.server.Token(robo)))
	return r
}

// connect has the bot's account reach git at an address.
func (r *rig) connect(server string) {
	r.Helper()
	addresses := transport.Addresses{API: r.server.API(), GraphQL: r.server.GraphQL(), Server: server}
	r.front = server
	r.token = transport.StaticToken(transport.ModeToken, redact.NewSecret(r.server.Token(robo)), addresses)
	var err error
	if r.client, err = ghsync.New(transport.Options{
		APIURL: addresses.API, GraphQLURL: addresses.GraphQL, ServerURL: addresses.Server, Token: r.token, Pause: time.Millisecond,
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond, ContentPerMinute: 1e6, ContentPerHour: 1e6},
	}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.ahead)
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead += d
}

// For and the methods after it are the Accounts of the bot.
func (r *rig) For(context.Context, ghsync.Repo) (account.Account, error) {
	return account.Account{Client: r.client, Token: r.token, Server: r.front, Name: robo}, nil
}

func (r *rig) Sweep(context.Context, string) (*ghsync.Client, error) { return r.client, nil }

func (*rig) Absent() []account.Absence { return nil }

func (*rig) Quotas() map[int64]map[string]transport.Quota { return nil }

func (*rig) Traffic() map[int64]transport.Traffic { return nil }

// roomy is what a bot has that begins sessions.
type roomy struct {
	own string // the file of its configuration
	log func(file string) (*slog.Logger, io.Closer, error)
}

// Lacks and Paused are the Machine of the bot.
func (r *rig) Lacks(context.Context) []string {
	if r.roomy != nil {
		return nil
	}
	return []string{"room"}
}

func (r *rig) Paused() bool { return r.roomy == nil }

// serve has a bot serve the repository once, until everything was read and judged, and every ticket has ended.
func (r *rig) serve() {
	r.Helper()
	if err := r.bot(true).Run(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// serveUntil has a bot serve the repository until something is so.
func (r *rig) serveUntil(is func() bool) {
	r.Helper()
	r.serveWith(r.bot(false), is)
}

// serveWith has that bot serve the repository until something is so.
func (r *rig) serveWith(b *bot.Bot, is func() bool) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	for !is() {
		select {
		case err := <-ended:
			r.Fatalf("the bot ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		r.Error(err)
	}
}

func (r *rig) bot(once bool) *bot.Bot {
	r.Helper()
	home := r.TempDir()
	r.state = filepath.Join(home, "state")
	own, slots := "", 1
	sessionLog := func(string) (*slog.Logger, io.Closer, error) {
		return slog.New(slog.DiscardHandler), io.NopCloser(nil), nil
	}
	if r.roomy != nil {
		own, slots, sessionLog = r.roomy.own, 2, r.roomy.log
	}
	load := func(files fs.FS) (*config.Config, document.Problems) {
		return config.Load(config.Sources{UserFile: own, Project: files, Home: home})
	}
	c, problems := load(fstest.MapFS{})
	if err := problems.Err(); err != nil {
		r.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(r.Output(), nil))
	b, err := bot.New(bot.Options{
		Config: c, ConfigOf: load, Accounts: r, Machine: r, Repos: []ghsync.Repo{octoWidgets}, Slots: slots, Once: once, Now: r.now, Log: log,
		Host: host.Options{
			Self: os.Args[0], StateHome: r.state, RuntimeDir: filepath.Join(home, "run"), Home: home, Log: log, Now: r.now,
			Redactor: redact.New(), Environ: func(string) (string, bool) { return "", false },
		},
		SessionLog: sessionLog,
	})
	if err != nil {
		r.Fatal(err)
	}
	return b
}

// claimed has another host hold the claim of an issue.
func (r *rig) claimed(issue int, trigger string) {
	r.Helper()
	store, err := claim.OpenStore(r.Context(), r.TempDir())
	if err != nil {
		r.Fatal(err)
	}
	token := r.server.Token(robo)
	_, err = claim.NewRemote(claim.Options{
		Repo:  remote.Repository{URL: r.server.CloneURL(widgets), Secret: func(context.Context) (string, error) { return token, nil }},
		Store: store, RepoID: r.repo.ID(), Host: claim.NewHostID(),
	}).Take(r.Context(), claim.Want{Issue: issue, Session: "20261121-100436-issue-12-say-two-0123456789abcdef", Trigger: trigger, State: claim.Running})
	if err != nil {
		r.Fatal(err)
	}
}
