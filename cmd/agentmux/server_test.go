package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// listener counts who connects to it, and answers nothing.
type listener struct {
	net.Listener
	mu   sync.Mutex
	seen []string // the first line of each connection, or that there was one
}

func listen(t *testing.T) *listener {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: at}
	t.Cleanup(func() { _ = at.Close() })
	go func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			l.mu.Lock()
			l.seen = append(l.seen, line)
			l.mu.Unlock()
			_ = conn.Close()
		}
	}()
	return l
}

func (l *listener) connections() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// noServer leaves it to the configuration which server is meant.
func (r *rig) noServer() {
	for _, name := range []string{"GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GITHUB_SERVER_URL"} {
		r.setEnv(name, "")
	}
}

// A repository's file does not decide where the token goes: what it names hears nothing.
func TestSecurity23ARepositoryDoesNotNameTheServer(t *testing.T) {
	t.Parallel()
	evil := listen(t)
	r := newRig(t, rigOptions{})
	r.noServer()
	r.setEnv("GH_TOKEN", r.github.Token(rigBot))
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\ngithub: {host: \""+evil.Addr().String()+"\"}\n")
	want := "config.yaml:2: github.host: only a configuration file outside the repository may set this"
	for _, args := range [][]string{
		{"issue", "1", "--repo", rigRepo, "--headless"}, {"issue", "1", "--dry-run"}, {"run", "do it", "--dry-run"}, {"run", "do it", "--headless"},
	} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			if res := r.expect(2, args...); !strings.Contains(res.err, want) {
				t.Errorf("%v: %s", args, res.err)
			}
		})
	}
	if res := r.expect(3, "doctor"); !strings.Contains(res.out+res.err, "github.host: only a configuration file outside") {
		t.Errorf("doctor: %s%s", res.out, res.err)
	}
	if seen := evil.connections(); len(seen) > 0 {
		t.Errorf("the server that the repository names was asked: %q", seen)
	}
}

// A token of a variable for GitHub's own servers goes to no other, also if the person names
// that one; and what is on another server than anybody named is not asked about at all.
func TestSecurity23ATokenIsNotForAnotherServer(t *testing.T) {
	t.Parallel()
	other := listen(t)
	r := newRig(t, rigOptions{config: "github: {host: \"" + other.Addr().String() + "\"}\n"})
	r.noServer()
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	r.setEnv("GH_TOKEN", r.github.Token(rigBot))
	r.setEnv("GITHUB_TOKEN", r.github.Token(rigOwner))
	want := "no GitHub token for https://" + other.Addr().String() + ": the one from GH_TOKEN is for another server; set AGENTMUX_GITHUB_TOKEN or GH_ENTERPRISE_TOKEN"
	if res := r.expect(2, "issue", "1", "--repo", rigRepo, "--headless"); !strings.Contains(res.err, want) {
		t.Errorf("%s", res.err)
	}
	says(t, r.probed(0)["github"], doctor.Warning, "GH_TOKEN is for another server")
	if seen := other.connections(); len(seen) > 0 {
		t.Errorf("a token for github.com was taken to another server: %q", seen)
	}
}

// What a runner has in its environment does not replace the server that the person named.
func TestTheEnvironmentNamesAnotherServer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	other := listen(t)
	r := newRig(t, rigOptions{config: "github: {host: \"" + other.Addr().String() + "\"}\n"})
	calls := len(r.github.Calls())
	want := "github.host is " + other.Addr().String() + ", but GITHUB_API_URL is " + r.github.API()
	for _, args := range [][]string{issueRun, {"issue", "1", "--dry-run"}, {"run", "do it", "--headless"}, {"clean", "--force"}} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			if res := r.expect(2, args...); !strings.Contains(res.err, want) {
				t.Errorf("%v: %s", args, res.err)
			}
		})
	}
	says(t, r.probed(3)["github"], doctor.Failed, want)
	if seen := other.connections(); len(seen) > 0 || len(r.github.Calls()) > calls {
		t.Errorf("asked %q, and the other %d times", seen, len(r.github.Calls())-calls)
	}
	r.write(filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml"),
		strings.ReplaceAll(r.userFile(), other.Addr().String(), strings.TrimPrefix(r.github.URL(), "http://")))
	r.expect(0, "issue", "1", "--dry-run")
}

func (r *rig) userFile() string {
	data, err := os.ReadFile(filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// Doctor sends no token to a server that is neither configured nor origin's.
func TestDoctorLooksAtOriginFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.git(r.clone, "remote", "set-url", "origin", "https://git.acme.example/acme/widgets.git")
	calls := len(r.github.Calls())
	says(t, r.probed(0)["repository"], doctor.Warning, "origin is not on "+r.github.URL())
	if n := len(r.github.Calls()) - calls; n > 0 {
		t.Errorf("%d requests", n)
	}
}

// A configured base that is not there is said before an agent starts, and by doctor.
func TestTheConfiguredBaseIsNotThere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "github: {base_branch: nosuch}\n"})
	for _, args := range [][]string{issueRun, {"issue", "1", "--dry-run"}, {"run", "do it", "--headless"}, {"issue", "1", "--base", "HEAD", "--headless"}} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			if res := r.expect(2, args...); !strings.Contains(res.err, "github.base_branch: nosuch is not a branch of the server; git ls-remote --heads origin") {
				t.Errorf("%v: %s", args, res.err)
			}
		})
	}
	says(t, r.probed(3)["base"], doctor.Failed, "github.base_branch: nosuch is not a branch of the server", "git ls-remote")
	if n := len(r.sessions()); n > 0 {
		t.Errorf("%d sessions", n)
	}
	r.expect(0, "issue", "1", "--base", "main", "--dry-run")
	r.write(filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml"), "version: 2\ndefaults: {workflow: nosuch}\n")
	if res := r.expect(2, "config", "check"); !strings.Contains(res.err, "config.yaml:2: defaults.workflow: unknown workflow \"nosuch\"") {
		t.Errorf("%s", res.err)
	}
	says(t, r.probed(3)["config"], doctor.Failed, "unknown workflow")
}

// A server that refuses to be read ends the start; one that is away does not, and it is said
// what is used in its place.
func TestARefusedFetchIsNotAServerThatIsAway(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	for name, fault := range map[string]fakehub.Fault{
		"refused": {Route: "GIT fetch-refs", Status: 401, Message: "x"}, "forbidden": {Route: "GIT fetch-refs", Status: 403, Message: "x"}, "hidden": {Route: "GIT fetch-refs", Status: 404, Message: "x"},
	} {
		r.row(name, func(t *testing.T) {
			r.github.Inject(fault)
			if res := r.expect(1, issueRun...); !strings.Contains(res.err, "the git server refuses: ") || strings.Contains(res.err, "not reached") {
				t.Errorf("%s: %s", name, res.err)
			}
			r.github.Heal()
		})
	}
	if n := len(r.sessions()); n > 0 {
		t.Errorf("%d sessions", n)
	}
	r.github.Inject(fakehub.Fault{Route: "GIT fetch-refs", Status: 503})
	want := "the server was not reached: starting from what this clone fetched last, commit " + r.git(r.clone, "rev-parse", "origin/main")[:10]
	if res := r.expect(0, "issue", "1", "--dry-run"); !strings.Contains(res.out+res.err, want) {
		t.Errorf("%s%s", res.out, res.err)
	}
	r.github.Heal()
}
