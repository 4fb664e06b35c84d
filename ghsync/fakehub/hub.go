package fakehub

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/hook"
)

// hub is what the fake GitHub holds: its accounts and repositories, and what happens to them.
// Its methods are called under the lock, but for the addresses.
type hub struct {
	opt      Options
	root     string
	listener net.Listener

	mu     sync.Mutex // guards everything below, and what the server keeps
	rand   *rand.Rand
	lastID int64
	users  map[string]*user // by lower case login
	tokens map[string]*token
	repos  map[int64]*repo
	names  map[string]*repo // by lower case "owner/name", former names included
	past   searchPast
	apps   []*app
	hooks  []*hook.Target
}

func newHub(opt Options) *hub {
	return &hub{
		opt: opt, root: opt.Root, rand: rand.New(rand.NewPCG(opt.Seed, 1)), lastID: 1000,
		users: map[string]*user{}, tokens: map[string]*token{}, repos: map[int64]*repo{},
		names: map[string]*repo{}, past: searchPast{},
	}
}

// viewer is who looks at the hub, and from where: what an answer says depends on it.
type viewer struct {
	*hub
	token *token
	actor *user // nil when anonymous
	repo  *repo // of the route
}

// URL is the server's address without a slash at the end; git lives below it.
func (h *hub) URL() string { return "http://" + h.listener.Addr().String() }

// OtherURL is the same server under another host name, which a client must not trust
// with its token.
func (h *hub) OtherURL() string {
	_, port, _ := net.SplitHostPort(h.listener.Addr().String()) // a listener has a port
	return "http://localhost:" + port
}

// API is the base of the REST interface, with a slash at the end.
func (h *hub) API() string {
	if h.opt.Enterprise {
		return h.URL() + "/api/v3/"
	}
	return h.URL() + "/"
}

// GraphQL is the address of the GraphQL interface.
func (h *hub) GraphQL() string {
	if h.opt.Enterprise {
		return h.URL() + "/api/graphql"
	}
	return h.URL() + "/graphql"
}

// CloneURL is the address git uses for the repository "owner/name".
func (h *hub) CloneURL(repo string) string { return h.URL() + "/" + repo + ".git" }

func (h *hub) now() time.Time { return h.opt.Now() }

func (h *hub) newID() int64 {
	h.lastID++
	return h.lastID
}

func (h *hub) secret(prefix string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := []byte(prefix)
	for range 36 {
		text = append(text, letters[rand.IntN(len(letters))])
	}
	return string(text)
}

// url makes an address of the REST interface from parts.
func (h *hub) url(parts ...any) string {
	var base strings.Builder
	base.WriteString(h.API())
	for i, part := range parts {
		if i > 0 {
			base.WriteString("/")
		}
		switch part := part.(type) {
		case int64:
			base.WriteString(strconv.FormatInt(part, 10))
		default:
			base.WriteString(fmt.Sprint(part))
		}
	}
	return base.String()
}
