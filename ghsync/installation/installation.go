// Package installation is an identity of GitHub: an App where it is installed. It signs the App's
// claims and has the server make tokens, for one repository each, with what of our permissions the
// installation grants.
//
// Promises: a token is for one repository, by its id as soon as that is known; a permission that
// is not granted fails no mint; a refused mint is a *transport.Away. It stores nothing.
package installation

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
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// claimLife is below GitHub's limit of ten minutes by what clocks may differ.
	claimLife = 9 * time.Minute
	claimSkew = 60 * time.Second

	maxTries   = 3
	firstPause = time.Second
)

// Permissions are what the program asks of an installation, as GitHub names them. What
// an installation does not grant is left out of a token, since one too many would fail all.
func Permissions() map[string]string {
	return map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write",
		"metadata": "read", "actions": "read", "checks": "read",
	}
}

// SweepPermissions are what finds issues that changed, in every repository of an installation.
func SweepPermissions() map[string]string {
	return map[string]string{"metadata": "read", "issues": "read"}
}

// Options are what an Installation is made of.
type Options struct {
	APIURL    string
	ServerURL string // where git asks for the token; empty: nowhere
	ClientID  string
	KeyFile   string // PEM, readable by its owner only
	Repo      string // the repository the tokens are for, as owner/name, as it is or was called
	RepoID    int64  // the same by its id; 0: by its name until a server has told the id
	// Owner, where Repo is empty, is the organization whose installation the tokens are for: they
	// are for every repository of it.
	Owner string
	// Permissions are asked for as far as the installation grants them. Nil: those of Permissions.
	Permissions map[string]string
	// ID is the installation's id; 0: found by the repository or the organization, at each mint:
	// an App that is installed once more has another one.
	ID      int64
	Minted  func(redact.Secret) // told each new token before its first use; may be nil
	Process *transport.Process  // nil: one of its own, above HTTP
	HTTP    http.RoundTripper   // nil: a transport of its own
	Now     func() time.Time    // nil: time.Now
}

// Installation is a transport.TokenSource of an App's tokens.
type Installation struct {
	*transport.Minted
	o      Options
	key    *rsa.PrivateKey
	client *transport.MintClient

	skew   time.Duration // the server's clock minus ours, after a correction; only a mint touches it
	repoID int64         // only a mint touches it

	mu      sync.Mutex
	found   int64
	granted map[string]string
}

// New reads the key. It sends nothing.
func New(o Options) (*Installation, error) {
	if o.Process == nil {
		o.Process = transport.NewProcess(o.HTTP)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Permissions == nil {
		o.Permissions = Permissions()
	}
	o.APIURL = cmp.Or(o.APIURL, "https://api.github.com/")
	client, err := o.Process.MintClient(o.APIURL)
	if err != nil {
		return nil, err
	}
	key, err := readKey(o.KeyFile)
	if err != nil {
		return nil, err
	}
	in := &Installation{o: o, key: key, client: client, repoID: o.RepoID}
	in.Minted = transport.NewMinted(in.make, o.Now, o.APIURL, o.ServerURL)
	return in, nil
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
		return nil, fmt.Errorf("read the App's key %s: it is not an RSA key in PEM form", path)
	}
	return key, nil
}

// ID returns the id of the installation, 0 before the first token.
func (in *Installation) ID() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.found
}

// Granted returns the permissions of the installation, after the first token.
func (in *Installation) Granted() map[string]string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.granted)
}

// Missing names the permissions that are asked for and the installation does not give,
// after the first token. What needs them will not work.
func (in *Installation) Missing() []string {
	granted := in.Granted()
	if granted == nil {
		return nil
	}
	var names []string
	for name, level := range in.o.Permissions {
		if granted[name] != level && granted[name] != "admin" {
			names = append(names, name+":"+level)
		}
	}
	slices.Sort(names)
	return names
}

// make has the server make a token.
func (in *Installation) make(ctx context.Context) (redact.Secret, time.Duration, error) {
	token, life, err := in.mint(ctx)
	if err != nil {
		err = fmt.Errorf("mint an installation token: %w", err)
		if isRefusal(err) {
			err = &transport.Away{Err: err}
		}
		return token, life, err
	}
	if in.o.Minted != nil {
		in.o.Minted(token)
	}
	return token, life, nil
}

// isRefusal reports whether the server refused the App, or does not know the installation.
func isRefusal(err error) bool {
	var terminal *transport.Terminal
	if errors.As(err, &terminal) {
		return slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, terminal.Status)
	}
	return transport.IsNotFound(err)
}

