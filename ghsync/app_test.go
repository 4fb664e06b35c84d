package ghsync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// installed is an App with permissions on octo/widgets; ours is the clock of this machine.
type installed struct {
	server *fakehub.Server
	app    fakehub.App
	key    string
	theirs time.Time
	local  time.Time
	minted int
}

func newInstalled(t *testing.T, permissions map[string]string) *installed {
	t.Helper()
	in := &installed{theirs: sceneStart, local: sceneStart}
	in.server = world(t, func(o *fakehub.Options) { o.Now = func() time.Time { return in.theirs } })
	in.app = in.server.AddApp(fakehub.AppSpec{Slug: "amx", Permissions: permissions, Repos: []string{widgets}})
	in.key = filepath.Join(t.TempDir(), "app.pem")
	writeFile(t, in.key, in.app.Key)
	return in
}

func (in *installed) client(t *testing.T, change ...func(*installation.Options)) (*ghsync.Client, *installation.Installation) {
	t.Helper()
	o := installation.Options{
		APIURL: in.server.API(), ClientID: in.app.ClientID, KeyFile: in.key, Repo: widgets,
		Now: func() time.Time { return in.local }, Minted: func(redact.Secret) { in.minted++ },
	}
	for _, f := range change {
		f(&o)
	}
	app, err := installation.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ghsync.New(transport.Options{
		APIURL: in.server.API(), GraphQLURL: in.server.GraphQL(), ServerURL: in.server.URL(), Token: app,
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond}, Pause: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, app
}

// sentBodies are the bodies of the requests sent through it.
type sentBodies []string

func (b *sentBodies) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		*b = append(*b, string(data))
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(data))
	}
	return http.DefaultTransport.RoundTrip(req)
}

func (in *installed) advance(d time.Duration) {
	in.theirs, in.local = in.theirs.Add(d), in.local.Add(d)
}

// One mint is in flight at a time, and who waits for it goes when their context ends: neither
// they nor what only reads what is known are held by a server that says nothing.
func TestAMintBlocksNoOtherCall(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	_, app := in.client(t, func(o *installation.Options) {
		o.HTTP = roundTrip(func(req *http.Request) (*http.Response, error) {
			asked <- struct{}{}
			select {
			case <-answer:
				return http.DefaultTransport.RoundTrip(req)
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		})
	})
	first, give := context.WithCancel(t.Context())
	tokens := make(chan error, 3)
	for _, ctx := range []context.Context{first, t.Context()} {
		go func() {
			_, err := app.Token(ctx)
			tokens <- err
		}()
		if ctx == first {
			<-asked
		}
	}
	brief, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := app.Token(brief); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %v", err)
	}
	if app.Missing() != nil || app.Granted() != nil || !app.Expire(redact.Secret{}) {
		t.Error("something is known before the first token")
	}
	if len(asked) > 0 {
		t.Error("two mints at a time")
	}
	give() // the call that mints gives up: the other one continues
	if err := <-tokens; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who gave up: %v", err)
	}
	<-asked
	close(answer)
	if err := <-tokens; err != nil || in.minted != 1 {
		t.Errorf("%d minted, %v", in.minted, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// An installation is an oauth2.TokenSource: the token is the one that was minted, until
// shortly before its end, and is another one after it was refused.
func TestAppIsATokenSource(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	_, app := in.client(t)
	token := func() string {
		t.Helper()
		got, err := app.For(t.Context()).Token()
		if err != nil || got.Type() != "Bearer" || !got.Valid() {
			t.Fatalf("token %v of type %s: %v", got.Valid(), got.Type(), err)
		}
		return got.AccessToken
	}
	first := token()
	in.advance(50*time.Minute - time.Second)
	if secret, err := app.Token(t.Context()); err != nil || secret.Reveal() != first || token() != first {
		t.Errorf("another token before 50 minutes: %v", err)
	}
	in.advance(2 * time.Second)
	second := token()
	app.Expire(redact.NewSecret(first)) // of a request from before
	if token() != second {
		t.Error("the token of now went with one from before")
	}
	app.Expire(redact.NewSecret(second))
	if third := token(); second == first || third == second || in.minted != 3 {
		t.Errorf("%d minted", in.minted)
	}
}

// A token that lives less than an hour serves for most of its life: a mint for each request
// would use up the limit of the App.
func TestATokenOfAShortLifeIsUsed(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	ends := regexp.MustCompile(`"expires_at":\s*"[^"]*"`)
	_, app := in.client(t, func(o *installation.Options) {
		o.HTTP = roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			data, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			data = ends.ReplaceAll(data, []byte(`"expires_at":"`+in.theirs.Add(6*time.Minute).UTC().Format(time.RFC3339)+`"`))
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
			resp.Header.Del("Content-Length")
			return resp, err
		})
	})
	for _, c := range []struct {
		after  time.Duration
		minted int
	}{{0, 1}, {4 * time.Minute, 1}, {2 * time.Minute, 2}, {time.Minute, 2}} {
		in.advance(c.after)
		if _, err := app.Token(t.Context()); err != nil || in.minted != c.minted {
			t.Errorf("after %v more: %d minted, want %d: %v", c.after, in.minted, c.minted, err)
		}
	}
}

