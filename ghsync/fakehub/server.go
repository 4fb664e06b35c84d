package fakehub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is the fake. It is safe for use by several goroutines.
type Server struct {
	opt      Options
	root     string
	ownRoot  bool
	listener net.Listener
	http     *http.Server
	served   chan struct{}
	table    []route
	traffic  traffic

	inflight sync.WaitGroup // requests; added to under mu, and not once closed

	mu       sync.Mutex // guards everything below
	closed   bool
	rand     *rand.Rand
	lastID   int64
	users    map[string]*user // by lower case login
	tokens   map[string]*token
	repos    map[int64]*repo
	names    map[string]*repo // by lower case "owner/name", former names included
	limits   map[string]*limit
	faults   []*armedFault
	met      int // requests that met one
	log      []Entry
	requests []Request
	canaries []string
	leaks    []string
	bans     []string // requests that approve or merge
	claims   claims

	sessionDirs []string
	unannounced []string // writes without an intent

	past  searchPast
	apps  []*app
	hooks []*hookTarget
}

// New starts a server; Close ends it.
func New(opt Options) (*Server, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Addr == "" {
		opt.Addr = "127.0.0.1:0"
	}
	s := &Server{
		opt: opt, root: opt.Root, table: routes(), served: make(chan struct{}),
		rand: rand.New(rand.NewPCG(opt.Seed, 1)), lastID: 1000,
		users: map[string]*user{}, tokens: map[string]*token{}, repos: map[int64]*repo{},
		names: map[string]*repo{}, limits: map[string]*limit{}, past: searchPast{}, claims: newClaims(),
	}
	if err := s.prepare(); err != nil {
		s.removeRoot()
		return nil, err
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(s.listener) // ends with Close
	}()
	return s, nil
}

// prepare makes the root, the accounts and the repositories, and opens the port.
func (s *Server) prepare() error {
	if s.root == "" {
		dir, err := os.MkdirTemp("", "fakehub")
		if err != nil {
			return fmt.Errorf("make the root: %w", err)
		}
		s.root, s.ownRoot = dir, true
	}
	abs, err := filepath.Abs(s.root)
	if err != nil {
		return fmt.Errorf("find the root: %w", err)
	}
	s.root = abs
	s.AddUser(UserSpec{Login: "ghost"})
	for _, spec := range s.opt.Users {
		s.AddUser(UserSpec{Login: spec.Login, Name: spec.Name, Type: spec.Type, Token: spec.Token, Member: spec.Member})
	}
	for _, spec := range s.opt.Repos {
		if err := s.AddRepo(spec); err != nil {
			return err
		}
	}
	for _, spec := range s.opt.Users {
		for name, role := range spec.Roles {
			s.Repo(name).SetRole(spec.Login, role)
		}
	}
	if s.traffic, err = openTraffic(); err != nil {
		return err
	}
	s.listener, err = net.Listen("tcp", s.opt.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// Close ends the server and its connections, waits for requests under way and removes
// its own root. It may be called twice.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close()
	<-s.served
	s.inflight.Wait()
	s.closeHooks()
	s.traffic.close()
	s.removeRoot()
	return err
}

func (s *Server) removeRoot() {
	if s.ownRoot {
		_ = os.RemoveAll(s.root)
	}
}

// URL is the server's address without a slash at the end; git lives below it.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// OtherURL is the same server under another host name, which a client must not trust
// with its token.
func (s *Server) OtherURL() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String()) // a listener has a port
	return "http://localhost:" + port
}

// API is the base of the REST interface, with a slash at the end.
func (s *Server) API() string {
	if s.opt.Enterprise {
		return s.URL() + "/api/v3/"
	}
	return s.URL() + "/"
}

// GraphQL is the address of the GraphQL interface.
func (s *Server) GraphQL() string {
	if s.opt.Enterprise {
		return s.URL() + "/api/graphql"
	}
	return s.URL() + "/graphql"
}

// CloneURL is the address git uses for the repository "owner/name".
func (s *Server) CloneURL(repo string) string { return s.URL() + "/" + repo + ".git" }

// now is called under the lock.
func (s *Server) now() time.Time { return s.opt.Now() }

func (s *Server) newID() int64 {
	s.lastID++
	return s.lastID
}

func (s *Server) secret(prefix string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := []byte(prefix)
	for range 36 {
		text = append(text, letters[rand.IntN(len(letters))])
	}
	return string(text)
}

// url makes an address of the REST interface from parts.
func (s *Server) url(parts ...any) string {
	var base strings.Builder
	base.WriteString(s.API())
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

// Serve runs a server until ctx ends. When it answers, its address is written to ready
// as one line.
func Serve(ctx context.Context, opt Options, ready io.Writer) error {
	s, err := New(opt)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(ready, s.URL()); err != nil {
		return errors.Join(fmt.Errorf("report the address: %w", err), s.Close())
	}
	select {
	case <-ctx.Done():
	case <-s.served:
		return errors.Join(errors.New("the listener ended"), s.Close())
	}
	return s.Close()
}

// TB is the part of testing.TB that this package needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Start is New for a test: the server is closed at the test's end, after Check.
func Start(tb TB, opt Options) *Server {
	tb.Helper()
	s, err := New(opt)
	if err != nil {
		tb.Fatalf("start the fake GitHub: %v", err)
	}
	tb.Cleanup(func() {
		s.Check(tb)
		_ = s.Close() // nothing to save
	})
	return s
}
