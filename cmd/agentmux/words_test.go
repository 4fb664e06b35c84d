package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// situation is an odd one that a person gets into, with what the person is told.
type situation struct {
	name string
	into func(*rig)
	args []string
	code int
	says []string // all in one line of standard error, or in the last of several
}

// unfit matches what a person should not be told: the insides of the program, or errors with what
// each layer put in front.
var unfit = regexp.MustCompile(`goroutine |panic|runtime error|%!|0x[0-9a-f]{6}|exit status|fork/exec|\.go:\d|context (canceled|deadline)|` +
	`\*[a-z]+\.[A-Z]|(?m)^agentmux: ([a-z][^:;\n]*: ){4}|mkdirat|openat|<nil>`)

// TestWhatAPersonIsTold holds the words for each situation: one sentence that says what is
// wrong and where, and the next step.
func TestWhatAPersonIsTold(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	plain := newRig(t, rigOptions{playbook: quickPlaybook})
	for _, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := plain
			if s.into != nil {
				r = newRig(t, rigOptions{playbook: quickPlaybook})
				s.into(r)
			}
			s.check(t, r)
			if log := r.github.Log(); len(log) != 0 {
				t.Errorf("written: %+v", log)
			}
		})
	}
}

// check types the command and reads what comes back.
func (s situation) check(t *testing.T, r *rig) {
	t.Helper()
	res := r.agentmux(s.args...)
	t.Logf("agentmux %s: exit %d\n%s%s", strings.Join(s.args, " "), res.code, res.out, res.err)
	if res.code != s.code {
		t.Errorf("exit %d, want %d", res.code, s.code)
	}
	for _, want := range s.says {
		if !strings.Contains(res.err, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if found := unfit.FindString(res.err); found != "" {
		t.Errorf("it says %q", found)
	}
	if strings.Contains(res.err, r.github.Token(rigBot)) {
		t.Error("it shows the token")
	}
}

// TestWhatAPersonIsToldOfSessions has one session that is done, and another that a host
// runs.
func TestWhatAPersonIsToldOfSessions(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.expect(0, append(issueRun, "--name", "one", "--no-mirror")...)
	for _, s := range []situation{
		{"resume what is done", nil, []string{"resume", "one"}, 2, []string{"one is done", "--changes"}},
		{"stop what is done", nil, []string{"stop", "one"}, 2, []string{"one is done, there is nothing to", "agentmux changes"}},
		{"pause what is done", nil, []string{"pause", "one"}, 2, []string{"one is done, there is nothing to", "agentmux changes"}},
		{"approve what is done", nil, []string{"approve", "one"}, 2, []string{"one is done", "agentmux changes"}},
		{"answer what is done", nil, []string{"answer", "q1", "yes", "--session", "one"}, 2, []string{"one is done", "agentmux changes"}},
		{"say to what is done", nil, []string{"say", "more", "--session", "one"}, 2, []string{"one is done, there is nothing to say", "agentmux changes"}},
		{"attach to what is done", nil, []string{"attach", "one"}, 2, []string{"attach needs a terminal", "agentmux status one"}},
		{"monitor without a terminal", nil, []string{"monitor", "one"}, 2, []string{"the monitor needs a terminal", "agentmux status one"}},
		{"the same name", nil, append(issueRun, "--name", "one"), 2, []string{"session one exists", "agentmux resume one"}},
	} {
		t.Run(s.name, func(t *testing.T) { s.check(t, r) })
	}
	commands := filepath.Join(r.held("two"), session.Commands)
	recorded, _ := os.ReadFile(commands)
	for _, s := range []situation{
		{"two of one issue", nil, []string{"status", "#1"}, 2, []string{`"#1" fits several sessions`, "one", "two"}},
		{"resume what is ending", nil, []string{"resume", "two"}, 4, []string{"two is ending", "agentmux status two", "agentmux logs two --follow"}},
		{"work on the issue of what is ending", nil, issueRun, 4, []string{"two is ending", "agentmux status two"}},
		{"say to what is ending", nil, []string{"say", "more", "--session", "two"}, 2, []string{"two is done, there is nothing to say", "agentmux changes"}},
		{"pause what is ending", nil, []string{"pause", "two"}, 2, []string{"two is done, there is nothing to pause"}},
		{"changes to what is ending", nil, []string{"changes", "more", "two"}, 4, []string{"two is ending", "agentmux logs two --follow"}},
	} {
		t.Run(s.name, func(t *testing.T) { s.check(t, r) })
	}
	if now, _ := os.ReadFile(commands); !bytes.Equal(now, recorded) {
		t.Errorf("what was refused is recorded: %s", now)
	}
	r.brief("attach", "two").shows("two is ending and its agents are gone; agentmux status two")
	state := filepath.Join(r.held("three"), session.StateFile)
	working := strings.Replace(r.read(state), `"outcome": "done"`, `"outcome": ""`, 1)
	r.write(state, strings.Replace(working, `"phase": "done"`, `"phase": "reviewing"`, 1))
	for _, s := range []situation{
		{"running elsewhere", nil, []string{"resume", "three"}, 4, []string{"three is run by process", "agentmux attach three"}},
	} {
		t.Run(s.name, func(t *testing.T) { s.check(t, r) })
	}
	r.brief("attach", "three").shows("three has no tmux session at the moment; agentmux logs three --follow")
}

// held makes a copy of the session named one whose lock somebody holds.
func (r *rig) held(name string) (dir string) {
	r.t.Helper()
	dir = filepath.Join(session.Dir(r.clone), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(session.Dir(r.clone), "one"))); err != nil {
		r.t.Fatal(err)
	}
	state := filepath.Join(dir, session.StateFile)
	text, _, _ := strings.Cut(r.read(state), ",\n  \"checksum\"") // as who edits it takes it out
	r.write(state, strings.ReplaceAll(text+"\n}\n", `"one"`, strconv.Quote(name)))
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := sess.Lock(0); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = sess.Close() })
	r.note(dir)
	return dir
}

