package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// jwtLife is below GitHub's limit of ten minutes by what clocks may differ.
	jwtLife = 9 * time.Minute
	jwtSkew = 60 * time.Second
	// tokenLife is how long GitHub lets a token live; a later end is a clock that is wrong.
	tokenLife = time.Hour
	// mintEarly is how long before its end a token is replaced; one of a shorter life after
	// five sixths of it.
	mintEarly = tokenLife / 6
)

// AppPermissions are what the program asks of an installation, as GitHub names them. What
// an installation does not grant is left out of a token, since one too many would fail all.
func AppPermissions() map[string]string {
	return map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write",
		"metadata": "read", "actions": "read", "checks": "read",
	}
}

// AppOptions are what an App's token source is made of.
type AppOptions struct {
	APIURL    string
	ServerURL string // where git asks for the token; empty: nowhere
	ClientID  string
	KeyFile   string // PEM, readable by its owner only
	Repo      string // the repository the tokens are for, as owner/name, as it is or was called
	RepoID    int64  // the same by its id; 0: by its name until a server has told the id
	// Installation is the installation's id; 0: found by the repository.
	Installation int64
	Minted       func(redact.Secret) // told each new token, for a Redactor; may be nil
	HTTP         http.RoundTripper   // nil: a transport of its own
	Now          func() time.Time    // nil: time.Now
}

// App mints installation tokens for one repository and keeps each until it is fifty minutes
// old or refused. At most one mint is in flight; who else needs a token waits for it as long
// as their context lets them.
type App struct {
	o    AppOptions
	api  *url.URL
	key  *rsa.PrivateKey
	http *http.Client

	mu      sync.Mutex // never held while waiting
	token   redact.Secret
	ends    time.Time // the end of token by our clock
	early   time.Duration
	granted map[string]string
	turn    *turn // nil: no caller has it

	skew time.Duration // the server's clock minus ours, after a correction; only who has the turn touches it
}

// turn is the right to mint, and for the others what came of it.
type turn struct {
	done  chan struct{} // closed when token and err are set
	token *oauth2.Token
	err   error
}

// mintTime bounds one mint with its repetitions.
const mintTime = 2 * time.Minute

// NewApp reads the key. It sends nothing.
func NewApp(o AppOptions) (*App, error) {
	api, err := parseBase("API URL", cmp.Or(o.APIURL, "https://api.github.com/"))
	if err != nil {
		return nil, err
	}
	key, err := readKey(o.KeyFile)
	if err != nil {
		return nil, err
	}
	if o.HTTP == nil {
		o.HTTP = newTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &App{o: o, api: api, key: key, http: &http.Client{
		Transport: &pin{next: o.HTTP, origin: origin(api)}, CheckRedirect: checkRedirect,
	}}, nil
}

func readKey(path string) (*rsa.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the App's key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&^0o600 != 0 {
		return nil, fmt.Errorf("the App's key %s has mode %04o, and only its owner may read it: chmod 600 it", path, mode)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the App's key: %w", err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(data)
	if err != nil {
		return nil, fmt.Errorf("read the App's key %s: it is no RSA key in PEM form", path)
	}
	return key, nil
}

// Mode is ModeApp.
func (a *App) Mode() Mode { return ModeApp }

// Serves reports whether an address is of the server that makes the tokens.
func (a *App) Serves(address string) bool {
	return originsOf(a.api.String(), a.o.ServerURL).has(address)
}

// Token returns the token in use, or mints one, or waits for the one that is being minted. It
// returns when ctx ends at the latest.
func (a *App) Token(ctx context.Context) (redact.Secret, error) {
	token, err := a.For(ctx).Token()
	if err != nil {
		return redact.Secret{}, err
	}
	return redact.NewSecret(token.AccessToken), nil
}

// For returns the tokens of Token as oauth2 knows them.
func (a *App) For(ctx context.Context) oauth2.TokenSource {
	return sourceFunc(func() (*oauth2.Token, error) {
		for {
			t, mine := a.take()
			if mine {
				a.reuse(ctx, t)
				return t.token, t.err
			}
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for an installation token: %w", ctx.Err())
			case <-t.done:
			}
			if !errors.Is(t.err, context.Canceled) && !errors.Is(t.err, context.DeadlineExceeded) {
				return t.token, t.err
			}
			// Who minted gave up, which says nothing about us.
		}
	})
}