func TestAppActsAsItsBot(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	n := in.server.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c, app := in.client(t)
	if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, n, text("hello")); err != nil {
		t.Fatal(err)
	}
	if got := in.server.Repo(widgets).Comments(n); len(got) != 1 || got[0].Author != "amx[bot]" {
		t.Errorf("comments %+v", got)
	}
	me, err := c.Viewer(t.Context())
	if err != nil || me.Login != "amx[bot]" && me.Login != "amx" {
		t.Errorf("viewer %+v, %v", me, err)
	}
	if in.minted != 1 || len(app.Missing()) != 0 || c.Mode() != transport.ModeApp {
		t.Errorf("%d minted, missing %q", in.minted, app.Missing())
	}
}

func TestGitHub70AppMintsWithPartialGrant(t *testing.T) {
	in := newInstalled(t, map[string]string{"issues": "write", "contents": "read", "metadata": "read"})
	var asked sentBodies
	c, app := in.client(t, func(o *installation.Options) { o.HTTP = &asked })
	for range 2 {
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil {
			t.Fatal(err)
		}
		in.advance(time.Hour)
	}
	// One repository, by its name until its id is known, and no permission that would fail.
	const granted = `"permissions":{"contents":"read","issues":"write","metadata":"read"},`
	byID := fmt.Sprintf(`{%s"repository_ids":[%d]}`, granted, in.server.Repo(widgets).ID())
	if bodies := []string{"{" + granted + `"repositories":["widgets"]}`, byID}; !slices.Equal(asked, bodies) {
		t.Errorf("asked for %q, want %q", asked, bodies)
	}
	want := []string{"actions:read", "checks:read", "contents:write", "pull_requests:write", "statuses:write"}
	if got := app.Missing(); !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

func TestGitHub15AppRenewsItsTokenBeforeAndAfterItsEnd(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	c, _ := in.client(t)
	read := func() {
		t.Helper()
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil {
			t.Fatal(err)
		}
	}
	read()
	in.advance(49 * time.Minute)
	read()
	if in.minted != 1 {
		t.Errorf("%d tokens after 49 minutes", in.minted)
	}
	in.advance(2 * time.Minute)
	read()
	if in.minted != 2 {
		t.Errorf("%d tokens after 51 minutes", in.minted)
	}
	in.theirs = in.theirs.Add(2 * time.Hour) // suspended: our clock missed it, the server says 401
	in.local = in.theirs.Add(-110 * time.Minute)
	read()
	if in.minted < 3 {
		t.Errorf("%d tokens after a 401", in.minted)
	}
}

func TestGitHub14AppCorrectsItsClockOnce(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	c, _ := in.client(t)
	for i, offset := range []time.Duration{3 * time.Minute, 0, -4 * time.Minute} { // clocks are set while a host runs
		in.advance(2 * time.Hour)
		in.local = in.theirs.Add(offset)
		before := len(in.server.Calls())
		if _, err := c.Repository(t.Context(), "octo", "widgets"); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, call := range in.server.Calls()[before:] {
			if call.Status == http.StatusUnauthorized && call.Actor == "" {
				refused++
			}
		}
		if i == 0 && refused != 1 || refused > 1 {
			t.Errorf("%s off: %d claims refused:\n%s", offset, refused, in.server.Transcript())
		}
	}
}

// A token lives an hour, a repository's name perhaps not: the host that continues and the one
// that is started under the old name both get their tokens.
func TestGitHub9And15AppOfARenamedRepositoryRenewsItsToken(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	id := in.server.Repo(widgets).ID()
	before, _ := in.client(t)
	if _, err := before.RepositoryByID(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	in.server.Repo(widgets).Rename("gadgetry")
	in.advance(2 * time.Hour)
	after, _ := in.client(t)
	for name, c := range map[string]*ghsync.Client{"a host from before": before, "a host from after": after} {
		if r, err := c.RepositoryByID(t.Context(), id); err != nil || r.Name != "gadgetry" {
			t.Errorf("%s: %s, %v", name, r.Name, err)
		}
	}
}

// A limit is not a refusal: what needs the token is asked for again after it.
func TestGitHub2LimitOnATokenPasses(t *testing.T) {
	const mint = "POST /app/installations/{id}/access_tokens"
	for name, c := range map[string]struct {
		fault fakehub.Fault
		wait  time.Duration
	}{
		"429 with a time": {fakehub.RetryAfter(mint, http.StatusTooManyRequests, 7*time.Second), 7 * time.Second},
		"bare 429":        {fakehub.BareLimit(mint), time.Minute},
		"403, secondary":  {fakehub.Secondary(mint, http.StatusForbidden), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInstalled(t, installation.Permissions())
			in.server.Inject(c.fault)
			client, _ := in.client(t)
			_, err := client.Repository(t.Context(), "octo", "widgets")
			if wait, later := transport.Later(err); !later || wait != c.wait {
				t.Errorf("again %v after %s: %v", later, wait, err)
			}
			if _, err := client.Repository(t.Context(), "octo", "widgets"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A token that was not received is not lost: a mint that failed on the way is repeated, three times.
func TestMintIsRepeated(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	reset := func() (*http.Response, error) { return nil, errors.New("connection reset by peer") }
	for name, tc := range map[string]struct {
		fails        func() (*http.Response, error)
		times, mints int
		again        bool
	}{
		"502":            {func() (*http.Response, error) { return respond(502, `{}`) }, 2, 3, false},
		"408":            {func() (*http.Response, error) { return respond(408, `<html></html>`) }, 2, 3, false},
		"reset":          {reset, 2, 3, false},
		"unreadable":     {func() (*http.Response, error) { return respond(201, `<html>`) }, 2, 3, false},
		"502 for ever":   {func() (*http.Response, error) { return respond(502, `{}`) }, 9, 3, true},
		"reset for ever": {reset, 9, 3, true},
		"wrong key": {func() (*http.Response, error) {
			return respond(401, `{}`, "Date", time.Now().UTC().Format(http.TimeFormat))
		}, 9, 1, true},
		"401 without a time": {func() (*http.Response, error) { return respond(401, `{}`) }, 9, 1, true},
		"refused":            {func() (*http.Response, error) { return respond(422, `{}`) }, 9, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mints := 0
				w := &wire{start: time.Now(), answer: func(_ int, req *http.Request) (*http.Response, error) {
					if req.Method == http.MethodGet {
						return respond(200, `{"id":5,"permissions":{"contents":"write"}}`)
					}
					if mints++; mints <= tc.times {
						return tc.fails()
					}
					return respond(201, `{"token":"t","expires_at":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
				}}
				app, err := installation.New(installation.Options{ClientID: "c", KeyFile: in.key, Repo: widgets, HTTP: w})
				if err != nil {
					t.Fatal(err)
				}
				_, err = app.Token(t.Context())
				if _, later := transport.Later(err); later != tc.again || (err == nil) != (tc.times == 2) || mints != tc.mints {
					t.Errorf("asked %d times: %v", mints, err)
				}
			})
		})
	}
}

// The App's claim is for one address: what asks for a token follows nothing.
func TestSecurity23MintIsNotRedirected(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			in := newInstalled(t, installation.Permissions())
			in.server.Inject(fakehub.Redirect("POST /app/installations/{id}/access_tokens", status, in.server.API()+"elsewhere"))
			c, _ := in.client(t)
			if _, err := c.Repository(t.Context(), "octo", "widgets"); !isMoved(err) {
				t.Errorf("%d: %v", status, err)
			}
			if n := len(in.server.Calls()); n != 2 {
				t.Errorf("%d: %d requests, want those for the installation and for its token:\n%s", status, n, in.server.Transcript())
			}
		})
	}
}

// renewing has another token after each refusal.
type renewing struct{ transport.TokenSource }

func (renewing) Expire(redact.Secret) bool { return true }

// What creates is sent once, with the old token as well: its caller comes back at once.
func TestRefusedTokenOfACreatingRequest(t *testing.T) {
	w := &wire{start: time.Now(), answer: func(n int, _ *http.Request) (*http.Response, error) {
		if n > 1 {
			return respond(422, `{"message":"Validation Failed","errors":[{"message":"body is bad"}]}`)
		}
		return respond(401, `{"message":"Bad credentials"}`)
	}}
	c, err := ghsync.New(transport.Options{Token: renewing{transport.StaticToken(transport.ModeApp, testSecret(), transport.Addresses{})}, HTTP: w})
	if err != nil {
		t.Fatal(err)
	}
	var after *transport.RetryAfter
	if _, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, 1, text("x")); !errors.As(err, &after) || after.Scope != "token" || after.Wait != 0 || len(w.sent) != 1 {
		t.Errorf("sent %d: %v", len(w.sent), err)
	}
	if _, err := c.AddLabel(t.Context(), octoWidgets, 1, "x"); err == nil || !strings.Contains(err.Error(), "body is bad") {
		t.Errorf("a refusal without its reason: %v", err)
	}
}

func TestAppSaysWhereItIsNotInstalled(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	c, _ := in.client(t, func(o *installation.Options) { o.Repo = "octo/gadgets" })
	_, err := c.Repository(t.Context(), "octo", "widgets")
	if !transport.IsAway(err) || !strings.Contains(err.Error(), "not installed on octo/gadgets") {
		t.Errorf("error %v", err)
	}
}

// An installation has no role in a repository; what its token may do, it is told by nothing.
func TestAccessOfAnInstallationIsUntold(t *testing.T) {
	in := newInstalled(t, map[string]string{"contents": "write", "issues": "write", "pull_requests": "write", "metadata": "read"})
	c, _ := in.client(t)
	in.server.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	record, err := c.Record(t.Context(), octoWidgets, 1)
	if err != nil || !record.Repository.AccessUntold || !record.Repository.CanPush || !record.Repository.CanRead {
		t.Errorf("by GraphQL %+v, %v", record.Repository, err)
	}
	if _, err := c.Viewer(t.Context()); err != nil {
		t.Fatal(err)
	}
	repo, err := c.Repository(t.Context(), "octo", "widgets")
	if err != nil || !repo.CanPush || !repo.CanRead {
		t.Errorf("by REST %+v, %v", repo, err)
	}
	stranger, err := clientOf(t, in.server, "read").Record(t.Context(), octoWidgets, 1)
	if err != nil || stranger.Repository.CanPush || stranger.Repository.AccessUntold {
		t.Errorf("a reader %+v, %v", stranger.Repository, err)
	}
}

func TestAppRefusesAKeyThatOthersCanRead(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	for mode, taken := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o644: false, 0o640: false, 0o500: false, 0o700: false} {
		t.Run(fmt.Sprintf("mode %o", mode), func(t *testing.T) {
			if err := os.Chmod(in.key, mode); err != nil {
				t.Fatal(err)
			}
			_, err := installation.New(installation.Options{KeyFile: in.key})
			if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("a key of mode %o: %v", mode, err)
			}
		})
	}
	writeFile(t, filepath.Join(filepath.Dir(in.key), "bad.pem"), []byte("no key"))
	for _, name := range []string{"bad.pem", "absent.pem"} {
		t.Run(name, func(t *testing.T) {
			if _, err := installation.New(installation.Options{KeyFile: filepath.Join(filepath.Dir(in.key), name)}); err == nil {
				t.Errorf("%s was taken for a key", name)
			}
		})
	}
}