// note gives a copied session an identity of its own, which the state home knows.
func (r *rig) note(dir string) {
	r.t.Helper()
	file := filepath.Join(dir, session.StateFile)
	text := r.read(file)
	had := identityKey.FindStringSubmatch(text)
	secret := notedKey.FindStringSubmatch(text)
	if had == nil || secret == nil {
		r.t.Fatalf("no identity in %s", text)
	}
	id := fmt.Sprintf("%08x%08x", rand.Uint32(), rand.Uint32())
	r.write(file, strings.Replace(text, had[0], strings.Replace(had[0], had[1], id, 1), 1))
	made := register.Open(filepath.Join(r.dir, "home", ".local", "state", "agentmux"))
	if err := made.Write(register.Note{ID: id, Secret: secret[1], Path: dir}); err != nil {
		r.t.Fatal(err)
	}
}

var (
	identityKey = regexp.MustCompile(`"identity": "([0-9a-f]+)"`)
	notedKey    = regexp.MustCompile(`"noted": "([^"]+)"`)
)

func env(pairs ...string) func(*rig) {
	return func(r *rig) {
		for i := 0; i < len(pairs); i += 2 {
			r.setEnv(pairs[i], pairs[i+1])
		}
	}
}

func userConfig(text string) func(*rig) {
	return func(r *rig) {
		file := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
		r.write(file, r.read(file)+text)
	}
}

func answers(route string, status int, message string, header map[string]string) func(*rig) {
	return func(r *rig) {
		r.github.Inject(fakehub.Fault{Route: route, Status: status, Message: message, Header: header})
	}
}

var issueRun = append([]string{"issue", "1"}, quickRun...)

