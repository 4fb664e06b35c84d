package fakehub

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
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AppSpec describes a GitHub App with one installation on the named repositories.
type AppSpec struct {
	Slug string
	// Permissions are those of the installation: "issues": "write".
	Permissions map[string]string
	Repos       []string // "owner/name"; none is every repository
	// TokenLife is how long an installation token lives; 0 is an hour.
	TokenLife time.Duration
}

// App is what a client needs to act as an app.
type App struct {
	ID, InstallationID int64
	ClientID           string
	Key                []byte // PEM, private
	Login              string // of the account that acts: slug[bot]
}

type app struct {
	App
	spec   AppSpec
	public *rsa.PublicKey
	bot    *user
	repos  map[int64]bool
}

// AddApp registers an app, makes its key and installs it.
func (s *Server) AddApp(spec AppSpec) App {
	secret, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic("fakehub: " + err.Error())
	}
	login := spec.Slug + "[bot]"
	s.AddUser(UserSpec{Login: login, Type: "Bot"})
	var ids map[int64]bool
	for _, name := range spec.Repos {
		if ids == nil {
			ids = map[int64]bool{}
		}
		ids[s.Repo(name).ID()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &app{spec: spec, public: &secret.PublicKey, bot: s.user(login), repos: ids}
	a.App = App{
		ID: s.newID(), InstallationID: s.newID(), Login: login,
		Key: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(secret)}),
	}
	a.ClientID = "Iv23li" + strconv.FormatInt(a.ID, 10)
	if a.spec.TokenLife == 0 {
		a.spec.TokenLife = time.Hour
	}
	s.apps = append(s.apps, a)
	return a.App
}

func appSlug(login string) string { return strings.TrimSuffix(login, "[bot]") }

// claim judges the signed claim of a request: RS256, issued by client id or app id, not in
// the future, alive for at most ten minutes.
func (c *call) claim() (*app, *reply) {
	refuse := func(text string) (*app, *reply) {
		out := fail(http.StatusUnauthorized, text)
		return nil, &out
	}
	parts := strings.Split(credential(c.request), ".")
	if len(parts) != 3 {
		return refuse("A JSON web token could not be decoded")
	}
	var head struct{ Alg string }
	var body struct {
		Iat, Exp float64
		Iss      any
	}
	if unpack(parts[0], &head) != nil || unpack(parts[1], &body) != nil || head.Alg != "RS256" {
		return refuse("A JSON web token could not be decoded")
	}
	at := slices.IndexFunc(c.apps, func(a *app) bool {
		issuer := fmt.Sprint(body.Iss)
		if number, isNumber := body.Iss.(float64); isNumber {
			issuer = strconv.FormatFloat(number, 'f', 0, 64)
		}
		return issuer == a.ClientID || issuer == strconv.FormatInt(a.ID, 10)
	})
	if at < 0 {
		return refuse("Integration not found")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(c.apps[at].public, crypto.SHA256, sum[:], signature) != nil {
		return refuse("A JSON web token could not be decoded")
	}
	now := float64(c.at.Unix())
	switch {
	case body.Iat > now:
		return refuse("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case body.Exp <= now:
		return refuse("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case body.Exp > now+600:
		return refuse("'Expiration time' claim ('exp') is too far in the future")
	}
	return c.apps[at], nil
}

func unpack(part string, v any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func getApp(c *call) reply {
	a, out := c.claim()
	if out != nil {
		return *out
	}
	return ok(obj{"id": a.ID, "client_id": a.ClientID, "slug": a.spec.Slug, "name": a.spec.Slug, "permissions": a.spec.Permissions})
}

func (v viewer) installationJSON(a *app) obj {
	selection := "selected"
	if a.repos == nil {
		selection = "all"
	}
	return obj{
		"id": a.InstallationID, "app_id": a.ID, "app_slug": a.spec.Slug, "permissions": a.spec.Permissions, "repository_selection": selection,
		"access_tokens_url": v.url("app/installations", a.InstallationID, "access_tokens"), "suspended_at": nil, "events": []string{},
	}
}

func listInstallations(c *call) reply {
	a, out := c.claim()
	if out != nil {
		return *out
	}
	return ok([]any{c.installationJSON(a)})
}

func getInstallation(c *call) reply {
	a, out := c.claim()
	if out != nil {
		return *out
	}
	if c.param("id") != a.InstallationID {
		return notFound()
	}
	return ok(c.installationJSON(a))
}

func getRepoInstallation(c *call) reply {
	a, out := c.claim()
	if out != nil {
		return *out
	}
	full := c.params["o"] + "/" + c.params["r"]
	r := c.names[key(full)]
	switch {
	case r == nil || (a.repos != nil && !a.repos[r.id]):
		return notFound()
	case key(r.fullName()) != key(full):
		return c.movedTo(r)
	}
	return ok(c.installationJSON(a))
}

// mint makes an installation token, for fewer repositories and permissions if so asked.
func mint(c *call) reply {
	c.write = "" // a token changes nothing in a repository
	a, out := c.claim()
	if out != nil {
		return *out
	}
	if c.param("id") != a.InstallationID {
		return notFound()
	}
	var in struct {
		RepositoryIDs []int64 `json:"repository_ids"`
		Repositories  []string
		Permissions   map[string]string
	}
	if out := c.decode(&in); out != nil {
		return *out
	}
	repos, out := c.narrow(a, in.RepositoryIDs, in.Repositories)
	if out != nil {
		return *out
	}
	perms := maps.Clone(a.spec.Permissions)
	if in.Permissions != nil {
		perms = in.Permissions
	}
	for name, level := range perms {
		if have := a.spec.Permissions[name]; have != "write" && have != level {
			return fail(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
		}
	}
	perms["metadata"] = "read"
	t := &token{value: c.secret("ghs_"), user: a.bot, repos: repos, perms: perms, expires: c.at.Add(a.spec.TokenLife)}
	for len(t.value) < 520 {
		t.value += c.secret("")
	}
	t.value = t.value[:520]
	c.tokens[t.value] = t
	made := obj{"token": t.value, "expires_at": stamp(t.expires), "permissions": perms}
	if len(in.RepositoryIDs)+len(in.Repositories) > 0 {
		var list []any
		for _, id := range slices.Sorted(maps.Keys(repos)) {
			list = append(list, c.repoJSON(c.repos[id]))
		}
		made["repositories"] = list
	}
	return reply{status: http.StatusCreated, body: made}
}

// narrow is the set of repositories a token is for; nil is all.
func (c *call) narrow(a *app, ids []int64, names []string) (map[int64]bool, *reply) {
	if len(ids) == 0 && len(names) == 0 {
		return a.repos, nil
	}
	set := map[int64]bool{}
	for _, id := range ids {
		set[id] = true
	}
	for _, name := range names {
		id := int64(0) // of no repository
		for _, r := range c.repos {
			if key(r.name) == key(name) {
				id = r.id
			}
		}
		set[id] = true
	}
	for id := range set {
		if c.repos[id] == nil || (a.repos != nil && !a.repos[id]) {
			out := fail(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
			return nil, &out
		}
	}
	return set, nil
}

func listInstallationRepos(c *call) reply {
	if c.token == nil || c.token.perms == nil {
		return fail(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	var list []*repo
	for _, id := range slices.Sorted(maps.Keys(c.repos)) {
		if c.token.repos == nil || c.token.repos[id] {
			list = append(list, c.repos[id])
		}
	}
	out := page(c, list, func(r *repo) any { return c.repoJSON(r) })
	out.body = obj{"total_count": len(list), "repositories": out.body}
	return out
}
