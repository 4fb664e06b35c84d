package fakehub

import (
	"crypto/rsa"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/jwt"
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
	spec      AppSpec
	public    *rsa.PublicKey
	bot       *user
	repos     map[int64]bool
	suspended any // since when; nil: is not
	removed   bool
}

// AddApp registers an app and installs it. The second app of a server does not have the key of the first.
func (s *Server) AddApp(spec AppSpec) App {
	login := spec.Slug + "[bot]"
	s.AddUser(UserSpec{Login: login, Type: "Bot"})
	ids := s.ids(spec.Repos)
	s.mu.Lock()
	defer s.mu.Unlock()
	secret, public := jwt.Key(len(s.apps))
	a := &app{spec: spec, public: public, bot: s.user(login), repos: ids}
	a.App = App{ID: s.newID(), InstallationID: s.newID(), Login: login, Key: secret}
	a.ClientID = "Iv23li" + strconv.FormatInt(a.ID, 10)
	if a.spec.TokenLife == 0 {
		a.spec.TokenLife = time.Hour
	}
	s.apps = append(s.apps, a)
	return a.App
}

// Install installs an app once more, on other repositories.
func (s *Server) Install(of App, repos ...string) App {
	ids := s.ids(repos)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := *s.apps[slices.IndexFunc(s.apps, func(a *app) bool { return a.ID == of.ID })]
	a.InstallationID, a.repos, a.removed = s.newID(), ids, false
	s.apps = append(s.apps, &a)
	return a.App
}

// SetInstallation suspends or removes an installation, or makes it as it was.
func (s *Server) SetInstallation(of App, suspended, removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[slices.IndexFunc(s.apps, func(a *app) bool { return a.InstallationID == of.InstallationID })]
	a.suspended, a.removed = map[bool]any{true: stamp(s.now())}[suspended], removed
}

func (s *Server) ids(names []string) (ids map[int64]bool) {
	for _, name := range names {
		if ids == nil {
			ids = map[int64]bool{}
		}
		ids[s.Repo(name).ID()] = true
	}
	return ids
}

const suspended = "This installation has been suspended"

func appSlug(login string) string { return strings.TrimSuffix(login, "[bot]") }

func (c *call) claim() (*app, *reply) {
	var by *app
	err := jwt.Judge(credential(c.request), c.at, func(issuer string) *rsa.PublicKey {
		at := slices.IndexFunc(c.apps, func(a *app) bool { return issuer == a.ClientID || issuer == strconv.FormatInt(a.ID, 10) })
		if at < 0 {
			return nil
		}
		by = c.apps[at]
		return by.public
	})
	if err != nil {
		out := fail(http.StatusUnauthorized, err.Error())
		return nil, &out
	}
	return by, nil
}

// installed finds the installation that fits among those of the app that signed the request.
func installed(c *call, fits func(*app) bool) (*app, *reply) {
	by, out := c.claim()
	if out != nil {
		return nil, out
	}
	at := slices.IndexFunc(c.apps, func(a *app) bool { return a.ID == by.ID && !a.removed && fits(a) })
	if at < 0 {
		missing := notFound()
		return nil, &missing
	}
	return c.apps[at], nil
}

func named(c *call) func(*app) bool {
	return func(a *app) bool { return c.param("id") == a.InstallationID }
}

func (a *app) sees(r *repo) bool { return a.repos == nil || a.repos[r.id] }

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
		"access_tokens_url": v.url("app/installations", a.InstallationID, "access_tokens"), "suspended_at": a.suspended, "events": []string{},
	}
}

func listInstallations(c *call) reply {
	a, out := c.claim()
	if out != nil {
		return *out
	}
	return ok([]any{c.installationJSON(a)})
}

func installation(c *call, fits func(*app) bool) reply {
	a, out := installed(c, fits)
	if out != nil {
		return *out
	}
	return ok(c.installationJSON(a))
}

func getOwnerInstallation(c *call) reply {
	return installation(c, func(a *app) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(c.repos)), func(r *repo) bool { return key(r.owner.login) == key(c.params["org"]) && a.sees(r) })
	})
}

func getRepoInstallation(c *call) reply {
	full := c.params["o"] + "/" + c.params["r"]
	r := c.names[key(full)]
	out := installation(c, func(a *app) bool { return r != nil && a.sees(r) })
	if out.status == http.StatusOK && key(r.fullName()) != key(full) {
		return c.movedTo(r)
	}
	return out
}

// mint makes an installation token, for fewer repositories and permissions if so asked.
func mint(c *call) reply {
	c.write = "" // a token changes nothing in a repository
	a, out := installed(c, named(c))
	if out == nil && a.suspended != nil {
		out = new(fail(http.StatusForbidden, suspended))
	}
	if out != nil {
		return *out
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
	t := &token{value: c.secret("ghs_"), user: a.bot, of: a, repos: repos, perms: perms, expires: c.at.Add(a.spec.TokenLife)}
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
	set := map[int64]bool{}
	if len(ids) == 0 && len(names) == 0 {
		return a.repos, nil
	}
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
		if c.repos[id] == nil || !a.sees(c.repos[id]) {
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
