package fakehub

import (
	"encoding/json"
	"fmt"
	"strings"
)

// claimRefs is where a host claims an issue; the ref's last part is the number and its
// commit message names the session.
const claimRefs = "refs/agentmux/claims/"

// claims knows who holds each issue, from the pushes.
type claims struct {
	holder map[string]string // "<repo id>/<issue>" to session
	issue  map[string]string // session to what it held last
	late   []string
}

func newClaims() claims {
	return claims{holder: map[string]string{}, issue: map[string]string{}}
}

// noteClaim follows a push of a claim.
func (s *Server) noteClaim(r *repo, u refUpdate) {
	number, isClaim := strings.CutPrefix(u.ref, claimRefs)
	if !isClaim {
		return
	}
	name := fmt.Sprintf("%d/%s", r.id, number)
	if u.deletes() {
		delete(s.claims.holder, name)
		return
	}
	message, err := s.git(r.dir, nil, "show", "-s", "--format=%B", u.new)
	var claim struct{ Session string }
	if err != nil || json.Unmarshal([]byte(message), &claim) != nil || claim.Session == "" {
		return
	}
	s.claims.holder[name], s.claims.issue[claim.Session] = claim.Session, name
}

// judgeWrite notes a write of a session whose issue is held by another one. A session
// that never claimed (a local lock) or gave its claim up is free to write.
func (s *Server) judgeWrite(session, what string) {
	name, claimed := s.claims.issue[session]
	if holder := s.claims.holder[name]; claimed && holder != "" && holder != session {
		s.claims.late = append(s.claims.late, fmt.Sprintf("%s by %s, whose issue is held by %s", what, session, holder))
	}
}

// trailer is the session that the tip of a branch names.
func (s *Server) trailer(r *repo, sha string) string {
	out, err := s.git(r.dir, nil, "show", "-s", "--format=%(trailers:key=Agentmux-Session,valueonly,separator=%x20)", sha)
	if err != nil {
		return ""
	}
	return out
}
