package fakehub

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
)

// Options says how a Server starts. The zero value is a server like github.com with no
// users and no repositories.
type Options struct {
	// Addr is the address to listen on; "" is a free port of the loopback.
	Addr string
	// Root keeps the bare repositories; "" is a temporary directory removed by Close.
	Root string
	// Now is the server's clock; nil is time.Now. It is called under the server's lock.
	Now func() time.Time
	// Seed drives the faults with a probability.
	Seed uint64
	// NoGraphQL makes both GraphQL addresses answer 404.
	NoGraphQL bool
	// Enterprise is the profile of a GitHub Enterprise Server in its default settings:
	// no rate limit headers, rate_limit answers 404, API says /api/v3.
	Enterprise bool
	// SearchLag is how long a change of an issue stays unknown to the search.
	SearchLag time.Duration
	// ContentLimits refuses more than 80 content writes a minute or 500 an hour of one
	// account, as GitHub does.
	ContentLimits bool
	Users         []UserSpec
	Repos         []RepoSpec
}

// UserSpec describes an account.
type UserSpec struct {
	Login string
	Name  string
	// Type is User (default), Bot, Mannequin or Organization.
	Type string
	// Token is the account's token; "" makes one, see Server.Token.
	Token string
	// Roles maps "owner/name" to a role, see Repo.SetRole.
	Roles map[string]Role
	// Member is "" (no member of the owning organization), "public" or "private";
	// the association of a private member reads as NONE.
	Member string
}

// RepoSpec describes a repository to add. Source, when set, is a directory with a git
// repository whose branches and tags are copied; else Commits are made, in order; with
// neither the repository has one commit with a README.md.
type RepoSpec struct {
	Owner, Name   string
	Source        string
	Commits       []CommitSpec
	DefaultBranch string // "" is main
	Private       bool
	Archived      bool
	Disabled      bool
	// ForkOf is the "owner/name" of the parent, which must exist.
	ForkOf   string
	NoIssues bool
	// NoDrafts refuses draft pull requests, as free private repositories do.
	NoDrafts bool
}

// CommitSpec is a commit to put on a branch. A new branch starts at From, or at the
// default branch's tip when From is "". A file with the value Deleted is removed.
type CommitSpec struct {
	Branch, From    string
	Message, Author string // Author is "Name <mail>"
	Files           map[string]string
}

// Deleted as content of a file in a CommitSpec removes the file.
const Deleted = bare.Deleted

// Role is what an account may do in a repository. A custom role is written
// "name:base", for example "ci-ops:write".
type Role string

const (
	None     Role = "none"
	Read     Role = "read"
	Triage   Role = "triage"
	Write    Role = "write"
	Maintain Role = "maintain"
	Admin    Role = "admin"
)

// base is the built-in role below a custom one.
func (r Role) base() Role {
	if _, base, custom := strings.Cut(string(r), ":"); custom {
		return Role(base)
	}
	return r
}

// name is what role_name shows.
func (r Role) name() string {
	name, _, _ := strings.Cut(string(r), ":")
	return name
}

func (r Role) rank() int {
	for i, known := range []Role{None, Read, Triage, Write, Maintain, Admin} {
		if r.base() == known {
			return i
		}
	}
	panic(fmt.Sprintf("fakehub: unknown role %q", r))
}

func (r Role) atLeast(other Role) bool { return r.rank() >= other.rank() }

// legacy is the value of "permission", which knows four levels only.
func (r Role) legacy() string {
	switch r.base() {
	case Maintain:
		return string(Write)
	case Triage:
		return string(Read)
	}
	return string(r.base())
}

// flags is the "permissions" object of repositories and collaborators.
func (r Role) flags() obj {
	return obj{
		"admin": r.atLeast(Admin), "maintain": r.atLeast(Maintain), "push": r.atLeast(Write),
		"triage": r.atLeast(Triage), "pull": r.atLeast(Read),
	}
}
