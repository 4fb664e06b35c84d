package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// Repository is a repository on the configured server.
type Repository struct {
	URL  string // <server>/<owner>/<repo>.git, without user and password
	User string // empty: x-access-token
	// Secret is asked for the password when the server wants one, at most once per
	// call. Nil: the repository is read without.
	Secret func(context.Context) (string, error)
	Config UserConfig // its network part is passed on
	// Askpass is the program git asks for the password, which must call
	// AnswerAskpass first thing. Empty: the running one.
	Askpass string
	// Locate returns the URL for a call: another repository may have the name in URL by now. ask: the server
	// has to say it, since the call pushes or fetches; else it is as was seen last. Nil: URL.
	Locate func(ctx context.Context, ask bool) (string, error)

	pauses []time.Duration // for tests; nil: readPauses
}

// readPauses are the waits before a read that the server broke off is tried again.
var readPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// address checks the URL and returns it with the user, and the one transport.
func (r Repository) address() (full *url.URL, transport string, err error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, "", errors.New("bad repository URL")
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	default:
		return nil, "", fmt.Errorf("transport %q is not allowed to %s", u.Scheme, u.Host)
	}
	user := r.User
	if user == "" {
		user = "x-access-token"
	}
	u.User = url.User(user)
	return u, u.Scheme, nil
}

func loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || (ip != nil && ip.IsLoopback())
}

// located returns the repository with the URL that it has now.
func (r Repository) located(ctx context.Context, ask bool) (Repository, error) {
	if r.Locate == nil {
		return r, nil
	}
	var err error
	r.URL, err = r.Locate(ctx, ask)
	return r, err
}

// GoneError is the error of [Repository].Locate for a repository that is not there any more. A call then fails
// with it as with a refusal of the server.
type GoneError struct{ Err error }

func (e *GoneError) Error() string { return e.Err.Error() }

func (e *GoneError) Unwrap() error { return e.Err }

// Confirm asks whether what was listed last is of this repository. The error is a *ReadError that passes if
// another one has the name by now; the next call goes where this one is.
func (r Repository) Confirm(ctx context.Context) error {
	listed, err := r.located(ctx, false)
	if err != nil {
		return err
	}
	if r, err = r.located(ctx, true); err == nil && r.URL != listed.URL {
		err = &ReadError{Kind: PushNetwork, Text: "the repository is at " + r.URL + " now"}
	}
	return err
}

// call runs a call of the store that talks to r. The arguments are made
// from the address, which holds the user but no secret. See Locate for ask.
func (r Repository) call(ctx context.Context, store *gitrepo.Store, ask bool, args func(url string) []string) ([]byte, error) {
	r, err := r.located(ctx, ask)
	if err != nil {
		return nil, err
	}
	u, transport, err := r.address()
	if err != nil {
		return nil, err
	}
	c := git.In(store, args(u.String())...)
	c.Transport = transport
	c.Limit = git.NetworkLimit
	c.Config = append(r.Config.network(u.Scheme+"://"+u.Host+"/"), git.Durable...)
	if r.Secret == nil {
		c.Env = []string{"GIT_ASKPASS=false"}
		return c.Run(ctx)
	}
	c.Helper = closed.helper(ctx, transport)
	desk, err := openAskpass(ctx, r, u, c.Helper != nil)
	if err != nil {
		return nil, err
	}
	c.Env = desk.environment()
	out, err := c.Run(ctx)
	if secretErr := desk.close(); secretErr != nil {
		return out, errors.Join(secretErr, err)
	}
	return out, err
}

// ReadError is a call that only reads from the server and was not answered. Text is
// git's and the server's, in one line.
type ReadError struct {
	Kind PushKind // PushNetwork passes
	Text string
	err  error
}

func (e *ReadError) Error() string { return e.Text }

func (e *ReadError) Unwrap() error { return e.err }

// unreached are the failures of a machine without a network, which a few seconds do not cure.
var unreached = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)could not resolve|couldn't connect|failed to connect|connection refused`)
})

// read is remote for a call that changes nothing on the server: it is made again where
// another try may be answered.
func (r Repository) read(ctx context.Context, store *gitrepo.Store, ask bool, args func(url string) []string) ([]byte, error) {
	pauses := readPauses
	if r.pauses != nil {
		pauses = r.pauses
	}
	for try := 0; ; try++ {
		out, err := r.call(ctx, store, ask, args)
		if errors.As(err, new(*GoneError)) {
			return nil, &ReadError{Kind: PushOther, Text: err.Error(), err: err}
		}
		var failed *git.Error
		if !errors.As(err, &failed) {
			return out, err
		}
		e := &ReadError{Kind: classify(failed.Stderr).Kind, Text: said(failed), err: err}
		if e.Kind != PushNetwork || unreached().MatchString(failed.Stderr) || try == len(pauses) || !pause(ctx, pauses[try]) {
			return nil, e
		}
	}
}

// said is what git and the server told, without what each line begins with.
func said(e *git.Error) string {
	var parts []string
	for line := range strings.Lines(plainText(e.Stderr)) {
		line = strings.TrimSpace(line)
		for _, word := range []string{"fatal: ", "error: "} {
			line = strings.TrimPrefix(line, word)
		}
		parts = append(parts, line)
	}
	if len(parts) == 0 {
		return e.Error()
	}
	return strings.Join(parts, "; ")
}

// pause returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Ref is a ref as the server lists it.
type Ref struct {
	Name, ID string
	Target   string // of a symbolic ref such as HEAD
}

// Refs lists the server's refs that match the patterns (all without any), in
// the server's order. "HEAD" names the default branch in its Target. The error is a
// *ReadError if the server did not give them.
func (r Repository) Refs(ctx context.Context, store *gitrepo.Store, patterns ...string) ([]Ref, error) {
	out, err := r.read(ctx, store, false, func(url string) []string {
		return append([]string{"ls-remote", "--quiet", "--symref", "--", url}, patterns...)
	})
	if err != nil {
		return nil, fmt.Errorf("list remote refs: %w", err)
	}
	var refs []Ref
	targets := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if target, ok := strings.CutPrefix(id, "ref: "); ok {
			targets[name] = target
			continue
		}
		refs = append(refs, Ref{Name: name, ID: id, Target: targets[name]})
	}
	return refs, nil
}

// Fetch fetches by refspecs such as "+refs/heads/main:refs/remotes/origin/main"
// or "<id>:refs/agentmux/base/<id>", with the tags that point into what is fetched.
// The server's whole history comes along: the store is never shallow. Errors as
// Refs.
func (r Repository) Fetch(ctx context.Context, store *gitrepo.Store, refspecs ...string) error {
	for _, spec := range refspecs {
		if err := checkRefspec(spec); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
	}
	_, err := r.read(ctx, store, true, func(url string) []string {
		return append([]string{"fetch", "-q", "--no-recurse-submodules", "--no-write-fetch-head", "--", url}, refspecs...)
	})
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	return nil
}

func checkRefspec(spec string) error {
	from, to, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	if !ok {
		return fmt.Errorf("bad refspec %q", spec)
	}
	if !git.IsID(from) {
		if err := git.CheckRef(from); err != nil {
			return err
		}
	}
	return git.CheckRef(to)
}
