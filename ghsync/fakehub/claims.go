package fakehub

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
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
func (a *audit) noteClaim(r *repo, u bare.Update) {
	number, isClaim := strings.CutPrefix(u.Ref, claimRefs)
	if !isClaim {
		return
	}
	name := fmt.Sprintf("%d/%s", r.id, number)
	if u.Deletes() {
		delete(a.claims.holder, name)
		return
	}
	message, err := r.git.Run("show", "-s", "--format=%B", u.New)
	var claim struct{ Session string }
	if err != nil || json.Unmarshal([]byte(message), &claim) != nil || claim.Session == "" {
		return
	}
	a.claims.holder[name], a.claims.issue[claim.Session] = claim.Session, name
}

// judgeWrite notes a write of a session whose issue is held by another one. A session
// that never claimed (a local lock) or gave its claim up is free to write.
func (a *audit) judgeWrite(session, what string) {
	name, claimed := a.claims.issue[session]
	if holder := a.claims.holder[name]; claimed && holder != "" && holder != session {
		a.claims.late = append(a.claims.late, fmt.Sprintf("%s by %s, whose issue is held by %s", what, session, holder))
	}
}

// trailer is the session that the tip of a branch names.
func (r *repo) trailer(sha string) string {
	out, err := r.git.Run("show", "-s", "--format=%(trailers:key=Agentmux-Session,valueonly,separator=%x20)", sha)
	if err != nil {
		return ""
	}
	return out
}
