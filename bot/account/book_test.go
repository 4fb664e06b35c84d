package account_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

var (
	widgets = ghsync.Repo{Owner: "octo", Name: "widgets"}
	gadgets = ghsync.Repo{Owner: "octo", Name: "gadgets"}
	rockets = ghsync.Repo{Owner: "acme", Name: "rockets"}
)

// office is a GitHub with three repositories of two owners, and what a process has beside it.
type office struct {
	t      *testing.T
	server *fakehub.Server
	app    fakehub.App // on those of octo
	other  fakehub.App // the same App on those of acme
	key    string
	redact *redact.Redactor

	mu    sync.Mutex
	clock time.Time
	log   bytes.Buffer
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), redact: redact.New()}
	o.server = fakehub.Start(t, fakehub.Options{
		Now:   o.now,
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets", Private: true}, {Owner: "octo", Name: "gadgets", Private: true}, {Owner: "acme", Name: "rockets", Private: true}},
		Users: []fakehub.UserSpec{{Login: "robot", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write, "octo/gadgets": fakehub.Write}}},
	})
	o.app = o.server.AddApp(fakehub.AppSpec{Slug: "amx", Permissions: installation.Permissions(), Repos: []string{"octo/widgets", "octo/gadgets"}})
	o.other = o.server.Install(o.app, "acme/rockets")
	o.key = filepath.Join(t.TempDir(), "app.pem")
	o.write(o.key, string(o.app.Key), 0o600)
	return o
}

func (o *office) write(file, text string, mode os.FileMode) {
	o.t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		o.t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) now() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.clock
}

func (o *office) later(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clock = o.clock.Add(d)
}

// logged counts the lines of the log with a text.
func (o *office) logged(text string) int { return strings.Count(o.log.String(), text) }

// asApp is the configuration of the office's App.
func (o *office) asApp() string {
	return fmt.Sprintf("github: {auth: app, app: {client_id: %s, key_file: %s}}\n", o.app.ClientID, o.key)
}

// open opens the book of a process with a configuration and tokens.
func (o *office) open(own string, tokens account.Tokens, job ...bool) (*account.Book, error) {
	o.t.Helper()
	c := load(o.t, "version: 2\n"+own)
	o.t.Setenv("GITHUB_SERVER_URL", o.server.URL())
	o.t.Setenv("GITHUB_API_URL", o.server.API())
	o.t.Setenv("GITHUB_GRAPHQL_URL", o.server.GraphQL())
	if len(job) > 0 && job[0] {
		o.t.Setenv("GITHUB_ACTIONS", "true")
	}
	if tokens.GH == nil {
		tokens.GH = noGH
	}
	return account.Open(account.BookSpec{
		Config: c, Tokens: &tokens, Redactor: o.redact, Now: o.now, Log: slog.New(slog.NewTextHandler(&o.log, nil)),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond, ContentPerMinute: 1e6, ContentPerHour: 1e6}, Pause: time.Millisecond,
	})
}

func (o *office) mustOpen(own string, tokens account.Tokens, job ...bool) *account.Book {
	o.t.Helper()
	b, err := o.open(own, tokens, job...)
	if err != nil {
		o.t.Fatal(err)
	}
	return b
}

// of returns the account for a repository.
func (o *office) of(b *account.Book, repo ghsync.Repo) account.Account {
	o.t.Helper()
	a, err := b.For(o.t.Context(), repo)
	if err != nil {
		o.t.Fatal(err)
	}
	return a
}

func (o *office) reads(a account.Account, repo ghsync.Repo) error {
	_, err := a.Client.Repository(o.t.Context(), repo.Owner, repo.Name)
	return err
}

func (o *office) comments(c *ghsync.Client, repo ghsync.Repo, issue int) error {
	_, _, err := (ghsync.Comments{Client: c}).Create(o.t.Context(), repo, issue, markdown.Finish(redact.New(), "a comment"))
	return err
}