// mint asks for a token with what of our permissions the installation has.
func (in *Installation) mint(ctx context.Context) (redact.Secret, time.Duration, error) {
	id, err := in.find(ctx)
	if err != nil {
		return redact.Secret{}, 0, err
	}
	granted, want := in.Granted(), map[string]string{}
	for name, level := range in.o.Permissions {
		switch granted[name] {
		case "write", "admin":
			want[name] = level
		case "read":
			want[name] = "read"
		}
	}
	ask := map[string]any{"permissions": want}
	_, name, _ := strings.Cut(in.o.Repo, "/")
	switch {
	case in.repoID != 0:
		ask["repository_ids"] = []int64{in.repoID}
	case name != "":
		ask["repositories"] = []string{name}
	}
	var out struct {
		Token        string    `json:"token"`
		ExpiresAt    time.Time `json:"expires_at"`
		Repositories []struct {
			ID int64 `json:"id"`
		} `json:"repositories"`
	}
	if err := in.call(ctx, http.MethodPost, "app/installations/"+strconv.FormatInt(id, 10)+"/access_tokens", ask, &out); err != nil {
		return redact.Secret{}, 0, err
	}
	if out.Token == "" {
		return redact.Secret{}, 0, errors.New("the answer holds no token")
	}
	if len(out.Repositories) == 1 && ask["repositories"] != nil {
		in.repoID = out.Repositories[0].ID // the name may be another one by the next token
	}
	return redact.NewSecret(out.Token), out.ExpiresAt.Sub(in.o.Now().Add(in.skew)), nil
}

// find finds the installation and its permissions.
func (in *Installation) find(ctx context.Context) (int64, error) {
	path, place := fmt.Sprintf("app/installations/%d", in.o.ID), cmp.Or(in.o.Repo, in.o.Owner)
	switch {
	case in.o.ID != 0:
	case in.o.Repo == "":
		path = "orgs/" + in.o.Owner + "/installation"
	default:
		path = "repos/" + in.o.Repo + "/installation"
	}
	var out struct {
		ID          int64             `json:"id"`
		Permissions map[string]string `json:"permissions"`
		SuspendedAt *time.Time        `json:"suspended_at"`
	}
	err := in.call(ctx, http.MethodGet, path, nil, &out)
	if transport.IsNotFound(err) {
		return 0, &transport.Terminal{Status: http.StatusNotFound, Code: transport.CodeForbidden, Message: "the App is not installed on " + place,
			Hint: "install it there, or set github.app.installation_id"}
	}
	if err == nil && out.SuspendedAt != nil {
		err = &transport.Terminal{Status: http.StatusForbidden, Code: transport.CodeSuspended, Message: "the installation of the App on " + place + " is suspended",
			Hint: "its owner can end that in the settings of the installation"}
	}
	if err != nil {
		return 0, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.granted, in.found = out.Permissions, out.ID
	return out.ID, nil
}

// call sends a request of the App itself. It may repeat a POST: an unused token expires.
// A 401 sets the clock by the server's.
func (in *Installation) call(ctx context.Context, method, path string, ask, out any) error {
	var err error
	for try := 1; try <= maxTries; try++ {
		var again bool
		if again, err = in.try(ctx, method, path, ask, out); err == nil || !again {
			return err
		}
		if !transport.Wait(ctx, firstPause<<(try-1)) {
			return errors.Join(ctx.Err(), err)
		}
	}
	return err
}

func (in *Installation) try(ctx context.Context, method, path string, ask, out any) (again bool, err error) {
	req, err := in.request(ctx, method, path, ask)
	if err != nil {
		return false, err
	}
	resp, body, again, err := in.client.Send(ctx, req) //nolint:bodyclose // Send has read and closed it
	if resp != nil {
		in.learnID(resp.Request.URL.Path)
	}
	if err != nil {
		again = again || resp != nil && resp.StatusCode == http.StatusUnauthorized && in.correct(resp.Header.Get("Date"))
		return again, err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return true, fmt.Errorf("decode answer: %w", err)
	}
	return false, nil
}

// learnID takes the repository's id from where the server led a read that had the name of
// before a rename: tokens are made by the id, or by the name of now.
func (in *Installation) learnID(path string) {
	_, rest, found := strings.Cut(path, "/repositories/")
	digits, _, _ := strings.Cut(rest, "/")
	if id, err := strconv.ParseInt(digits, 10, 64); found && err == nil && in.repoID == 0 {
		in.repoID = id
	}
}

// correct takes over the server's clock if it is another one than was taken over before:
// clocks are set while a host runs.
func (in *Installation) correct(date string) bool {
	server, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	skew := server.Sub(in.o.Now()).Round(time.Second)
	if (skew - in.skew).Abs() < 2*time.Second {
		return false
	}
	in.skew = skew
	return true
}

func (in *Installation) request(ctx context.Context, method, path string, ask any) (*http.Request, error) {
	now := in.o.Now().Add(in.skew)
	claims := jwt.RegisteredClaims{
		Issuer: in.o.ClientID, IssuedAt: jwt.NewNumericDate(now.Add(-claimSkew)), ExpiresAt: jwt.NewNumericDate(now.Add(claimLife)),
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(in.key)
	if err != nil {
		return nil, fmt.Errorf("sign the App's claim: %w", err)
	}
	var body io.Reader
	if ask != nil {
		data, err := json.Marshal(ask)
		if err != nil {
			return nil, fmt.Errorf("make request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, in.client.Base.JoinPath(path).String(), body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
