package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/internal/testfull"
	"golang.org/x/sys/unix"
)

const (
	// prowl makes the test binary what an agent can be: a process of the same user that reads
	// whatever it can.
	prowl = "prowl-as-an-agent"
	// plain makes it a program of a user who has no right to trace, even where that is root.
	plain = "without-rights"
)

// standIns are further programs that the test binary can be, by its first argument.
var standIns = map[string]func(args []string) int{prowl: runProwl, plain: runPlain}

// runPlain runs the test binary once more, with args. A program that is started without
// rights in the bounding set gets none.
func runPlain(args []string) int {
	runtime.LockOSThread()
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break
		}
	}
	own, err := os.Executable()
	if err == nil {
		err = syscall.Exec(own, append([]string{own}, args...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A prowlRequest says what to look for and where. It comes by standard input, so that the one
// who looks does not find itself.
type prowlRequest struct {
	Dirs   []string          // whose files are read
	Tree   int               // the processes below this one are looked through; itself is left out
	Values map[string]string // by the name that findings have
}

// prowlReport says where something was found, and what was looked through.
type prowlReport struct {
	Found         []string
	Files, Memory int
	Refused       []string // processes whose memory may not be read
}

func runProwl([]string) int {
	var req prowlRequest
	if err := json.NewDecoder(os.Stdin).Decode(&req); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var rep prowlReport
	for _, dir := range req.Dirs {
		rep.files(dir, req.Values)
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && pid != os.Getpid() && pid != req.Tree {
			rep.process(pid, req)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(rep); err != nil {
		return 1
	}
	return 0
}

func (rep *prowlReport) search(where string, data []byte, values map[string]string) {
	for name, value := range values {
		if bytes.Contains(data, []byte(value)) {
			rep.Found = append(rep.Found, name+" in "+where)
		}
	}
}

func (rep *prowlReport) files(dir string, values map[string]string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if data, err := os.ReadFile(path); err == nil {
				rep.Files++
				rep.search(path, data, values)
			}
		}
		return nil
	})
}

func (rep *prowlReport) process(pid int, req prowlRequest) {
	at := fmt.Sprintf("/proc/%d/", pid)
	command, _ := os.ReadFile(at + "cmdline")
	who := strings.ReplaceAll(string(command), "\x00", " ")
	environ, _ := os.ReadFile(at + "environ")
	if bytes.Contains(environ, []byte("AGENTMUX_MARK=")) {
		who = "an agent's own: " + who
	}
	rep.search("the arguments of "+who, command, req.Values)
	rep.search("the environment of "+who, environ, req.Values)
	ours := shield.Descends(pid, req.Tree)
	for _, dir := range req.Dirs {
		ours = ours || bytes.Contains(command, []byte(dir))
	}
	if !ours {
		return // of other tests
	}
	fds, _ := os.ReadDir(at + "fd")
	for _, fd := range fds {
		if info, err := os.Stat(at + "fd/" + fd.Name()); err == nil && info.Mode().IsRegular() {
			data, _ := os.ReadFile(at + "fd/" + fd.Name())
			rep.search("a descriptor of "+who, data, req.Values)
		}
	}
	rep.memory(at, who, req.Values)
}

func (rep *prowlReport) memory(at, who string, values map[string]string) {
	maps, err := os.ReadFile(at + "maps")
	mem, errMem := os.Open(at + "mem")
	if err != nil || errMem != nil {
		rep.Refused = append(rep.Refused, who)
		return
	}
	defer mem.Close()
	rep.Memory++
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n < 3 || mode[0] != 'r' || to-from > 256<<20 {
			continue
		}
		data := make([]byte, to-from)
		n, _ := io.ReadFull(io.NewSectionReader(mem, from, to-from), data)
		rep.search("the memory of "+who, data[:n], values)
	}
}

// prowling is held by a search: two at once would read of one another what they search for.
var prowling sync.Mutex

// prowl has a process of this user look for values in all that the rig's session has.
func (r *rig) prowl(values map[string]string) prowlReport {
	r.t.Helper()
	own, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := json.Marshal(prowlRequest{Dirs: []string{r.dir}, Tree: os.Getpid(), Values: values})
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(own, plain, prowl)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = bytes.NewReader(req), &out, &complaints, []string{"PATH=/usr/bin:/bin"}
	prowling.Lock()
	err = cmd.Run()
	prowling.Unlock()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, complaints.String())
	}
	var rep prowlReport
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		r.t.Fatal(err)
	}
	return rep
}