// Under an App the token of a repository is of no use in another one, and that of the sweep reads
// the issues of all and writes nowhere.
func TestEachRepositoryHasATokenOfItsOwn(t *testing.T) {
	o := newOffice(t)
	for _, name := range []string{"octo/widgets", "octo/gadgets"} {
		o.server.Repo(name).AddIssue(fakehub.IssueSpec{Title: "t", Author: "robot"})
	}
	b := o.mustOpen(o.asApp(), account.Tokens{})
	own := o.of(b, widgets)
	if err := o.reads(own, widgets); err != nil {
		t.Fatal(err)
	}
	if err := o.comments(own.Client, widgets, 1); err != nil {
		t.Error(err)
	}
	if err := o.reads(own, gadgets); !transport.IsNotFound(err) {
		t.Errorf("the other repository: %v", err)
	}
	o.later(51 * time.Minute) // the second token is asked for by the repository's id
	if err := o.reads(own, gadgets); !transport.IsNotFound(err) {
		t.Errorf("the other repository, with the second token: %v", err)
	}
	if again := o.of(b, ghsync.Repo{Owner: "Octo", Name: "Widgets"}); again.Client != own.Client {
		t.Error("a second client of one repository")
	}
	sweep, err := b.Sweep(t.Context(), "octo")
	if err != nil {
		t.Fatal(err)
	}
	for _, repo := range []ghsync.Repo{widgets, gadgets} {
		if issues, _, err := (ghsync.Intake{Client: sweep}).RecentIssues(t.Context(), repo, 1); err != nil || len(issues) != 1 {
			t.Errorf("%s: %d issues, %v", repo, len(issues), err)
		}
		if err := o.comments(sweep, repo, 1); err == nil {
			t.Errorf("the token of the sweep writes to %s", repo)
		}
	}
	if _, _, err := (ghsync.Intake{Client: sweep}).RecentIssues(t.Context(), rockets, 1); err == nil {
		t.Error("the token of one owner reads what is another's")
	}
}

// A token that has ended is searched for in texts for another day, and then no more.
func TestATokenIsKnownADayAfterItsEnd(t *testing.T) {
	o := newOffice(t)
	a := o.of(o.mustOpen(o.asApp(), account.Tokens{}), widgets)
	mint := func() string {
		t.Helper()
		secret, err := a.Token.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return secret.Reveal()
	}
	first := mint()
	o.later(24*time.Hour + 59*time.Minute)
	second := mint()
	if first == second || len(o.redact.Scan(first)) == 0 || len(o.redact.Scan(second)) == 0 {
		t.Error("a token is not known on the day after its end")
	}
	o.later(2 * time.Hour)
	third := mint()
	if left := o.redact.Scan(first); len(left) > 0 && left[0].Exact {
		t.Error("a token is known two days after its end")
	}
	if len(o.redact.Scan(second)) == 0 || len(o.redact.Scan(third)) == 0 {
		t.Error("the others are forgotten, too")
	}
}

// The repositories of an installation share its limits, those of two installations do not.
func TestOneLimitForEachInstallation(t *testing.T) {
	o := newOffice(t)
	b := o.mustOpen(o.asApp()+"", account.Tokens{})
	for _, repo := range []ghsync.Repo{widgets, gadgets, rockets} {
		if err := o.reads(o.of(b, repo), repo); err != nil {
			t.Fatal(err)
		}
	}
	quotas := b.Quotas()
	if len(quotas) != 2 || quotas[o.app.InstallationID] == nil || quotas[o.other.InstallationID] == nil {
		t.Errorf("limits of %v, want those of %d and %d", quotas, o.app.InstallationID, o.other.InstallationID)
	}
	for _, a := range []account.Account{o.of(b, widgets), o.of(b, gadgets)} {
		if got, want := a.Client.Quotas()["core"], o.of(b, widgets).Client.Quotas()["core"]; got != want || got.Limit == 0 {
			t.Errorf("%+v beside %+v", got, want)
		}
	}
}

