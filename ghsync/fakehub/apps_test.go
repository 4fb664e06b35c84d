package fakehub_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// claim signs what an app says of itself.
func claim(t *testing.T, key []byte, issuer any, issued, expires time.Time) string {
	t.Helper()
	block, _ := pem.Decode(key)
	secret, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"iss": issuer, "iat": issued.Unix(), "exp": expires.Unix()})
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, secret, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestAppMintsTokensThatExpire(t *testing.T) {
	clock := newClock()
	s := world(t, func(o *fakehub.Options) { o.Now = clock.now })
	if err := s.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "secret", Private: true}); err != nil {
		t.Fatal(err)
	}
	app := s.AddApp(fakehub.AppSpec{Slug: "amx", Repos: []string{widgets}, Permissions: map[string]string{"issues": "write", "contents": "read"}})
	n := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	signer := as(t, s, "")
	signer.token = claim(t, app.Key, app.ClientID, clock.now().Add(-time.Minute), clock.now().Add(9*time.Minute))
	equal(t, "slug", signer.want(200, "GET", "/app", nil).str("slug"), "amx")
	equal(t, "installation", signer.want(200, "GET", "/repos/octo/widgets/installation", nil).num("id"), app.InstallationID)
	signer.want(404, "GET", "/repos/octo/secret/installation", nil)
	path := fmt.Sprintf("/app/installations/%d/access_tokens", app.InstallationID)
	partial := signer.want(422, "POST", path, map[string]any{"permissions": map[string]string{"issues": "write", "statuses": "write"}})
	equal(t, "not granted", partial.str("message"), "The permissions requested are not granted to this installation.")
	minted := signer.want(201, "POST", path, map[string]any{"repository_ids": []int64{s.Repo(widgets).ID()}})

	bot := as(t, s, "")
	bot.token = minted.str("token")
	equal(t, "length", len(bot.token), 520)
	comment := bot.want(201, "POST", fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n), map[string]any{"body": "x"})
	equal(t, "author", comment.str("user.login"), "amx[bot]")
	equal(t, "app", comment.str("performed_via_github_app.slug"), "amx")
	bot.want(404, "GET", "/repos/octo/secret", nil)
	denied := bot.want(403, "POST", "/repos/octo/widgets/statuses/"+s.Repo(widgets).Refs()["refs/heads/main"], map[string]any{"state": "success"})
	equal(t, "denied", denied.str("message"), "Resource not accessible by integration")
	equal(t, "needed", denied.header.Get("X-Accepted-GitHub-Permissions"), "statuses=write")
	dir := checkout(t, s, "write", "fix")
	if out, err := git(t, dir, "push", remote(s, widgets, bot.token), "fix"); err == nil {
		t.Errorf("a token that may only read pushed: %s", out)
	}
	clock.advance(time.Hour)
	bot.want(401, "GET", "/repos/octo/widgets", nil)
}

func TestClaimsOfAppsAreJudged(t *testing.T) {
	clock := newClock()
	s := world(t, func(o *fakehub.Options) { o.Now = clock.now })
	app := s.AddApp(fakehub.AppSpec{Slug: "amx", Permissions: map[string]string{"issues": "write"}})
	other := s.AddApp(fakehub.AppSpec{Slug: "other"})
	now := clock.now()
	for name, token := range map[string]string{
		"clock ahead":    claim(t, app.Key, app.ClientID, now.Add(time.Minute), now.Add(9*time.Minute)),
		"expired":        claim(t, app.Key, app.ClientID, now.Add(-10*time.Minute), now),
		"lives too long": claim(t, app.Key, app.ClientID, now, now.Add(11*time.Minute)),
		"foreign key":    claim(t, other.Key, app.ClientID, now, now.Add(time.Minute)),
		"unknown app":    claim(t, app.Key, "Iv0", now, now.Add(time.Minute)),
		"no claim":       s.Token("write"),
	} {
		t.Run(name, func(t *testing.T) {
			c := as(t, s, "")
			c.token = token
			got := c.want(401, "GET", "/app", nil)
			equal(t, "Date", got.header.Get("Date"), now.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
		})
	}
	c := as(t, s, "")
	c.token = claim(t, app.Key, app.ID, now, now.Add(time.Minute))
	c.want(200, "GET", "/app", nil)
}