func situations() []situation {
	fake := func(name, text string) func(*rig) {
		return func(r *rig) {
			bin := filepath.Join(r.dir, "fake")
			r.write(filepath.Join(bin, name), "#!/bin/sh\n"+text)
			_ = os.Chmod(filepath.Join(bin, name), 0o700)
			r.setEnv("PATH", bin+":"+os.Getenv("PATH"))
		}
	}
	return []situation{
		{"no git repository", func(r *rig) { r.clone = filepath.Join(r.dir, "home") }, issueRun, 2, []string{"is not a git clone", "git init"}},
		{"bare repository", func(r *rig) {
			bare := filepath.Join(r.dir, "bare.git")
			r.git(r.dir, "clone", "--quiet", "--bare", r.clone, bare)
			r.clone = bare
		}, issueRun, 2, []string{"bare.git is a bare repository; agentmux works in a clone of it: git clone /"}},
		{"origin elsewhere", func(r *rig) {
			r.git(r.clone, "remote", "set-url", "origin", "git@github.example.com:acme/widgets.git")
		}, issueRun, 2, []string{"origin is on github.example.com, not on http://127.0.0.1", "set github.host if", "agentmux run"}},
		{"issue of what the clone is a fork of", func(r *rig) {
			if err := r.github.AddRepo(fakehub.RepoSpec{Owner: rigBot, Name: "widgets", ForkOf: rigRepo}); err != nil {
				r.t.Fatal(err)
			}
			r.git(r.clone, "remote", "set-url", "origin", r.github.CloneURL("robo/widgets"))
		}, []string{"issue", "77", "--headless"}, 2, []string{"robo/widgets#77 is not there; robo/widgets is a fork: agentmux issue 77 --repo acme/widgets takes"}},
		{"no remote", func(r *rig) { r.git(r.clone, "remote", "remove", "origin") }, issueRun, 2, []string{"no remote named origin: git remote add origin URL", "agentmux run"}},
		{"no commit", func(r *rig) {
			r.clone = filepath.Join(r.dir, "new")
			r.git(r.dir, "init", "-q", r.clone)
			r.git(r.clone, "remote", "add", "origin", r.github.CloneURL(rigRepo))
		}, []string{"run", "do it", "--headless"}, 2, []string{"this clone has no commit yet; git pull origin main brings those of the server"}},
		{"no commit and no server", func(r *rig) {
			r.clone = filepath.Join(r.dir, "new")
			r.git(r.dir, "init", "-q", r.clone)
		}, []string{"run", "do it", "--headless"}, 2, []string{"this clone has no commit yet; git commit makes a first one"}},
		{"no commit on the server", func(r *rig) { r.github.Repo(rigRepo).DeleteBranch("main") }, issueRun, 2,
			[]string{"the repository has no commit yet on the server; push a first one: git push origin main"}},
		{"no commit anywhere", func(r *rig) {
			r.github.Repo(rigRepo).DeleteBranch("main")
			r.clone = filepath.Join(r.dir, "new")
			r.git(r.dir, "clone", "-q", r.github.CloneURL(rigRepo), r.clone)
		}, issueRun, 2, []string{"the repository has no commit yet; make a first one and push it: git commit, then git push origin m"}},
		{"no token", env("AGENTMUX_GITHUB_TOKEN", ""), issueRun, 2, []string{"no GitHub token", "gh auth login"}},
		{"short token", env("AGENTMUX_GITHUB_TOKEN", "abc"), issueRun, 2, []string{"token from AGENTMUX_GITHUB_TOKEN", "too short"}},
		{"wrong token", env("AGENTMUX_GITHUB_TOKEN", "ghp_"+strings.Repeat("1", 36)), issueRun, 2,
			[]string{"refused the token from AGENTMUX_GITHUB_TOKEN:", "set AGENTMUX_GITHUB_TOKEN to another, or unset it and run gh auth login"}},
		{"repository is not there", func(r *rig) {
			r.git(r.clone, "remote", "set-url", "origin", r.github.CloneURL("acme/nothing"))
		}, issueRun, 2, []string{"acme/nothing#1 is not there", "check the name"}},
		{"issue is not there", nil, []string{"issue", "77", "--headless"}, 2, []string{"acme/widgets#77 is not there", "check the"}},
		{"forbidden", answers("", 403, "Resource not accessible by personal access token", nil), issueRun, 1, []string{"forbids", "agentmux doctor"}},
		{"limit used up", answers("", 403, "API rate limit exceeded for user ID 1.", map[string]string{
			"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "4000000000",
		}), issueRun, 1, []string{"limit is used up", "try again after"}},
		{"server broken", answers("", 502, "Bad gateway", nil), issueRun, 1, []string{"does not answer", "agentmux doctor"}},
		{"network down", env("GITHUB_API_URL", "http://127.0.0.1:9/", "GITHUB_GRAPHQL_URL", "http://127.0.0.1:9/graphql"), issueRun, 1, []string{"waiting for GitHub about acme/widgets#1 ...", "connection refused", "agentmux doctor"}},
		{"plain http", env("GITHUB_API_URL", "http://github.example.com/"), issueRun, 2, []string{"https"}},
		{"closed issue", func(r *rig) { r.github.Repo(rigRepo).CloseIssue(1, rigOwner) }, issueRun, 2, []string{"acme/widgets#1 is closed", "reopen"}},
		{"bad configuration", func(r *rig) { r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nlimit: {}\n") }, issueRun, 2, []string{"config.yaml:2: limit", "agentmux config check"}},
		{"host's key in the repository", func(r *rig) {
			r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nsandbox: {level: none}\n")
		}, issueRun, 2, []string{"config.yaml:2: sandbox"}},
		{"no configuration file", nil, append([]string{"--config", "nothing.yaml"}, issueRun...), 2, []string{"nothing.yaml cannot be read: no such file"}},
		{"CLI missing", userConfig("roles: {planner: {provider: copilot}}\n"), issueRun, 2, []string{"copilot", "agentmux providers list"}},
		{"CLI not logged in", func(r *rig) {
			userConfig("roles: {planner: {provider: claude}}\n")(r)
			fake("claude", "exit 0\n")(r)
		}, issueRun, 2, []string{"claude", "no login", "agentmux providers login claude"}},
		{"CLI skips questions", func(r *rig) {
			userConfig("roles: {planner: {provider: codex}}\n")(r)
			fake("codex", "exit 0\n")(r)
			r.setEnv("OPENAI_API_KEY", "sk-"+strings.Repeat("x", 30))
		}, issueRun, 2, []string{"codex would act without asking", "unsafe_flags: true"}},
		{"tmux missing", func(r *rig) { r.setEnv("PATH", r.pathWithout("tmux")) }, issueRun, 2, []string{"tmux is not installed", "install tmux"}},
		{"tmux too old", fake("tmux", "echo tmux 3.2\n"), issueRun, 2, []string{"3.2 is too old", "install tmux"}},
		{"tmux without a version", fake("tmux", "echo tmux master\n"), issueRun, 2, []string{`tmux -V says "tmux master", which`, "install tmux"}},
		{"tmux does not work", fake("tmux", "exit 7\n"), issueRun, 2, []string{"tmux -V ends with an error", "install tmux"}},
		{"git missing at first use", func(r *rig) { r.setEnv("PATH", r.pathWithout("git")) }, []string{"init"}, 2, []string{"git is not installed: it is not in PATH; install git 2.38"}},
		{"git missing", func(r *rig) { r.setEnv("PATH", r.pathWithout("git")) }, issueRun, 2, []string{"git is not installed", "install git"}},
		{"git too old", fake("git", "echo git version 2.30.2\n"), issueRun, 2, []string{"2.30.2 is too old", "install git 2.38"}},
		{"home cannot be written", func(r *rig) {
			r.write(filepath.Join(r.dir, "file"), "")
			r.setEnv("XDG_STATE_HOME", filepath.Join(r.dir, "file"))
		}, issueRun, 2, []string{"XDG_STATE_HOME"}},
		{"runtime directory cannot be written", func(r *rig) {
			r.write(filepath.Join(r.dir, "file"), "")
			r.setEnv("XDG_RUNTIME_DIR", filepath.Join(r.dir, "file"))
		}, issueRun, 2, []string{"XDG_RUNTIME_DIR"}},
		{"long runtime directory", func(r *rig) {
			long := filepath.Join(r.dir, strings.Repeat("long", 30))
			r.write(filepath.Join(long, "x"), "")
			r.setEnv("XDG_RUNTIME_DIR", long)
		}, issueRun, 2, []string{"XDG_RUNTIME_DIR"}},
		{"configuration cannot be read", func(r *rig) { r.write(filepath.Join(r.clone, ".agentmux"), "") }, issueRun, 2, []string{".agentmux/config.yaml: cannot be read: not a directory"}},
		{"project cannot be written", func(r *rig) { r.write(filepath.Join(r.clone, ".agentmux", ".sessions"), "") }, issueRun, 1, []string{".agentmux/.sessions, where sessions are kept, cannot be read: not a directory"}},
		{"no HOME", env("HOME", ""), issueRun, 2, []string{"HOME"}},
		{"unknown workflow", nil, append([]string{"issue", "1", "--headless", "--workflow"}, "nope"), 2, []string{"nope", "feature", "quick"}},
		{"unknown base", nil, append(issueRun, "--base", "nope"), 2, []string{"--base nope"}},
		{"bad name", nil, append(issueRun, "--name", "a/b"), 2, []string{"a/b"}},
		{"bad --repo", nil, append(issueRun, "--repo", "x"), 2, []string{"owner/name"}},
		{"product manager", nil, append(issueRun, "--product-manager"), 2, []string{"quick", "product manager; leave --product-manager out"}},
		{"no URL", nil, []string{"issue", "http://%zz"}, 2, []string{`"http://%zz" is not a URL: invalid URL escape "%zz"`}},
		{"a broken workflow", func(r *rig) {
			r.write(filepath.Join(r.clone, ".agentmux", "workflows", "mine.yaml"), "version: 1\n")
		}, []string{"workflows", "check"}, 2, []string{"mine.yaml:1: name: required key missing", "1 of 3 workflows has problems; the project's are in "}},
		{"blank prompt", nil, []string{"run", " ", "--headless"}, 2, []string{"blank", "say what"}},
		{"no such file", nil, []string{"run", "no.md", "--headless"}, 2, []string{"no.md cannot be read: no such file", "give its path"}},
		{"request that ends as a file does", nil, []string{"run", "Fix the typo in README.md", "--headless"}, 2,
			[]string{"what ends in .md is taken for a file", "put a full stop behind a request in words"}},
		{"request of other bytes than text", nil, []string{"run", "caf\xe9", "--headless"}, 2, []string{"the request is not UTF-8 text"}},
		{"file of other bytes than text", func(r *rig) {
			r.write(filepath.Join(r.clone, "wide.md"), "a\x00b\x00")
		}, []string{"run", "wide.md", "--headless"}, 2, []string{"wide.md is not UTF-8 text; save it as UTF-8"}},
		{"shallow clone", func(r *rig) {
			r.git(r.clone, "commit", "--quiet", "--allow-empty", "-m", "Another")
			deep := r.clone + "-deep"
			if err := os.Rename(r.clone, deep); err != nil {
				r.t.Fatal(err)
			}
			r.git(r.dir, "clone", "--quiet", "--depth=1", "file://"+deep, r.clone)
		}, []string{"run", "Say two", "--headless"}, 2, []string{"this clone is shallow", "git fetch --unshallow"}},
		{"negative age", nil, []string{"clean", "--older-than", "-168h"}, 2, []string{`--older-than: expected an age such as 3d or 36h, found "-168h"; see agentmux clean --help`}},
		{"age without a unit", nil, []string{"clean", "--older-than", "7"}, 2, []string{`--older-than: expected an age such as 3d or 36h, found "7"`}},
		{"age of words", nil, []string{"clean", "--older-than", "xd"}, 2, []string{`--older-than: expected an age such as 3d or 36h, found "xd"`}},
		{"a directory as a request", nil, []string{"run", ".", "--headless"}, 2, []string{". is a directory, not a request", "--project . works in"}},
		{"a file that is not an .md file", nil, []string{"run", "a.txt", "--headless"}, 2, []string{"a.txt is a file, and a request is read from an .md file alone"}},
		{"a negative issue", nil, []string{"issue", "-5"}, 2, []string{`"-5" is not the number of an issue`}},
		{"a configuration that no command reads", nil, []string{"--config", "/nope", "sessions"}, 2, []string{"--config: /nope cannot be read: no such file"}},
		{"fewer than no lines", nil, []string{"logs", "-n", "-3"}, 2, []string{"--lines: expected a number of lines, found -3"}},
		{"text that looks like a flag", nil, []string{"changes", "- keep the old flag"}, 2,
			[]string{"a text that begins with - goes last, behind --: agentmux changes -- '- like this'"}},
		{"request that looks like a flag", nil, []string{"run", "--- title"}, 2, []string{"behind --: agentmux run -- '- like this'"}},
		{"help mistyped", nil, []string{"hlep"}, 2, []string{"did you mean help?"}},
		{"unknown word", nil, []string{"isue", "1"}, 2, []string{"issue"}},
		{"a phrase", nil, []string{"fix the bug"}, 2, []string{`agentmux run "fix the bug"`}},
		{"unknown flag", nil, []string{"issue", "1", "--headles"}, 2, []string{"unknown flag: --headles: did you mean --headless?; see agentmux issue --help"}},
		{"unknown flag of every command", nil, []string{"sessions", "--projct", "x"}, 2, []string{"did you mean --project?"}},
		{"too many arguments", nil, []string{"sessions", "x"}, 2, []string{"agentmux sessions takes no argument, not x"}},
		{"no argument", nil, []string{"issue"}, 2, []string{"agentmux issue takes N|#N|URL, not nothing", "--help"}},
		{"no session", nil, []string{"status"}, 2, []string{"no sessions here; agentmux issue N or agentmux run"}},
		{"unknown session", nil, []string{"status", "77"}, 2, []string{"77", "agentmux sessions"}},
		{"two demonstrations", nil, []string{"demo", "--agents", "--mesh"}, 2, []string{"agentmux: --agents and --mesh exclude each other\n"}},
		{"no run of an agents file", nil, []string{"agents", "status"}, 2, []string{"no run of an agents file here; agentmux agents start begins one"}},
		{"role without a session", nil, []string{"attach", "coder"}, 2, []string{`no session "coder"`, "agentmux attach --role coder"}},
		{"nothing to attach", nil, []string{"attach"}, 2, []string{"agentmux"}},
		{"nothing to resume", nil, []string{"resume"}, 2, []string{"agentmux"}},
		{"nothing to stop", nil, []string{"stop"}, 2, []string{"agentmux"}},
		{"nothing to approve", nil, []string{"approve"}, 2, []string{"agentmux"}},
		{"nothing to answer", nil, []string{"answer", "yes"}, 2, []string{"agentmux"}},
		{"bad log level", nil, []string{"--log-level", "loud", "sessions"}, 2, []string{"loud", "debug"}},
		{"unknown provider", nil, []string{"providers", "show", "clade"}, 2, []string{"clade", "claude"}},
		{"login of what has none", nil, []string{"providers", "login", "qwen"}, 2, []string{"qwen has no login of our own", "set OPENAI_API_KEY or DASHSCOPE_API_KEY"}},
		{"unknown workflow to show", nil, []string{"workflows", "show", "nope"}, 2, []string{`unknown workflow "nope", known: feature, quick` + "\n"}},
		{"help of an unknown word", nil, []string{"help", "isue"}, 2, []string{"did you mean issue?"}},
		{"help of a word behind a command", nil, []string{"help", "config", "bogus"}, 2, []string{`unknown command "bogus"`}},
		{"completion for an unknown shell", nil, []string{"completion", "nosuch"}, 2, []string{`unknown command "nosuch"`}},
		{"completion for no shell", nil, []string{"completion"}, 2, []string{"agentmux completion bash"}},
		{"login without terminal", nil, []string{"providers", "login", "claude"}, 2, []string{"terminal"}},
		{"monitor without terminal", nil, []string{"monitor"}, 2, []string{"agentmux"}},
		{"no subcommand", nil, []string{"config"}, 2, []string{"agentmux config check", "agentmux config show"}},
	}
}
