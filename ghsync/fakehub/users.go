package fakehub

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// AddUser adds an account and returns its token.
func (s *Server) AddUser(spec UserSpec) string {
	s.mu.Lock()
	if s.users[key(spec.Login)] != nil {
		s.mu.Unlock()
		panic("fakehub: the account " + spec.Login + " exists already")
	}
	u := &user{id: s.newID(), login: spec.Login, name: spec.Name, kind: cmp.Or(spec.Type, "User"), member: spec.Member}
	s.users[key(u.login)] = u
	if spec.Token == "" {
		spec.Token = s.secret("ghp_")
	}
	s.tokens[spec.Token] = &token{value: spec.Token, user: u}
	s.mu.Unlock()
	for name, role := range spec.Roles {
		s.Repo(name).SetRole(spec.Login, role)
	}
	return spec.Token
}

// Token returns a token of the account.
func (s *Server) Token(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(login)
	for value, t := range s.tokens {
		if t.user == u && t.perms == nil {
			return value
		}
	}
	panic("fakehub: " + login + " has no token")
}

// UserID returns the number of the account.
func (s *Server) UserID(login string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user(login).id
}

// Revoke makes a token invalid, and returns another one of its account.
func (s *Server) Revoke(value string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.tokens[value]
	next.value = s.secret("ghp_")
	s.tokens[next.value] = &next
	delete(s.tokens, value)
	return next.value
}

// DeleteUser removes an account; what it wrote belongs to ghost from then on, and events
// have no actor.
func (s *Server) DeleteUser(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user(login).deleted = true
}

// ActionsToken makes a token like GITHUB_TOKEN of a workflow run in a repository: the
// account github-actions[bot], the given permissions ("issues": "write"), 1,000 requests
// per hour, and no pull requests unless Repo.LetActionsOpenPulls. life 0 is for ever.
func (s *Server) ActionsToken(repo string, perms map[string]string, life time.Duration) string {
	const login = "github-actions[bot]"
	s.mu.Lock()
	known := s.users[login] != nil
	s.mu.Unlock()
	if !known {
		s.AddUser(UserSpec{Login: login, Type: "Bot"})
	}
	id := s.Repo(repo).ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &token{value: s.secret("ghs_"), user: s.user(login), repos: map[int64]bool{id: true}, perms: perms, actions: true, hourly: 1000}
	if life > 0 {
		t.expires = s.now().Add(life)
	}
	s.tokens[t.value] = t
	return t.value
}

// user finds an account of the test.
func (h *hub) user(login string) *user {
	u := h.users[key(login)]
	if u == nil {
		panic("fakehub: no account " + login)
	}
	return u
}

// userJSON is the short form of an account; a deleted one is ghost.
func (h *hub) userJSON(u *user) any {
	if u == nil {
		return nil
	}
	if u.deleted {
		u = h.users["ghost"]
	}
	name := strings.TrimSuffix(u.login, "[bot]")
	return obj{
		"login": u.login, "id": u.id, "node_id": nodeID("U", u.id), "type": u.kind, "site_admin": false,
		"url": h.url("users", u.login), "html_url": h.URL() + "/" + name, "avatar_url": h.URL() + "/avatars/" + name,
		"gravatar_id": "", "repos_url": h.url("users", u.login, "repos"), "user_view_type": "public",
	}
}

// actorJSON is the actor of an event: null when the account is gone.
func (h *hub) actorJSON(u *user) any {
	if u == nil || u.deleted {
		return nil
	}
	return h.userJSON(u)
}

func (h *hub) usersJSON(users []*user) []any {
	list := []any{}
	for _, u := range users {
		list = append(list, h.userJSON(u))
	}
	return list
}

func getViewer(c *call) reply {
	if c.actor == nil {
		return fail(http.StatusUnauthorized, "Requires authentication")
	}
	if c.token.perms != nil && !c.token.personal {
		return fail(http.StatusForbidden, "Resource not accessible by integration")
	}
	body := c.userJSON(c.actor).(obj)
	body["name"] = orNull(c.actor.name)
	body["email"] = nil
	return ok(body).with("X-OAuth-Scopes", "repo, workflow")
}

func getUser(c *call) reply {
	u := c.users[key(c.params["login"])]
	if u == nil || u.deleted {
		return notFound()
	}
	body := c.userJSON(u).(obj)
	body["name"] = orNull(u.name)
	return ok(body)
}

func getMeta(c *call) reply {
	body := obj{"verifiable_password_authentication": true, "hooks": []string{"127.0.0.1/32"}}
	if c.opt.Enterprise {
		body["installed_version"] = "3.14.0"
	}
	return ok(body)
}

// getPermission is the level of one account. "permission" knows four levels; "role_name"
// and the flags tell maintain, triage and custom roles apart.
func getPermission(c *call) reply {
	u := c.users[key(c.params["login"])]
	if u == nil || u.deleted {
		return fail(http.StatusNotFound, c.params["login"]+" is not a user")
	}
	role := c.roleOf(u, c.repo)
	who := c.userJSON(u).(obj)
	who["permissions"] = role.flags()
	who["role_name"] = role.name()
	return ok(obj{"permission": role.legacy(), "role_name": role.name(), "user": who})
}

// association is the author's relation to the repository, as far as it is public:
// a private member is not told from a stranger.
func (h *hub) association(u *user, r *repo) string {
	switch {
	case u == nil || u.deleted:
		return "NONE"
	case u == r.owner:
		return "OWNER"
	case u.member == "public":
		return "MEMBER"
	case u.member == "private":
		return "NONE"
	case r.roles[u.id] != "" && r.roles[u.id] != None:
		return "COLLABORATOR"
	}
	return "NONE"
}
