package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
	"golang.org/x/sys/unix"
)

// opens counts how often files are opened, by whatever process.
type opens struct {
	t     *testing.T
	queue int
	names map[int32]string
}

func watchOpens(t *testing.T, files ...string) *opens {
	t.Helper()
	queue, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(queue) })
	o := &opens{t, queue, map[int32]string{}}
	for _, file := range files {
		watch, err := unix.InotifyAddWatch(queue, file, unix.IN_OPEN)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		o.names[int32(watch)] = filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
	}
	return o
}

// count returns how often each file was opened since the last call.
func (o *opens) count() map[string]int {
	o.t.Helper()
	found := map[string]int{}
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(o.queue, buffer)
		if err == unix.EAGAIN {
			return found
		}
		if err != nil {
			o.t.Fatal(err)
		}
		for at := 0; at < n; {
			event := (*unix.InotifyEvent)(unsafe.Pointer(&buffer[at]))
			found[o.names[event.Wd]]++
			at += unix.SizeofInotifyEvent + int(event.Len)
		}
	}
}

// onceRig has a configuration of every layer, one of which is warned of, and a token of gh.
func onceRig(t *testing.T, playbook string) (r *rig, watched *opens, flag []string) {
	r = newRig(t, rigOptions{playbook: playbook})
	project, own := filepath.Join(r.clone, ".agentmux", "config.yaml"), filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(project, "version: 2\nlimits: {stall: 40h}\n")
	job := filepath.Join(r.dir, "job.yaml")
	r.write(job, "version: 2\nlimits: {agent_retries: 1}\n")
	hosts := filepath.Join(r.dir, "home", ".config", "gh", "hosts.yml")
	r.write(hosts, fmt.Sprintf("%q:\n  oauth_token: %s\n  user: %s\n", strings.TrimPrefix(r.github.URL(), "http://"), r.github.Token(rigBot), rigBot))
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	return r, watchOpens(t, own, project, job, hosts), []string{"--config", job}
}

// ownConfig is the configuration of the person.
const ownConfig = "agentmux/config.yaml"

// once fails unless what ran since the last call read each file once. The monitor in the tmux of a session is a command of
// its own, and reads what the person's configuration says of the sandbox.
func (o *opens) once(what string) {
	o.t.Helper()
	found := o.count()
	for _, name := range o.names {
		if found[name] != 1 && (name != ownConfig || found[name] != 2) {
			o.t.Errorf("%s: %s was read %d times", what, name, found[name])
		}
	}
}

// warnedOnce fails unless the warning of the configuration was printed once, and not again in
// the log of a host.
func (r *rig) warnedOnce(what, printed string) {
	r.t.Helper()
	const warning = "limits.stall"
	if n := strings.Count(printed, warning); n != 1 {
		r.t.Errorf("%s: the warning was printed %d times:\n%s", what, n, printed)
	}
	for _, e := range r.sessions() {
		if log := r.read(e.Dir, session.HostLog); strings.Contains(log, warning) {
			r.t.Errorf("%s: the log repeats the warning:\n%s", what, log)
		}
	}
}

// readings counts the requests for the record of an issue, and for what who asked may do, until
// the session writes: its pull request is looked for with such a request, too.
func readings(calls []fakehub.Request) (records, askers int) {
	for _, call := range calls {
		switch call.Route {
		case "POST /repos/{owner}/{repo}/issues/{number}/comments":
			return records, askers
		case "POST /graphql":
			records++
		case "GET /repos/{owner}/{repo}/collaborators/{login}/permission":
			askers++
		}
	}
	return records, askers
}

// A command reads configuration, account and issue once, whatever it does with them; the issue once more when it has
// claimed it, because its label may be gone since.
func TestACommandReadsOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, watched, flag := onceRig(t, strings.Replace(quickPlaybook, "      - write: {file: a.txt, text: \"two\\n\"}\n", "", 1))
	for _, c := range []struct {
		name   string
		code   int
		issues int // how often the issue is read
		askers int // and how often who asked for it
		args   []string
	}{
		{"a run of an issue", 3, 2, 1, append(issueRun, "--name", "one")},
		{"an issue with an unfinished session", 3, 1, 0, issueRun}, // whether another one has a pull request
		{"a resume", 3, 0, 0, []string{"resume", "one", "--headless"}},
		{"a run of a text", 3, 0, 0, append([]string{"run", "Say two", "--name", "two"}, quickRun...)},
	} {
		before := len(r.github.Calls())
		res := r.expect(c.code, append(flag, c.args...)...)
		watched.once(c.name)
		r.warnedOnce(c.name, res.err)
		if records, askers := readings(r.github.Calls()[before:]); records != c.issues || askers != c.askers {
			t.Errorf("%s: the issue was read %d times, who asked for it %d times, want %d and %d", c.name, records, askers, c.issues, c.askers)
		}
	}
}

