package fakehub

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// gitPath cuts /<owner>/<repo>.git/<rest>.
func gitPath(path string) (repo, rest string, isGit bool) {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	if len(parts) != 3 {
		return "", "", false
	}
	name, isGit := strings.CutSuffix(parts[1], ".git")
	return parts[0] + "/" + name, parts[2], isGit
}

// gitCall is a request of git.
type gitCall struct {
	repo    *repo
	actor   string
	rest    string
	push    bool
	updates []refUpdate
}

// serveGit judges who asks, then hands the request to git.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, name, rest string) {
	push := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	g, refused, hit := s.enterGit(r, name, rest, push)
	if refused == nil && push && r.Method == http.MethodPost {
		file, err := s.spool(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer s.unspool(file)
		if s.refusePush(w, r, g, file) {
			return
		}
	}
	s.noteGit(r, g, refused)
	switch {
	case hit != nil && hit.preempts() && hit.Drop != Keep:
		panic(http.ErrAbortHandler)
	case hit != nil && hit.preempts():
		http.Error(w, hit.Message, hit.Status)
		return
	case refused != nil:
		maps.Copy(w.Header(), refused.header)
		http.Error(w, string(refused.raw), refused.status)
		return
	}
	if !push || r.Method != http.MethodPost {
		s.runGit(w, r, g)
		return
	}
	// A pushing client must not hear of its push before the refs are known here.
	kept := &keptAnswer{header: http.Header{}, status: http.StatusOK}
	s.runGit(kept, r, g)
	if hit != nil && hit.Drop == AfterApplying {
		panic(http.ErrAbortHandler)
	}
	kept.send(w)
}

// keptAnswer holds an answer back.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptAnswer) Header() http.Header         { return k.header }
func (k *keptAnswer) Write(p []byte) (int, error) { return k.body.Write(p) }
func (k *keptAnswer) WriteHeader(status int)      { k.status = status }

func (k *keptAnswer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body.Bytes()) // a client that went away is no concern of ours
}

// enterGit finds repository and actor. A private repository one may not read is 404.
func (s *Server) enterGit(r *http.Request, name, rest string, push bool) (*gitCall, *reply, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchFor(r, nil)
	c := &call{Server: s, request: r, at: s.now(), route: gitRoute(r, push)}
	refused := c.authenticate()
	g := &gitCall{rest: rest, push: push, actor: c.login()}
	hit := s.faultFor(c)
	if refused != nil || (c.actor == nil && push) {
		return g, askPassword(), hit
	}
	g.repo = s.names[key(name)]
	if g.repo == nil || !c.sees(g.repo) {
		if c.actor == nil {
			return g, askPassword(), hit
		}
		return g, gitFail(http.StatusNotFound, "Repository not found."), hit
	}
	c.repo = g.repo
	switch {
	case push && !c.mayPush():
		return g, gitFail(http.StatusForbidden, fmt.Sprintf("Permission to %s.git denied to %s.", g.repo.fullName(), g.actor)), hit
	case push && g.repo.archived:
		return g, gitFail(http.StatusForbidden, "This repository was archived so it is read-only."), hit
	case g.repo.disabled:
		return g, gitFail(http.StatusForbidden, "Access to this repository has been disabled by GitHub staff."), hit
	}
	return g, nil, hit
}

// gitRoute is the name a fault or log knows a git request by: "GIT push" or "GIT fetch".
func gitRoute(r *http.Request, push bool) *route {
	name := "fetch"
	if push {
		name = "push"
	}
	if r.Method == http.MethodGet {
		name += "-refs"
	}
	return &route{method: "GIT", pattern: name}
}

func askPassword() *reply {
	out := reply{status: http.StatusUnauthorized, raw: []byte("Invalid username or token.")}.
		with("WWW-Authenticate", `Basic realm="GitHub"`)
	return &out
}

func gitFail(status int, text string) *reply {
	return &reply{status: status, raw: []byte(text)}
}

