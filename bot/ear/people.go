package ear

import (
	"context"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

const (
	// permissionTime is how long an answer about a login is used again.
	permissionTime = 5 * time.Minute
	// maxLogins is how many logins are asked about in an hour: strangers are many.
	maxLogins = 50
)

// people are those who wrote, and what the server said they may do.
type people struct {
	ask   func(ctx context.Context, login string) (ghsync.Permission, error)
	known map[string]answer // by login in lower case
}

type answer struct {
	gate.Answer
	at time.Time
}

// permission returns what an account may do. If too many were asked about, it returns how long to
// wait instead.
func (p *people) permission(ctx context.Context, who ghsync.Account, now time.Time) (a gate.Answer, wait time.Duration) {
	login := strings.ToLower(who.Login)
	have, ok := p.known[login]
	if ok && have.Err == nil && now.Sub(have.at) < permissionTime {
		return have.Answer, 0
	}
	asked, oldest := 0, now
	for other, b := range p.known {
		switch age := now.Sub(b.at); {
		case age >= time.Hour:
			delete(p.known, other)
		case other != login:
			asked++
			if b.at.Before(oldest) {
				oldest = b.at
			}
		}
	}
	if asked >= maxLogins {
		return gate.Answer{}, oldest.Add(time.Hour).Sub(now)
	}
	a.Permission, a.Err = p.ask(ctx, who.Login)
	p.known[login] = answer{a, now}
	return a, 0
}