// A detached host is told what its launcher read.
func TestADetachedHostReadsNothingAgain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, watched, flag := onceRig(t, quickPlaybook)
	file := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(file, strings.Replace(r.userFile(), "defaults: {provider: script}", "defaults: {provider: script, completion: {skip_final_approval: true}}", 1)+
		strings.Repeat("# more than a pipe holds at once\n", 4000))
	watched.count()
	screen := r.brief(append(flag, "issue", "1", "--workflow", "quick", "--wait")...).shows("next: review the pull request")
	r.hostsEnded()
	watched.once("a detached session")
	r.warnedOnce("a detached session", screen)
	r.done(r.session())
	if records, askers := readings(r.github.Calls()); records != 2 || askers != 1 {
		t.Errorf("the issue was read %d times, who asked for it %d times", records, askers)
	}
	r.eventually("the claim is given back", func() bool { return len(r.claims()) == 0 }, nil)
	if res := r.expect(0, append(flag, "changes", "Say three")...); !strings.Contains(res.err, "changes: done") {
		t.Errorf("%s", res.err)
	}
	r.hostsEnded()
	watched.once("a host that a command woke")
	if s := r.session().State; s.Settings.AgentRetries != 1 {
		t.Errorf("the host did not get the value of --config: %+v", s.Settings)
	}
}

// Neither does the status that a person sees when they leave the session.
func TestAPersonWhoDetachesReadsNothingAgain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, watched, flag := onceRig(t, hangPlaybook)
	at := r.brief(append(flag, "issue", "1", "--workflow", "quick", "--no-mirror")...)
	e := r.atWork("planner")
	at.shows("q detach")
	at.press("q")
	r.warnedOnce("a person who detaches", at.shows("next       agentmux attach "+e.Name))
	watched.once("a person who detaches")
	r.expect(0, "stop", e.Name)
	r.hostsEnded()
}

// A host that is started by hand reads for itself. One that is handed what cannot be read says
// so and leaves the session as it is.
func TestAHostStartedByHand(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, watched, flag := onceRig(t, strings.Replace(quickPlaybook, "      - write: {file: a.txt, text: \"two\\n\"}\n", "", 1))
	r.expect(3, append(flag, issueRun...)...)
	watched.count()
	e := r.session()
	run := append(flag, "session", "run", e.Dir, "--resume")
	for name, c := range map[string]struct{ document, want string }{
		"nothing":         {"", "hands over nothing; without --handed the host reads everything itself"},
		"a cut document":  {`{"version":1,"account":{"token":"ghp_`, "ends too early: was the launcher killed?"},
		"a token":         {r.github.Token(rigBot), "is not the JSON document of a launcher"},
		"another version": {`{"version":7}`, "has version 7, this agentmux reads 1"},
		"a repository that sets a key of the person": {
			`{"version":1,"config":[{"layer":"project","name":".agentmux/config.yaml","data":"dmVyc2lvbjogMgpzYW5kYm94OiB7bGV2ZWw6IG5vbmV9Cg=="}],"account":{}}`,
			".agentmux/config.yaml:2: sandbox.level: only a configuration file outside the repository may set this",
		},
	} {
		r.row(name, func(t *testing.T) {
			cmd := r.command(append(run, "--handed")...)
			cmd.Stdin = strings.NewReader(c.document)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "ghp_") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if seq := r.session().State.Seq; seq != e.State.Seq {
		t.Fatalf("the session went from %d to %d", e.State.Seq, seq)
	}
	if found := watched.count(); len(found) > 0 {
		t.Errorf("a host that is handed something read %v", found)
	}
	res := r.expect(3, run...)
	watched.once("a host that is started by hand")
	if n := strings.Count(res.err, "limits.stall"); n != 1 {
		t.Errorf("the warning was printed %d times:\n%s", n, res.err)
	}
	if r.session().State.Seq == e.State.Seq {
		t.Error("the host did nothing")
	}
}
