package fakehub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Server is the fake. It is safe for use by several goroutines.
type Server struct {
	*hub
	journal
	faultList
	audit
	ownRoot bool
	http    *http.Server
	served  chan struct{}
	table   []route
	traffic traffic

	inflight sync.WaitGroup // requests; added to under mu, and not once closed
	closed   bool
	limits   map[string]*limit
}

// New starts a server; Close ends it.
func New(opt Options) (*Server, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Addr == "" {
		opt.Addr = "127.0.0.1:0"
	}
	h := newHub(opt)
	s := &Server{
		hub: h, journal: journal{hub: h}, faultList: faultList{hub: h}, audit: audit{hub: h, claims: newClaims()},
		table: routes(), served: make(chan struct{}), limits: map[string]*limit{},
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