// take returns the turn, and whether it is ours.
func (a *App) take() (t *turn, ours bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn != nil {
		return a.turn, false
	}
	a.turn = &turn{done: make(chan struct{})}
	return a.turn, true
}

// reuse ends our turn with the token in use or, near its end, with one minted for everybody
// who waits. oauth2 decides which; its own lock would hold who waits beyond their context,
// so the source that it wraps is of this turn alone.
func (a *App) reuse(ctx context.Context, t *turn) {
	mint := sourceFunc(func() (*oauth2.Token, error) { return a.renew(ctx) })
	token, err := oauth2.ReuseTokenSourceWithExpiry(a.held(), mint, a.margin()).Token()
	a.mu.Lock()
	defer a.mu.Unlock()
	t.token, t.err = token, err
	a.turn = nil
	close(t.done)
}

// held is the token in use. oauth2 reads the clock of the process, and gets the end of the
// token as far away as our clock has it.
func (a *App) held() *oauth2.Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &oauth2.Token{AccessToken: a.token.Reveal(), Expiry: time.Now().Add(a.ends.Sub(a.o.Now()))}
}

// margin is how long before its end the token in use is replaced.
func (a *App) margin() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.early
}

// renew mints a token and keeps it.
func (a *App) renew(ctx context.Context) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, mintTime)
	defer cancel()
	token, life, err := a.mint(ctx)
	if err != nil {
		return nil, fmt.Errorf("mint an installation token: %w", err)
	}
	if a.o.Minted != nil {
		a.o.Minted(token) // before anybody can use it
	}
	a.mu.Lock()
	// Without its monotonic part: a machine that slept has a clock that tells.
	life = min(life, tokenLife)
	a.token, a.ends, a.early = token, a.o.Now().Round(0).Add(life), min(life/6, mintEarly)
	a.mu.Unlock()
	return a.held(), nil
}

// Expire drops the token in use.
func (a *App) Expire() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token = redact.Secret{}
	return true
}

// Missing names the permissions that AppPermissions has and the installation does not give,
// after the first token. What needs them will not work.
func (a *App) Missing() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	if a.granted == nil {
		return nil
	}
	for name, level := range AppPermissions() {
		if a.granted[name] != level && a.granted[name] != "admin" {
			names = append(names, name+":"+level)
		}
	}
	slices.Sort(names)
	return names
}

// mint asks for a token with what of our permissions the installation has.
func (a *App) mint(ctx context.Context) (redact.Secret, time.Duration, error) {
	id, err := a.installation(ctx)
	if err != nil {
		return redact.Secret{}, 0, err
	}
	granted, want := a.Granted(), map[string]string{}
	for name, level := range AppPermissions() {
		switch granted[name] {
		case "write", "admin":
			want[name] = level
		case "read":
			want[name] = "read"
		}
	}
	in := map[string]any{"permissions": want}
	_, name, _ := strings.Cut(a.o.Repo, "/")
	switch {
	case a.o.RepoID != 0:
		in["repository_ids"] = []int64{a.o.RepoID}
	case name != "":
		in["repositories"] = []string{name}
	}
	var out struct {
		Token        string    `json:"token"`
		ExpiresAt    time.Time `json:"expires_at"`
		Repositories []struct {
			ID int64 `json:"id"`
		} `json:"repositories"`
	}
	if err := a.call(ctx, http.MethodPost, "app/installations/"+strconv.FormatInt(id, 10)+"/access_tokens", in, &out); err != nil {
		return redact.Secret{}, 0, err
	}
	if out.Token == "" {
		return redact.Secret{}, 0, errors.New("the answer holds no token")
	}
	if len(out.Repositories) == 1 && in["repositories"] != nil {
		a.o.RepoID = out.Repositories[0].ID // the name may be another one by the next token
	}
	return redact.NewSecret(out.Token), out.ExpiresAt.Sub(a.o.Now().Add(a.skew)), nil
}