// TestSecurity6NoSecretOfTheHostIsWithinAnAgentsReach has an agent at work, and another
// process of the user look through every file and process of the session: while git pushes,
// with the first host, with the one that follows after a kill, and with one that a command started.
func TestSecurity6NoSecretOfTheHostIsWithinAnAgentsReach(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(config, strings.Replace(r.read(config), "script: {", "script: {env: [SCRIPT_API_KEY], ", 1))
	token, key := r.github.Token(rigBot), "key-"+strings.ToLower(strings.ReplaceAll(t.Name(), "/", ""))+strconv.Itoa(os.Getpid())
	r.setEnv("SCRIPT_API_KEY", key)
	r.setEnv("GOTRACEBACK", "crash")
	look := func(when string) {
		t.Helper()
		var rep prowlReport
		r.eventually("the search comes as far as the agent's own program", func() bool {
			rep = r.prowl(map[string]string{"the token": token, "the key": key})
			return rep.Files > 0 && rep.Memory > 0 && slices.ContainsFunc(rep.Found, ownKey)
		}, nil)
		rep.holds(t, when)
	}
	// The first push, which claims the issue, has given the token and gets no answer.
	free := make(chan struct{})
	r.github.Inject(fakehub.Fault{Route: "GIT push", Times: 1, Hold: free})
	let := sync.OnceFunc(func() { close(free) })
	t.Cleanup(let)
	b := r.background(append([]string{plain, "issue", "1"}, quickRun...)...)
	t.Cleanup(func() { t.Log(b.out.String()) })
	r.eventually("a push is held", func() bool { return r.github.Hits() == 1 }, nil)
	pushing := r.prowl(map[string]string{"the token": token, "the key": key})
	pushing.holds(t, "a push")
	if !slices.ContainsFunc(pushing.Refused, func(who string) bool { return strings.Contains(who, "/acme/widgets.git") }) {
		t.Errorf("no program that speaks with the server was refused: %q", pushing.Refused)
	}
	let()
	e := r.atWork("coder")
	look("the first host")
	if code := b.exit(syscall.SIGKILL); code != -1 {
		t.Fatalf("exit %d", code)
	}
	b = r.background(plain, "resume", e.Name, "--headless")
	r.eventually("the coder is adopted", func() bool { now := r.session(); return now.Running && now.State.Seq > e.State.Seq }, nil)
	look("the second host")
	if limit := coreLimit(t, b.cmd.Process.Pid); !strings.HasPrefix(limit, "0 ") {
		t.Errorf("core files of the host: %s", limit)
	}
	b.exit(syscall.SIGKILL)
	if err := r.detached(e.Dir); err != nil {
		t.Fatal(err)
	}
	look("a detached host")
	r.expect(0, "stop", e.Name)
	r.hostsEnded()
}

// An agent of a bot finds no token, nor the secret of its webhooks: at work under one bot, and under the next.
func TestSecurity6AnAgentOfTheBotFindsNoToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: heldPlaybook, unlabel: true, config: botConfig})
	token, secret := r.github.Token(rigBot), strings.Repeat("s3cret-", 4)
	r.setEnv("AGENTMUX_WEBHOOK_SECRET", secret)
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	look := func(when string) {
		t.Helper()
		var rep prowlReport
		r.eventually("the search comes as far as the memory of an agent", func() bool {
			rep = r.prowl(map[string]string{"the token": token, "the secret": secret})
			return rep.Files > 0 && rep.Memory > 0
		}, nil)
		rep.holds(t, when)
	}
	address := freeAddress(t)
	b := r.background(plain, "bot", "--webhook", address)
	r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) }, b.out.String)
	look("the first bot")
	if code := b.exit(syscall.SIGKILL); code != -1 {
		t.Fatalf("exit %d", code)
	}
	b = r.background(plain, "bot", "--webhook", address)
	r.eventually("the coder is adopted", func() bool { return r.served(rigRepo)[0].Running }, b.out.String)
	look("the next bot")
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// A git that has its helpers beside itself takes no other.
func TestDoctorNamesTheMemoryOfGitWhereItIsOpen(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	if out := r.expect(0, plain, "doctor").out; strings.Contains(out, "the memory of git") || !strings.Contains(out, "the sockets of tmux") {
		t.Errorf("where it is closed:\n%s", out)
	}
	r.setEnv("PATH", r.git(r.dir, "--exec-path")+":"+os.Getenv("PATH"))
	if out := r.expect(0, plain, "doctor").out; !strings.Contains(out, "the memory of git") {
		t.Errorf("where it is open:\n%s", out)
	}
}

// holds reports what was found, and a search that was refused nothing.
func (rep prowlReport) holds(t *testing.T, when string) {
	t.Helper()
	if len(rep.Refused) == 0 {
		t.Errorf("%s: the memory of every process was readable", when)
	}
	for _, found := range rep.Found {
		if !ownKey(found) {
			t.Errorf("%s: %s", when, found)
		}
	}
}

// ownKey tells what a provider's program was given: without a sandbox any process of the user
// reads it there.
func ownKey(found string) bool {
	return strings.HasPrefix(found, "the key in ") && strings.Contains(found, "an agent's own: ")
}

// detached starts a host as a launcher does.
func (r *rig) detached(dir string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	done, err := os.CreateTemp(r.dir, "log")
	if err != nil {
		return err
	}
	defer done.Close()
	seq := r.session().State.Seq
	cmd := exec.Command(own, plain, "session", "run", dir, "--resume")
	release, err := shield.Seal(cmd, r.env)
	if err != nil {
		return err
	}
	defer release()
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", done, done
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	r.t.Cleanup(func() { _ = cmd.Process.Kill() })
	r.eventually("the detached host is there", func() bool { now := r.session(); return now.Running && now.State.Seq > seq }, func() string { return r.read(done.Name()) })
	return nil
}

// coreLimit is how large a core file of a process may get.
func coreLimit(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "Max core file size")
	return strings.TrimSpace(rest)
}

// TestSecurity6TheTokenOfAFileIsInThatFileAlone has the token in a file that only its owner
// reads, as service managers hand it over: neither it nor its path is in what other processes see.
func TestSecurity6TheTokenOfAFileIsInThatFileAlone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	token, file := r.github.Token(rigBot), filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	r.setEnv("AGENTMUX_GITHUB_TOKEN_FILE", file)
	b := r.background(append([]string{plain, "issue", "1"}, quickRun...)...)
	t.Cleanup(func() { t.Log(b.out.String()) })
	e := r.atWork("coder")
	rep := r.prowl(map[string]string{"the token": token, "its path": file})
	if len(rep.Refused) == 0 || rep.Memory == 0 || len(rep.Found) > 0 {
		t.Errorf("%d processes closed, %d open: %q", len(rep.Refused), rep.Memory, rep.Found)
	}
	r.expect(0, "stop", e.Name)
	r.hostsEnded()
}
