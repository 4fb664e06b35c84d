package ear

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
)

const (
	// permissionTime is how long an answer about a login is used again.
	permissionTime = 5 * time.Minute
	// maxLogins is how many logins that are not familiar are asked about in an hour: strangers are
	// many.
	maxLogins = 50
	// familiarTime is how long somebody is familiar after a command. The journal knows no older ones.
	familiarTime = 30 * 24 * time.Hour
)

// people are those who wrote, and what the server said they may do.
type people struct {
	ask     func(ctx context.Context, login string) (ghsync.Permission, error)
	named   []string // bot.allowed_users
	journal *journal.Journal
	known   map[string]answer // by login in lower case
}

type answer struct {
	gate.Answer
	at       time.Time
	familiar bool // does not count for maxLogins
}

// familiar reports whether strangers, however many, may not hold an account up: the configuration
// names it, or it gave a command or started a session here with write permission. It gives no right, and
// ends for an hour with an answer that the account may not write, so that few are familiar who may not.
func (p *people) familiar(who ghsync.Account, now time.Time) bool {
	if have, ok := p.known[strings.ToLower(who.Login)]; ok && have.Err == nil && now.Sub(have.at) < time.Hour && !have.Permission.Write() {
		return false
	}
	return slices.ContainsFunc(p.named, func(login string) bool { return strings.EqualFold(login, who.Login) }) ||
		p.journal.StartsBy(who.ID, familiarTime) > 0 ||
		p.journal.Given(familiarTime, func(c journal.Command) bool { return c.AuthorID == who.ID }) > 0
}

// permission returns what an account may do. If too many were asked about, it returns how long to
// wait instead.
func (p *people) permission(ctx context.Context, who ghsync.Account, now time.Time) (a gate.Answer, wait time.Duration) {
	login := strings.ToLower(who.Login)
	have, ok := p.known[login]
	if ok && have.Err == nil && now.Sub(have.at) < permissionTime {
		return have.Answer, 0
	}
	familiar := p.familiar(who, now)
	asked, oldest := 0, now
	for other, b := range p.known {
		switch age := now.Sub(b.at); {
		case age >= time.Hour:
			delete(p.known, other)
		case other != login && !b.familiar:
			asked++
			if b.at.Before(oldest) {
				oldest = b.at
			}
		}
	}
	if asked >= maxLogins && !familiar {
		return gate.Answer{}, oldest.Add(time.Hour).Sub(now)
	}
	a.Permission, a.Err = p.ask(ctx, who.Login)
	p.known[login] = answer{a, now, familiar}
	return a, 0
}
