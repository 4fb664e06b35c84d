package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// codes waits until a coder of the bot works on the only session of a repository.
func (r *rig) codes(b *background, repo string) session.Entry {
	r.t.Helper()
	var at session.Entry
	r.eventually("a coder of the bot is at work", func() bool {
		for _, e := range r.served(repo) {
			if e.State == nil {
				continue
			}
			for key, a := range e.State.Agents {
				if key.Role() == "coder" && a.Launch != "" && r.recorded(e, orchestrator.EvAgentStarted, a.Launch) {
					at = e
					return true
				}
			}
		}
		return false
	}, b.out.String)
	return at
}

// A session of the bot is seen and steered from a directory that knows nothing of it, while the bot
// runs. The bot does what it is told, and no other process does.
func TestSessionsOfTheBotAreSteeredFromAnywhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig})
	repo := r.github.Repo(rigRepo)
	repo.AddIssue(fakehub.IssueSpec{Title: "Say two again", Body: "Both files should say two.\n", Author: rigOwner})
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot", "--max", "1")
	e := r.codes(b, rigRepo)
	repo.Label(2, "agentmux:quick", rigOwner)
	r.eventually("the second request waits", func() bool { return r.hasLabel(rigRepo, 2, "agentmux:queued") }, b.out.String)

	outside := t.TempDir()
	from := func(code int, args ...string) result {
		t.Helper()
		return r.expect(code, append([]string{"--project", outside}, args...)...)
	}
	if res := r.expect(4, "--project", r.clone, "issue", "1"); !strings.Contains(res.err, e.Name+" works on it already; agentmux attach "+e.Name) {
		t.Errorf("issue: %s", res.err)
	}
	repo.AddIssue(fakehub.IssueSpec{Title: "Say two once more", Body: "Both files should say two.\n", Author: rigOwner})
	repo.Label(3, "agentmux:quick", rigOwner)
	r.eventually("the third request waits", func() bool { return r.hasLabel(rigRepo, 3, "agentmux:queued") }, b.out.String)
	if res := from(0, "stop", rigRepo+"#3"); !strings.Contains(res.err, "stop: done") || r.hasLabel(rigRepo, 3, "agentmux:queued") {
		t.Errorf("stop of what is queued: %s", res.err)
	}
	const one, two = rigRepo + "#1", rigRepo + "#2"
	if res := from(0, "status", one); !strings.Contains(res.out, e.Name) || !strings.Contains(res.out, "implementing") {
		t.Errorf("status:\n%s", res.out)
	}
	if res := from(0, "logs", one); !strings.Contains(res.out, e.Name) {
		t.Errorf("logs:\n%s", res.out)
	}
	if res := from(2, "attach", one); !strings.Contains(res.err, "attach needs a terminal; agentmux status "+e.Name) {
		t.Errorf("attach: %s", res.err)
	}
	for _, in := range [][]string{{"status", "1"}, {"status", "#1"}, {"status", e.Name[:20]}, {"status"}} {
		if res := r.expect(0, in...); !strings.Contains(res.out, e.Name) {
			t.Errorf("%s in the clone:\n%s", in, res.out)
		}
	}
	if res := from(2, "status", two); !strings.Contains(res.err, two+" has no session yet: it waits for a slot; agentmux sessions --all shows its place") {
		t.Errorf("of what is queued: %s", res.err)
	}
	res := from(0, "sessions", "--all")
	for _, want := range []string{e.Name, rigRepo, "running", "PLACE", two, "@" + rigOwner, "for a slot"} {
		if !strings.Contains(res.out, want) {
			t.Errorf("sessions --all does not show %q:\n%s", want, res.out)
		}
	}
	var all show.EverythingJSON
	if err := json.Unmarshal([]byte(from(0, "sessions", "--all", "--json").out), &all); err != nil || len(all.Sessions) != 1 || len(all.Queue) != 1 ||
		all.Sessions[0].Repo != rigRepo || all.Queue[0].Issue != 2 || all.Queue[0].Place != 1 || all.Queue[0].Asked.IsZero() {
		t.Errorf("%v: %+v", err, all)
	}
	if words, _ := r.completions("stop", ""); !slices.Equal(words, []string{e.Name}) {
		t.Errorf("offered in the clone: %q", words)
	}
	elsewhere := filepath.Join(outside, "clone")
	r.git(outside, "init", "--quiet", elsewhere)
	if words, _ := r.completions("--project", elsewhere, "say", "more", "--session", "acme/"); !slices.Equal(words, []string{one}) {
		t.Errorf("offered in another clone: %q", words)
	}

	if res := from(0, "say", "both files", "--session", one); !strings.Contains(res.err, "say: done") {
		t.Errorf("say: %s", res.err)
	}
	kept := filepath.Join(r.managed(rigRepo), "notes")
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	clean := r.command("clean", "--force")
	clean.Dir = kept // a directory of the bot, where nobody named it
	if out, err := clean.CombinedOutput(); err == nil || !strings.Contains(string(out), "agentmux clean --project "+r.managed(rigRepo)+" does it now") {
		t.Errorf("clean: %v, %s", err, out)
	}
	if res := from(0, "stop", one); !strings.Contains(res.err, "stop: done") {
		t.Errorf("stop: %s", res.err)
	}
	r.eventually("the session has ended", func() bool {
		return slices.ContainsFunc(r.served(rigRepo), func(s session.Entry) bool { return s.Name == e.Name && !s.Running && s.State.Ended() })
	}, b.out.String)
	if res := r.expect(2, "--project", r.clone, "issue", "1"); !strings.Contains(res.err, e.Name+" of agentmux bot is not finished; agentmux resume "+e.Name) {
		t.Errorf("issue: %s", res.err)
	}
	if res := from(0, "resume", one); !strings.Contains(res.err, "resume: done") {
		t.Errorf("resume: %s", res.err)
	}
	if pid := session.Holder(e.Dir).PID; pid != b.cmd.Process.Pid {
		t.Errorf("process %d runs the session, the bot is %d", pid, b.cmd.Process.Pid)
	}
	r.eventually("the second request has its slot", func() bool { return len(r.served(rigRepo)) == 2 && r.served(rigRepo)[1].Running }, b.out.String)
	for _, issue := range []string{one, two} {
		if res := from(0, "stop", issue); !strings.Contains(res.err, "stop: done") {
			t.Errorf("stop %s: %s", issue, res.err)
		}
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	for _, e := range r.served(rigRepo) {
		r.sound(e)
	}
}

