package fakehub

import (
	"net/http"
	"strings"
	"time"
)

// token is a credential. repos and perms are set for tokens of apps and of Actions.
type token struct {
	value   string
	user    *user
	repos   map[int64]bool    // nil is every repository
	perms   map[string]string // nil is what the role allows; else permission to read|write
	of      *app              // whose installation made it; nil: none
	actions bool              // GITHUB_TOKEN
	hourly  int
	expires time.Time

	personal bool   // perms and the account's role both count
	classic  bool   // answers name its scopes
	scopes   string // as answers name them
}

// credential reads the token of a request: Bearer, token, or the password of Basic.
func credential(r *http.Request) string {
	if _, password, isBasic := r.BasicAuth(); isBasic {
		return password
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if key(scheme) == "bearer" || key(scheme) == "token" {
		return strings.TrimSpace(value)
	}
	return ""
}

// authenticate sets the actor; a wrong or expired token is refused.
func (c *call) authenticate() *reply {
	value := credential(c.request)
	if value == "" && c.request.Header.Get("Authorization") == "" {
		return nil
	}
	if c.route != nil && c.route.perm == signed {
		return nil // judged by the handler
	}
	c.token = c.tokens[value]
	if c.token == nil || c.token.user.deleted || c.expired(c.token) || c.token.of != nil && c.token.of.removed {
		c.token = nil
		out := fail(http.StatusUnauthorized, "Bad credentials")
		return &out
	}
	c.actor = c.token.user
	if c.token.of != nil && c.token.of.suspended != nil {
		return new(fail(http.StatusForbidden, suspended))
	}
	return nil
}

func (h *hub) expired(t *token) bool {
	return !t.expires.IsZero() && !h.now().Before(t.expires)
}

func (v viewer) tokenValue() string {
	if v.token == nil {
		return ""
	}
	return v.token.value
}

// roleOf is the role of an account, by grant, ownership, or because all may read.
func (h *hub) roleOf(u *user, r *repo) Role {
	switch {
	case u != nil && u.deleted:
		return None
	case u != nil && u == r.owner:
		return Admin
	case u != nil && r.roles[u.id] != "":
		return r.roles[u.id]
	case r.private:
		return None
	}
	return Read
}

// sees reports whether the repository exists for the actor.
func (v viewer) sees(r *repo) bool {
	if v.token != nil && v.token.repos != nil && !v.token.repos[r.id] {
		return !r.private
	}
	if v.token != nil && v.token.perms != nil {
		return true
	}
	return v.roleOf(v.actor, r).atLeast(Read)
}

// can reports whether the actor has the role, or an app's token the permission.
func (c *call) can(need Role, perm string) bool {
	if c.token != nil && c.token.perms != nil && (!c.token.personal || !c.granted(need, perm)) {
		return c.granted(need, perm)
	}
	return c.roleOf(c.actor, c.repo).atLeast(need) && (need == Read || c.actor != nil)
}

// granted judges a token of an app: its list of permissions replaces a role.
func (c *call) granted(need Role, perm string) bool {
	if c.token.repos != nil && !c.token.repos[c.repo.id] {
		return false
	}
	have := c.token.perms[perm]
	writes := c.request.Method != http.MethodGet && c.request.Method != http.MethodHead
	if perm == "metadata" || perm == "" {
		return !writes
	}
	if writes || need == Admin {
		return have == "write" || (need == Admin && !writes && have == "read")
	}
	return have != ""
}

// mayNot answers 403 (404 for the anonymous) when the actor lacks the role.
func (c *call) mayNot(need Role, perm string) *reply {
	if c.request.Method != http.MethodGet && c.actor == nil {
		out := fail(http.StatusUnauthorized, "Requires authentication")
		return &out
	}
	if c.can(need, perm) {
		return nil
	}
	out := fail(http.StatusForbidden, "Must have admin rights to Repository.")
	switch {
	case c.actor == nil:
		out = fail(http.StatusUnauthorized, "Requires authentication")
	case c.token.personal:
		out = fail(http.StatusForbidden, "Resource not accessible by personal access token")
	case c.token.perms != nil:
		out = fail(http.StatusForbidden, "Resource not accessible by integration")
	case strings.HasSuffix(c.route.pattern, "/permission"):
		out = fail(http.StatusForbidden, "Must have push access to view collaborator permission.")
	case c.route.pattern == "/repos/{owner}/{repo}/statuses/{sha}":
		out = notFound() // GitHub hides the route from those who cannot push
	}
	return &out
}