func (s *Server) noteGit(r *http.Request, g *gitCall, refused *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := http.StatusOK
	if refused != nil {
		status = refused.status
	}
	s.requests = append(s.requests, Request{
		Actor: g.actor, Method: r.Method, Route: gitRoute(r, g.push).name(), Path: r.URL.RequestURI(),
		Status: status, Time: s.now(),
	})
}

// spool keeps the body in a file: git sends long pushes in chunks of unknown number,
// which CGI cannot take.
func (s *Server) spool(r *http.Request) (*os.File, error) {
	file, err := os.CreateTemp(s.root, "push")
	if err != nil {
		return nil, fmt.Errorf("keep the push: %w", err)
	}
	if _, err = io.Copy(file, r.Body); err == nil {
		r.ContentLength, err = file.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		s.unspool(file)
		return nil, fmt.Errorf("keep the push: %w", err)
	}
	r.TransferEncoding = nil
	r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	r.Body = file
	return file, nil
}

func (s *Server) unspool(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}

// refusePush reads the ref updates and answers a push that a rule forbids.
func (s *Server) refusePush(w http.ResponseWriter, r *http.Request, g *gitCall, file *os.File) bool {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	updates, caps := readUpdates(bufio.NewReader(file))
	g.updates = updates
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	refusals, notes := s.judgePush(g)
	if len(refusals) == 0 {
		return false
	}
	s.noteGit(r, g, nil)
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(pushReport(updates, refusals, notes, strings.Contains(caps, "side-band-64k")))
	return true
}

// runGit lets git answer, then takes notice of the refs it changed.
func (s *Server) runGit(w http.ResponseWriter, r *http.Request, g *gitCall) {
	handler, err := s.backend(g.repo, g.actor)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL = &url.URL{Path: fmt.Sprintf("/%d.git/%s", g.repo.id, g.rest), RawQuery: r.URL.RawQuery}
	inner.Header.Del("Authorization")
	handler.ServeHTTP(w, inner)
	if g.push && r.Method == http.MethodPost {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pushed(g)
	}
}

// pushed notes the refs that moved, updates pull requests and writes the log.
func (s *Server) pushed(g *gitCall) {
	before := g.repo.refs
	if err := s.readRefs(g.repo); err != nil {
		return // the repository is gone with the server
	}
	var lines []string
	for _, u := range g.updates {
		if now := g.repo.refs[u.ref]; now != before[u.ref] && (now == u.new || u.deletes()) {
			lines = append(lines, u.old+" "+u.new+" "+u.ref)
			s.noteClaim(g.repo, u)
			s.branchMoved(g.repo, u.ref, s.user(g.actor))
			if strings.HasPrefix(u.ref, "refs/heads/") && !u.deletes() {
				session := s.trailer(g.repo, u.new)
				s.judgeWrite(session, "push of "+u.ref)
				s.judgeIntent(session, "PUSH", "")
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	s.log = append(s.log, Entry{
		Actor: g.actor, Route: "PUSH", Path: g.repo.fullName(), Body: strings.Join(lines, "\n"),
		Status: http.StatusOK, Time: s.now(),
	})
	s.emit(g.repo, "push", "", obj{"ref": g.updates[0].ref, "after": g.updates[0].new})
}

// branchMoved lets open pull requests follow their branch; a deleted branch closes them.
func (s *Server) branchMoved(r *repo, ref string, by *user) {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !isBranch {
		return
	}
	for _, other := range s.repos {
		for _, i := range other.issues {
			if i.pull == nil || i.state != "open" {
				continue
			}
			isHead := i.pull.headRepo == r && i.pull.headBranch == branch
			switch gone := r.refs[ref] == ""; {
			case gone && (isHead || i.repo == r && i.pull.base == branch):
				i.touch(s.now())
				s.setState(i, by, "closed", "")
			case isHead:
				i.touch(s.now())
				i.pull.head()
			}
		}
	}
}
