package ghsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// Account is who wrote or acted. A deleted account has neither login nor id.
type Account struct {
	Login string
	ID    int64
	Type  string // User, Bot, Organization, Mannequin
}

// IsPerson tells a user from bots, apps and imported accounts.
func (a Account) IsPerson() bool {
	return a.Type == "User" && a.Login != "" && !strings.HasSuffix(a.Login, "[bot]")
}

const viewerDocument = `query Viewer { viewer { __typename login databaseId } }`

// Viewer returns the account the token acts as, and asks for it once. REST does not answer
// this for an installation's token, and a server without GraphQL has only REST.
func (c *Client) Viewer(ctx context.Context) (Account, error) {
	c.mu.Lock()
	known := c.viewer
	c.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	account, err := c.readViewer(ctx)
	if err != nil {
		return Account{}, fmt.Errorf("read own account: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewer = &account
	return account, nil
}

func (c *Client) readViewer(ctx context.Context) (Account, error) {
	var answer struct{ Viewer gqlActor }
	if err := c.ask(ctx, viewerDocument, nil, &answer); !errors.Is(err, errNoGraphQL) {
		return answer.Viewer.account(), err
	}
	user, resp, err := api(c).Users.Get(ctx, "")
	if err != nil {
		return Account{}, served(c, resp, err)
	}
	return Account{Login: user.GetLogin(), ID: user.GetID(), Type: user.GetType()}, nil
}

// Level is how much an account may do in a repository, in ascending order.
type Level int

const (
	LevelNone Level = iota
	LevelRead
	LevelTriage
	LevelWrite
	LevelMaintain
	LevelAdmin
)

var levelNames = [...]string{"none", "read", "triage", "write", "maintain", "admin"}

func (l Level) String() string { return levelNames[l] }

// ParseLevel reads a level's name.
func ParseLevel(name string) (Level, bool) {
	for i, n := range levelNames {
		if n == name {
			return Level(i), true
		}
	}
	return LevelNone, false
}

// Permission is what an account may do in a repository.
type Permission struct {
	Account Account
	Level   Level
}

// Write reports whether the account may push.
func (p Permission) Write() bool { return p.Level >= LevelWrite }

type remembered struct {
	permission Permission
	at         time.Time
}

// permissionTime is how long an answer about a login is used again.
const permissionTime = 5 * time.Minute

// Permission reads what login may do in repo, with memberships and custom roles resolved
// by the server. An unknown login has none. Answers are kept for five minutes.
func (c *Client) Permission(ctx context.Context, repo Repo, login string) (Permission, error) {
	key := strings.ToLower(repo.String() + "/" + login)
	c.mu.Lock()
	have, ok := c.permissions[key]
	c.mu.Unlock()
	if ok && time.Since(have.at) < permissionTime {
		return have.permission, nil
	}
	p, err := c.CurrentPermission(ctx, repo, login)
	if err != nil {
		return Permission{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.permissions, func(_ string, r remembered) bool { return time.Since(r.at) >= permissionTime })
	c.permissions[key] = remembered{permission: p, at: time.Now()}
	return p, nil
}

// CurrentPermission asks the server again, for the check before the first push.
func (c *Client) CurrentPermission(ctx context.Context, repo Repo, login string) (Permission, error) {
	answer, resp, err := api(c).Repositories.GetPermissionLevel(ctx, repo.Owner, repo.Name, login)
	err = served(c, resp, err)
	if transport.IsNotFound(err) {
		return Permission{Account: Account{Login: login}}, nil
	}
	if err != nil {
		return Permission{}, fmt.Errorf("read permission of %s: %w", login, err)
	}
	u := answer.GetUser()
	p := Permission{Account: toAccount(u), Level: LevelNone}
	p.Account.Login = cmp.Or(p.Account.Login, login)
	// The old field says write for maintain and read for triage; the map tells them apart.
	p.Level, _ = ParseLevel(answer.GetPermission())
	switch {
	case p.Level == LevelWrite && u.GetPermissions()["maintain"]:
		p.Level = LevelMaintain
	case p.Level == LevelRead && u.GetPermissions()["triage"]:
		p.Level = LevelTriage
	}
	return p, nil
}