// Changes that are asked for at a terminal, of a session that has ended, are made by the bot that
// runs beside: on the same branch and pull request, under its claim.
func TestTheBotMakesChangesThatATerminalAsksFor(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate := filepath.Join(t.TempDir(), "go")
	louder := strings.Replace(heldUntil(gate), `- write: {file: a.txt, text: "two\n"}`, `- run: {argv: [sh, -c, 'echo two >> a.txt']}`, 1) // each round changes it
	r := newRig(t, rigOptions{playbook: louder, unlabel: true, config: botConfig})
	r.write(gate, "")
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	ended := func() bool {
		all := r.served(rigRepo)
		return len(all) == 1 && !all[0].Running && all[0].State.Ended() && r.isDone(rigRepo, 1) && len(r.claims()) == 0
	}
	r.eventually("it is done", ended, b.out.String)
	first := r.served(rigRepo)[0]
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	const one = rigRepo + "#1"
	away := []string{"--project", t.TempDir()}
	if res := r.expect(2, append(away, "resume", one)...); !strings.Contains(res.err, first.Name+" is done, there is nothing to resume; agentmux changes") {
		t.Errorf("resume: %s", res.err)
	}
	if res := r.expect(2, append(away, "resume", one, "--base", "main")...); !strings.Contains(res.err, "stop the bot") {
		t.Errorf("resume --base: %s", res.err)
	}
	if res := r.expect(0, append(away, "changes", "Say it louder", one)...); !strings.Contains(res.err, "changes: done") {
		t.Errorf("changes: %s", res.err)
	}
	e := r.codes(b, rigRepo)
	if pid := session.Holder(e.Dir).PID; pid != b.cmd.Process.Pid || len(r.claims()) != 1 {
		t.Errorf("process %d runs the session, the bot is %d; claims %v", pid, b.cmd.Process.Pid, r.claims())
	}
	r.write(gate, "")
	r.eventually("it is done again", ended, b.out.String)
	last := r.served(rigRepo)[0]
	r.done(last)
	if last.State.Seq <= first.State.Seq || last.State.Completion.PRNumber != first.State.Completion.PRNumber {
		t.Errorf("before %+v, after %+v", first.State.Completion, last.State.Completion)
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// Without a bot a command runs the session itself, with what the commit says that it began with, and
// gives the claim back.
func TestWithoutABotACommandContinuesItsSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig, files: map[string]string{
		"README.md": "# widgets\n", "a.txt": "one\n", "b.txt": "one\n", ".agentmux/config.yaml": "version: 2\ndefaults: {max_review_iterations: 1}\n",
	}})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.codes(b, rigRepo)
	const one = rigRepo + "#1"
	away := []string{"--project", t.TempDir()}
	r.expect(0, append(away, "stop", one)...)
	r.eventually("the session has ended", func() bool { return !r.served(rigRepo)[0].Running && len(r.claims()) == 0 }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	r.write(gate, "")
	r.expect(0, append(away, "resume", one)...)
	last := r.served(rigRepo)[0]
	r.done(last)
	if n := last.State.Settings.MaxReviewIterations; n != 1 {
		t.Errorf("it ran with at most %d reviews, its commit says 1", n)
	}
	if left := r.claims(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
	if res := r.expect(0, append(away, "diff", one, "--stat")...); !strings.Contains(res.out, "a.txt") {
		t.Errorf("diff:\n%s", res.out)
	}
}

// claims are the refs with which hosts hold issues.
func (r *rig) claims() []string {
	return slices.DeleteFunc(r.ourRefs(), func(ref string) bool { return !strings.HasPrefix(ref, "refs/agentmux/claims/") })
}