// installation finds the installation and its permissions.
func (a *App) installation(ctx context.Context) (int64, error) {
	path := fmt.Sprintf("app/installations/%d", a.o.Installation)
	if a.o.Installation == 0 {
		path = "repos/" + a.o.Repo + "/installation"
	}
	var out struct {
		ID          int64             `json:"id"`
		Permissions map[string]string `json:"permissions"`
	}
	err := a.call(ctx, http.MethodGet, path, nil, &out)
	if IsNotFound(err) {
		return 0, &Terminal{Status: http.StatusNotFound, Code: CodeForbidden, Message: "the App is not installed on " + a.o.Repo,
			Hint: "install it there, or set github.app.installation_id"}
	}
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.granted = out.Permissions
	return out.ID, nil
}

// call sends a request of the App itself. It may repeat a POST: an unused token expires.
// A 401 sets the clock by the server's.
func (a *App) call(ctx context.Context, method, path string, in, out any) error {
	var err error
	for try := 1; try <= 3; try++ {
		var again bool
		if again, err = a.try(ctx, method, path, in, out); err == nil || !again {
			return err
		}
		if !Wait(ctx, backoff(firstPause, try)) {
			return errors.Join(ctx.Err(), err)
		}
	}
	return err
}

func (a *App) try(ctx context.Context, method, path string, in, out any) (again bool, err error) {
	req, err := a.request(ctx, method, path, in)
	if err != nil {
		return false, err
	}
	resp, err := a.http.Do(req)
	if err != nil {
		err = Plain(err)
		return ctx.Err() == nil && !IsMoved(err), err
	}
	defer resp.Body.Close()
	a.learnID(resp.Request.URL.Path)
	body, err := io.ReadAll(resp.Body)
	message := parseMessage(body)
	limit, isLimit := limitOf(resp, message, time.Now())
	switch {
	case err != nil || resp.StatusCode >= 500:
		return true, &RetryAfter{Wait: bareLimit, Scope: "server", Err: errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))}
	case resp.StatusCode == http.StatusUnauthorized && a.correct(resp.Header.Get("Date")):
		return true, &Terminal{Status: resp.StatusCode, Code: CodeUnauthorized, Message: message.text()}
	case isLimit:
		return false, &RetryAfter{Wait: cmp.Or(limit.wait, bareLimit), Scope: limit.scope, Err: errors.New(message.text())}
	case resp.StatusCode >= 300:
		return false, refusal(callOf(req), resp, message)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return true, fmt.Errorf("decode answer: %w", err)
	}
	return false, nil
}

// learnID takes the repository's id from where the server led a read that had the name of
// before a rename: tokens are made by the id, or by the name of now.
func (a *App) learnID(path string) {
	_, rest, found := strings.Cut(path, "/repositories/")
	digits, _, _ := strings.Cut(rest, "/")
	if id, err := strconv.ParseInt(digits, 10, 64); found && err == nil && a.o.RepoID == 0 {
		a.o.RepoID = id
	}
}

// correct takes over the server's clock if it is another one than was taken over before:
// clocks are set while a host runs.
func (a *App) correct(date string) bool {
	server, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	skew := server.Sub(a.o.Now()).Round(time.Second)
	if (skew - a.skew).Abs() < 2*time.Second {
		return false
	}
	a.skew = skew
	return true
}

func (a *App) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	now := a.o.Now().Add(a.skew)
	claims := jwt.RegisteredClaims{
		Issuer: a.o.ClientID, IssuedAt: jwt.NewNumericDate(now.Add(-jwtSkew)), ExpiresAt: jwt.NewNumericDate(now.Add(jwtLife)),
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the App's claim: %w", err)
	}
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("make request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.api.JoinPath(path).String(), body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	req.Header.Set("Accept", mediaType)
	req.Header.Set("User-Agent", "agentmux")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Granted returns the permissions of the installation, after the first token.
func (a *App) Granted() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.granted)
}