// Each value of github.auth, and auto with each source, acts in its mode as its account.
func TestGitHub73EachModeActsAsItsAccount(t *testing.T) {
	o := newOffice(t)
	file := filepath.Join(t.TempDir(), "token")
	token := o.server.Token("robot")
	o.write(file, token+"\n", 0o400)
	job := o.server.ActionsToken("octo/widgets", map[string]string{"issues": "write", "contents": "write"}, 0)
	variable := func(value string) account.Tokens {
		return account.Tokens{Variables: map[string]string{"GITHUB_TOKEN": value}}
	}
	gh := account.Tokens{GH: func(string) (string, string) { return token, "gh (oauth_token)" }}
	everything := account.Tokens{Variables: map[string]string{"AGENTMUX_GITHUB_TOKEN": token}, File: file, GH: gh.GH}
	own := account.Tokens{Variables: map[string]string{"AGENTMUX_GITHUB_TOKEN": token}}
	auto := strings.Replace(o.asApp(), "auth: app", "auth: auto", 1)
	for name, c := range map[string]struct {
		own    string
		tokens account.Tokens
		job    bool
		mode   transport.Mode
		login  string
		from   string
	}{
		"app":               {o.asApp(), everything, false, transport.ModeApp, "amx[bot]", "the App"},
		"token, variable":   {"github: {auth: token}\n", own, false, transport.ModeToken, "robot", "AGENTMUX_GITHUB_TOKEN"},
		"token, file":       {"github: {auth: token}\n", everything, false, transport.ModeToken, "robot", account.FileVariable},
		"gh":                {"github: {auth: gh}\n", everything, false, transport.ModeGH, "robot", "gh (oauth_token)"},
		"actions":           {"github: {auth: actions}\n", variable(job), true, transport.ModeActions, "github-actions[bot]", "GITHUB_TOKEN"},
		"auto, job":         {auto, variable(job), true, transport.ModeActions, "github-actions[bot]", "GITHUB_TOKEN"},
		"auto, app":         {auto, everything, false, transport.ModeApp, "amx[bot]", "the App"},
		"auto, file":        {"", account.Tokens{File: file, GH: gh.GH}, false, transport.ModeToken, "robot", account.FileVariable},
		"auto, variable":    {"", account.Tokens{Variables: own.Variables, GH: gh.GH}, false, transport.ModeToken, "robot", "AGENTMUX_GITHUB_TOKEN"},
		"auto, nothing set": {"", gh, false, transport.ModeGH, "robot", "gh (oauth_token)"},
	} {
		t.Run(name, func(t *testing.T) {
			o.t = t
			o.log.Reset()
			a := o.of(o.mustOpen(c.own, c.tokens, c.job), widgets)
			me, err := a.Client.Viewer(t.Context())
			if err != nil || a.Token.Mode() != c.mode || strings.TrimSuffix(me.Login, "[bot]") != strings.TrimSuffix(c.login, "[bot]") {
				t.Errorf("%s as %s: %v", a.Token.Mode(), me.Login, err)
			}
			if !strings.HasPrefix(a.Name, c.from) {
				t.Errorf("from %q", a.Name)
			}
			secret, err := a.Token.Token(t.Context())
			if err != nil || o.redact.Redact(secret.Reveal()) == secret.Reveal() {
				t.Errorf("a token is not known to the redactor: %v", err)
			}
			if warned := o.logged("level=WARN"); (warned == 1) != (c.mode == transport.ModeGH) {
				t.Errorf("%d warnings: %s", warned, o.log.String())
			}
		})
	}
}

// Without an account the bot does not start, and says what to do.
func TestNoAccountNoBook(t *testing.T) {
	o := newOffice(t)
	loose := filepath.Join(t.TempDir(), "loose")
	o.write(loose, "ghp_"+strings.Repeat("a", 36), 0o644)
	empty := filepath.Join(t.TempDir(), "empty")
	o.write(empty, "\n", 0o600)
	lines := filepath.Join(t.TempDir(), "lines")
	o.write(lines, "one\ntwo\n", 0o600)
	for name, c := range map[string]struct {
		tokens account.Tokens
		want   string
	}{
		"nothing":              {account.Tokens{}, "no GitHub token"},
		"readable by others":   {account.Tokens{File: loose}, "chmod 600"},
		"empty":                {account.Tokens{File: empty}, "is empty"},
		"several words":        {account.Tokens{File: lines}, "more than one word"},
		"a directory":          {account.Tokens{File: t.TempDir()}, "not a regular file"},
		"missing":              {account.Tokens{File: loose + "x"}, "no such file"},
		"too short to be real": {account.Tokens{Variables: map[string]string{"AGENTMUX_GITHUB_TOKEN": "x"}}, "too short"},
	} {
		t.Run(name, func(t *testing.T) {
			o.t = t
			_, err := o.open("github: {auth: token}\n", c.tokens)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
