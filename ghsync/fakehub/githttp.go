package fakehub

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
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
	server  *Server
	repo    *repo
	actor   string
	rest    string
	push    bool
	updates []bare.Update
}

// serveGit judges who asks, then hands the request to git.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, name, rest string) {
	push := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	g, refused, hit := s.enterGit(r, name, rest, push)
	if hit != nil && hit.Hold != nil {
		<-hit.Hold
	}
	if refused == nil && push && r.Method == http.MethodPost {
		file, err := bare.Spool(r, s.root)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer bare.Unspool(file)
		if g.refuse(w, r, file) {
			return
		}
	}
	g.note(r, refused)
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
		g.run(w, r)
		return
	}
	// A pushing client must not hear of its push before the refs are known here.
	kept := bare.Keep()
	g.run(kept, r)
	if hit != nil && hit.Drop == AfterApplying {
		panic(http.ErrAbortHandler)
	}
	kept.Send(w)
}

// enterGit finds repository and actor. A private repository that the actor may not read answers 404.
func (s *Server) enterGit(r *http.Request, name, rest string, push bool) (*gitCall, *reply, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchFor(r, nil)
	c := &call{viewer: viewer{hub: s.hub}, server: s, request: r, at: s.now(), route: gitRoute(r, push)}
	refused := c.authenticate()
	g := &gitCall{server: s, rest: rest, push: push, actor: c.login()}
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
	name := map[bool]string{true: "push", false: "fetch"}[push]
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

func (g *gitCall) note(r *http.Request, refused *reply) {
	s := g.server
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

// refuse reads the ref updates and answers a push that a rule forbids.
func (g *gitCall) refuse(w http.ResponseWriter, r *http.Request, file *os.File) bool {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	updates, caps := bare.ReadUpdates(bufio.NewReader(file))
	g.updates = updates
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	refusals, notes := g.judge()
	if len(refusals) == 0 {
		return false
	}
	g.note(r, nil)
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(bare.Report(updates, refusals, notes, strings.Contains(caps, "side-band-64k")))
	return true
}

// run has git answer, then notes the refs that changed.
func (g *gitCall) run(w http.ResponseWriter, r *http.Request) {
	s := g.server
	g.repo.git.Serve(w, r, g.rest, g.actor)
	if g.push && r.Method == http.MethodPost {
		s.mu.Lock()
		defer s.mu.Unlock()
		g.pushed()
	}
}

// pushed notes the refs that moved, updates pull requests and writes the log.
func (g *gitCall) pushed() {
	s := g.server
	before := g.repo.refs
	if err := g.repo.readRefs(); err != nil {
		return // the server removed the repository at its end
	}
	var lines []string
	for _, u := range g.updates {
		if now := g.repo.refs[u.Ref]; now != before[u.Ref] && (now == u.New || u.Deletes()) {
			lines = append(lines, u.Old+" "+u.New+" "+u.Ref)
			s.noteClaim(g.repo, u)
			s.branchMoved(g.repo, u.Ref, s.user(g.actor))
			if strings.HasPrefix(u.Ref, "refs/heads/") && !u.Deletes() {
				session := g.repo.trailer(u.New)
				s.judgeWrite(session, "push of "+u.Ref)
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
	s.emit(g.repo, "push", "", obj{"ref": g.updates[0].Ref, "after": g.updates[0].New})
}

// branchMoved lets open pull requests follow their branch; a deleted branch closes them.
func (h *hub) branchMoved(r *repo, ref string, by *user) {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !isBranch {
		return
	}
	for _, other := range h.repos {
		for _, i := range other.issues {
			if i.pull == nil || i.state != "open" {
				continue
			}
			isHead := i.pull.headRepo == r && i.pull.headBranch == branch
			switch deleted := r.refs[ref] == ""; {
			case deleted && (isHead || i.repo == r && i.pull.base == branch):
				i.touch(h.now())
				h.setState(i, by, "closed", "")
			case isHead:
				i.touch(h.now())
				i.pull.head()
			}
		}
	}
}
