package fakehub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxBody is more than any valid request needs.
const maxBody = 32 << 20

// call is one request on its way through the server; it lives under the lock.
type call struct {
	viewer
	server  *Server
	request *http.Request
	query   url.Values
	body    []byte
	route   *route
	params  map[string]string
	at      time.Time
	// stale hides from lists what is younger; hidden answers 404 for what is younger.
	stale, hidden time.Duration
	// write names the log entry; "" logs nothing. operation is what a GraphQL document is called.
	write, operation string
}

// ServeHTTP answers git, REST and GraphQL.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.inflight.Add(1)
	s.mu.Unlock()
	defer s.inflight.Done()
	if repo, rest, isGit := gitPath(r.URL.Path); isGit {
		s.serveGit(w, r, repo, rest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request too large", http.StatusRequestEntityTooLarge)
		return
	}
	out, hit := s.answer(r, body)
	s.send(w, r, out, hit)
}

// answer carries out one request, or what a fault makes of it.
func (s *Server) answer(r *http.Request, body []byte) (reply, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{viewer: viewer{hub: s.hub}, server: s, request: r, query: r.URL.Query(), body: body, at: s.now()}
	s.watchFor(r, body)
	segments := c.byID(split(r.URL.EscapedPath()))
	c.route, c.params = s.find(r.Method, segments)
	refused := c.authenticate()
	hit := s.faultFor(c)
	if hit != nil && hit.preempts() {
		out := hit.answer(c)
		c.record(out, false)
		return c.headers(out), hit
	}
	out := c.run(refused)
	c.record(out, true)
	if hit != nil && hit.Status != 0 {
		out = hit.answer(c)
	}
	return c.headers(c.tag(out)), hit
}

// run applies the request.
func (c *call) run(refused *reply) reply {
	if refused != nil {
		return *refused
	}
	if limited := (meter{c}).overLimit(); limited != nil {
		return *limited
	}
	if c.route == nil {
		return notFound()
	}
	if c.request.Method != http.MethodGet {
		c.write = c.route.name()
	}
	if owner, has := c.params["owner"]; has {
		if out := c.enter(owner, c.params["repo"]); out != nil {
			return *out
		}
	}
	return c.route.handler(c)
}

// byID rewrites /repositories/<id>/... to the name the repository has now.
func (c *call) byID(segments []string) []string {
	if len(segments) < 2 || segments[0] != "repositories" {
		return segments
	}
	id, err := strconv.ParseInt(segments[1], 10, 64)
	if err != nil || c.repos[id] == nil {
		return segments
	}
	r := c.repos[id]
	return append([]string{"repos", r.owner.login, r.name}, segments[2:]...)
}

// enter finds the repository and judges what the actor may do in it.
func (c *call) enter(owner, name string) *reply {
	full := owner + "/" + name
	r := c.names[key(full)]
	if r == nil || !c.sees(r) {
		out := notFound()
		return &out
	}
	if key(r.fullName()) != key(full) {
		out := c.movedTo(r)
		return &out
	}
	c.repo = r
	if out := c.mayNot(c.route.need, c.route.perm); out != nil {
		return out
	}
	if c.request.Method == http.MethodGet {
		return nil
	}
	if r.archived {
		out := fail(http.StatusForbidden, "Repository was archived so is read-only.")
		return &out
	}
	if r.disabled {
		out := fail(http.StatusForbidden, "Repository access blocked")
		return &out
	}
	return nil
}

// movedTo answers for a former name: 301 for GET, else 307.
func (c *call) movedTo(r *repo) reply {
	status := http.StatusTemporaryRedirect
	if c.request.Method == http.MethodGet {
		status = http.StatusMovedPermanently
	}
	segments := split(c.request.URL.EscapedPath())
	var target strings.Builder
	target.WriteString(c.url("repositories", r.id))
	for _, segment := range segments[3:] {
		target.WriteString("/" + url.PathEscape(segment))
	}
	if raw := c.request.URL.RawQuery; raw != "" {
		target.WriteString("?" + raw)
	}
	out := fail(status, "Moved Permanently")
	out.body.(obj)["url"] = target.String()
	return out.with("Location", target.String())
}

// decode reads the JSON body into v.
func (c *call) decode(v any) *reply {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		out := fail(http.StatusBadRequest, "Problems parsing JSON")
		return &out
	}
	return nil
}

// tag adds the entity tag of a GET and answers 304 when the client has it. A tag is bound
// to the token, so another token never hits.
func (c *call) tag(out reply) reply {
	if c.request.Method != http.MethodGet || out.status != http.StatusOK {
		return out
	}
	out.raw = out.bytes() // as it is sent
	sum := sha256.Sum256(append([]byte(c.tokenValue()+"\n"), out.raw...))
	etag := `W/"` + hex.EncodeToString(sum[:]) + `"`
	if strings.TrimPrefix(c.request.Header.Get("If-None-Match"), "W/") == strings.TrimPrefix(etag, "W/") {
		header := out.header
		out = reply{status: http.StatusNotModified, header: header}
		meter{c}.refund()
	}
	return out.with("ETag", etag).with("Cache-Control", "private, max-age=60, s-maxage=60")
}

// headers adds what every answer carries.
func (c *call) headers(out reply) reply {
	out = out.with("X-GitHub-Request-Id", fmt.Sprintf("%04X:%06X", c.newID(), len(c.server.requests))).
		with("Date", c.at.UTC().Format(http.TimeFormat)).with("X-GitHub-Media-Type", "github.v3; format=json")
	if c.token != nil && c.token.classic {
		out = out.with("X-OAuth-Scopes", c.token.scopes)
	}
	if c.route != nil && c.route.perm != "" && c.route.perm != signed {
		level := "read"
		if c.route.method != http.MethodGet {
			level = "write"
		}
		out = out.with("X-Accepted-GitHub-Permissions", c.route.perm+"="+level)
	}
	return meter{c}.limitHeaders(out)
}

// bytes is the body as sent.
func (r reply) bytes() []byte {
	if r.raw != nil || r.body == nil {
		return r.raw
	}
	data, err := json.Marshal(r.body)
	if err != nil {
		panic(fmt.Sprintf("fakehub: encode %T: %v", r.body, err))
	}
	return data
}

// send writes the answer, unless a fault loses, cuts or delays it.
func (s *Server) send(w http.ResponseWriter, r *http.Request, out reply, hit *Fault) {
	if hit != nil && hit.Drop != Keep {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	maps.Copy(w.Header(), out.header)
	data := out.bytes()
	if data != nil && w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	if out.rawType != "" {
		w.Header().Set("Content-Type", out.rawType)
	}
	if hit != nil && (hit.Slow > 0 || hit.CutAfter > 0) {
		hit.deliver(w, r, out.status, data)
		return
	}
	w.WriteHeader(out.status)
	_, _ = w.Write(data) // the client may have closed the connection
}
