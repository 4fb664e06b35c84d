package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/agent/cooldown"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// botConfig lets the bot of a rig serve its repositories, which are public, and keeps ports free.
const botConfig = "gate: {public_unsandboxed: true}\nbot: {status_addr: \"\", poll_interval: 5s}\n"

// managed is the directory in which the bot of the rig keeps a repository; "" before it does.
func (r *rig) managed(repo string) string {
	r.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "*", filepath.FromSlash(repo)))
	if err != nil || len(dirs) > 1 {
		r.t.Fatalf("%v, %v", dirs, err)
	}
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// served lists the sessions of the bot of the rig in a repository.
func (r *rig) served(repo string) []session.Entry {
	r.t.Helper()
	dir := r.managed(repo)
	if dir == "" {
		return nil
	}
	entries, err := session.List(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return entries
}

// hasLabel reports whether an issue has a label on the server.
func (r *rig) hasLabel(repo string, issue int, name string) bool {
	return slices.Contains(r.github.Repo(repo).Issue(issue).Labels, name)
}

// told are the bodies of the comments of the program on an issue.
func (r *rig) told(repo string, issue int) (bodies []string) {
	for _, c := range r.github.Repo(repo).Comments(issue) {
		if c.Author == rigBot {
			bodies = append(bodies, c.Body)
		}
	}
	return bodies
}

// isDone reports whether the session of an issue ended with a pull request, on the server.
func (r *rig) isDone(repo string, issue int) bool {
	return r.hasLabel(repo, issue, "agentmux:done") && !slices.ContainsFunc([]string{"agentmux", "agentmux:quick", "agentmux:queued", "agentmux:running"},
		func(name string) bool { return r.hasLabel(repo, issue, name) })
}

// heldUntil is a playbook whose coder waits for a file before it hands in.
func heldUntil(file string) string {
	const submits = "      - submit: {tool: submit_done, with: {subplan_index: 1}}\n"
	waits := fmt.Sprintf("      - run: {argv: [sh, -c, 'until [ -e \"$0\" ]; do sleep 0.05; done', %q]}\n", file)
	return strings.Replace(quickPlaybook, submits, waits+submits, 1)
}

// A label is all it takes: with --once, the bot serves every request and ends.
func TestBotOnceServesEveryRequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	res := r.expect(0, "bot", "--once")
	entries := r.served(rigRepo)
	if len(entries) != 1 {
		t.Fatalf("%d sessions\n%s", len(entries), res.err)
	}
	r.done(entries[0])
	if !r.isDone(rigRepo, 1) {
		t.Errorf("labels %v", repo.Issue(1).Labels)
	}
	told := r.told(rigRepo, 1)
	if len(told) != 3 || !strings.Contains(told[0], "agentmux: done") || !strings.Contains(told[2], "`/agentmux changes TEXT`") {
		t.Errorf("comments: %q", told)
	}
	// A kill between the two leaves both labels, never none.
	if labels := labelWrites(r.github.Calls(), 1); !slices.Equal(labels[:min(2, len(labels))], []string{"POST", "DELETE agentmux:quick"}) ||
		slices.Contains(labels[min(2, len(labels)):], "DELETE agentmux:quick") {
		t.Errorf("writes of labels: %q", labels)
	}
	if left := r.ourRefs(); len(left) != 1 || !strings.HasPrefix(left[0], "refs/agentmux/hosts/") {
		t.Errorf("left on the server: %v", left)
	}
	if res = r.expect(0, "bot", "--once"); len(r.served(rigRepo)) != 1 || len(r.told(rigRepo, 1)) != 3 {
		t.Errorf("served twice\n%s", res.err)
	}
}

// What the server refuses until a person changes something is named at the end of --once.
func TestBotOnceEndsWithWhatIsRefused(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for route, want := range map[string]string{
		"GET .../collaborators/{login}/permission": "acme/widgets#1 is not served: ",
		"GET .../issues": "acme/widgets is not served: ",
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig})
			r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
			r.github.Inject(fakehub.Fault{Route: route, Status: 403, Message: "Resource not accessible by personal access token"})
			res := r.expect(2, "bot", "--once")
			if !strings.Contains(res.err, want) || !strings.Contains(res.err, "Resource not accessible") {
				t.Errorf("want %q:\n%s", want, res.err)
			}
		})
	}
}

// labelWrites are the writes of an issue's labels in their order, a removal with the name of the label.
func labelWrites(calls []fakehub.Request, issue int) (writes []string) {
	for _, c := range calls {
		_, name, of := strings.Cut(c.Path, fmt.Sprintf("/issues/%d/labels", issue))
		if of && c.Method != http.MethodGet {
			writes = append(writes, strings.TrimSpace(c.Method+" "+strings.TrimPrefix(name, "/")))
		}
	}
	return writes
}

// Three requests in two repositories share two slots: the third shows its place and why it waits,
// and all three end with a pull request.
func TestBotServesTwoRepositoriesWithTwoSlots(t *testing.T) {
	t.Parallel()
	const other = "acme/gears"
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig, github: fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "gears", Commits: []fakehub.CommitSpec{
			{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{"README.md": "# gears\n", "a.txt": "one\n", "b.txt": "one\n"}},
		}}},
	}})
	gears, widgets := r.github.Repo(other), r.github.Repo(rigRepo)
	gears.SetRole(rigOwner, fakehub.Admin)
	gears.SetRole(rigBot, fakehub.Write)
	gears.AddIssue(fakehub.IssueSpec{Title: "Gears say two", Body: "Both files should say two.\n", Author: rigOwner})
	widgets.AddIssue(fakehub.IssueSpec{Title: "Say two again", Body: "Both files should say two.\n", Author: rigOwner})
	for _, l := range []struct {
		repo  *fakehub.Repo
		issue int
	}{{widgets, 1}, {gears, 1}, {widgets, 2}} {
		l.repo.Label(l.issue, "agentmux:quick", rigOwner)
	}
	b := r.background("bot", "--repo", rigRepo, "--repo", other)
	issues := []struct {
		repo  string
		issue int
	}{{rigRepo, 1}, {rigRepo, 2}, {other, 1}}
	count := func(is func(repo string, issue int) bool) (n int) {
		for _, i := range issues {
			if is(i.repo, i.issue) {
				n++
			}
		}
		return n
	}
	running := func(repo string, issue int) bool { return r.hasLabel(repo, issue, "agentmux:running") }
	waits := func(repo string, issue int) bool {
		return r.hasLabel(repo, issue, "agentmux:queued") && slices.ContainsFunc(r.told(repo, issue), func(body string) bool {
			return strings.Contains(body, "for a slot, 2 of 2 are taken")
		})
	}
	r.eventually("two run and one waits", func() bool { return count(running) == 2 && count(waits) == 1 }, b.out.String)
	r.write(gate, "")
	r.eventually("all are done", func() bool { return count(r.isDone) == 3 }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	for _, repo := range []string{rigRepo, other} {
		for _, e := range r.served(repo) {
			if e.State.Outcome != orchestrator.OutcomeDone {
				t.Errorf("%s: %s", e.Name, e.State.Outcome)
			}
			r.sound(e)
		}
	}
}

// reactions are those on a comment.
func (r *rig) reactions(repo string, issue int, comment int64) []string {
	for _, c := range r.github.Repo(repo).Comments(issue) {
		if c.ID == comment {
			return c.Reactions
		}
	}
	return nil
}

// said has a person comment a command, and waits for its last receipt.
func (r *rig) said(b *background, issue int, text, last string) {
	r.t.Helper()
	id := r.github.Repo(rigRepo).Comment(issue, text, rigOwner)
	r.eventually(text+" has its receipt", func() bool {
		got := r.reactions(rigRepo, issue, id)
		return slices.Contains(got, rigBot+" "+last)
	}, b.out.String)
}

// A session of the bot is steered by comments: its plan approved, paused, continued, stopped, tried again, stopped,
// asked for once more when the text of the issue was edited, and its agent told what it has to know.
func TestBotHearsComments(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	hears := strings.Replace(quickPlaybook, "      - write: {file: a.txt", "      - hear: keep the old flag\n      - write: {file: a.txt", 1)
	r := newRig(t, rigOptions{playbook: hears, unlabel: true, config: botConfig + "approval: {plan: true}\ncheckpoint: {remote: false}\n", github: fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "stranger"}},
	}})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	outcome := func(i int) func() bool {
		return func() bool {
			all := r.served(rigRepo)
			return len(all) > i && all[i].State != nil && all[i].State.Ended()
		}
	}
	// approves approves the plan of the nth session, once the issue shows it.
	approves := func(n int) {
		r.eventually("the plan is shown", func() bool {
			all := r.served(rigRepo)
			return len(all) >= n && all[n-1].State != nil && slices.ContainsFunc(r.told(rigRepo, 1), func(body string) bool {
				return strings.Contains(body, "`/agentmux approve`") && strings.Contains(body, "session="+all[n-1].State.SessionID)
			})
		}, b.out.String)
		r.said(b, 1, "/agentmux approve", "+1")
		r.eventually("the coder works", func() bool { return r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
		if s := r.served(rigRepo)[n-1].State; s.Gate != nil || s.Phase == "planning" {
			t.Errorf("approved, and in %s with the gate %+v", s.Phase, s.Gate)
		}
	}
	approves(1)
	repo.Comment(1, "/agentmux stop", "stranger")
	r.said(b, 1, "/agentmux pause", "+1")
	if e := r.served(rigRepo)[0]; !e.State.Paused {
		t.Errorf("not paused: %+v", e.State.Phase)
	}
	r.said(b, 1, "/agentmux resume", "+1")
	r.said(b, 1, "/agentmux stop", "+1")
	r.eventually("the session has ended", outcome(0), b.out.String)
	r.said(b, 1, "/agentmux retry", "+1")
	r.eventually("the session continues", func() bool { return !outcome(0)() && r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
	r.said(b, 1, "/agentmux stop", "+1")
	r.eventually("the session has ended again", outcome(0), b.out.String)
	repo.EditIssue(1, rigOwner, nil, new("It should say two, please.\n"))
	r.said(b, 1, "/agentmux retry", "+1")
	approves(2)
	r.said(b, 1, "/agentmux say coder keep the old flag", "+1")
	r.eventually("the next session is done", func() bool { return outcome(1)() && r.isDone(rigRepo, 1) }, b.out.String)
	entries := r.served(rigRepo)
	if first, second := entries[0].State, entries[1].State; first.Outcome != orchestrator.OutcomeCanceled || second.Outcome != orchestrator.OutcomeDone {
		t.Errorf("%s, %s", first.Outcome, second.Outcome)
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// A bot that is killed or stopped leaves its agents at work; the next one continues with them.
func TestBotAdoptsWhatTheFormerOneLeft(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adopted(t, sig, false)
		})
	}
}

// A build that takes the place of the program under live agents continues with them: they, and what they call to
// speak with it, are of the build before, and so is the form of the session's state.
func TestGitHub89ABotOfAnotherBuildAdoptsTheAgents(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	adopted(t, syscall.SIGTERM, true)
}

// another puts a build in the place of the program of a rig.
func (r *rig) another(change string) {
	r.t.Helper()
	program, err := inPanes()
	if err != nil {
		r.t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		r.t.Fatal(err)
	}
	r.other = filepath.Join(r.dir, "agentmux")
	if err := os.WriteFile(r.other+".new", append(data, change...), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.other+".new", r.other); err != nil {
		r.t.Fatal(err)
	}
	r.setEnv(panesEnv, r.other)
}

// processOf is the process of a launch of the only session of the bot, as its host noted it.
func (r *rig) processOf(launch orchestrator.Launch) int {
	r.t.Helper()
	sess, err := session.Open(r.served(rigRepo)[0].Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, of := range sess.ReadRuntime().Launches {
		if of.Launch == launch && of.PID != 0 {
			return of.PID
		}
	}
	r.t.Fatalf("no process of %s: %+v", launch, sess.ReadRuntime())
	return 0
}

// asEarlier writes the state of a session without what the first versions of a bot did not write.
func (r *rig) asEarlier(e session.Entry) {
	r.t.Helper()
	for _, name := range []string{session.StateFile, session.StateFile + ".bak"} {
		file := filepath.Join(e.Dir, name)
		var state map[string]json.RawMessage
		if err := json.Unmarshal([]byte(r.read(file)), &state); err != nil {
			r.t.Fatal(err)
		}
		for _, key := range []string{"checksum", "message_seq", "message_cursor"} {
			delete(state, key)
		}
		data, err := json.MarshalIndent(state, "", "  ")
		if err != nil {
			r.t.Fatal(err)
		}
		r.write(file, string(data)+"\n")
	}
}

func adopted(t *testing.T, sig syscall.Signal, upgraded bool) {
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	if upgraded {
		r.another("")
	}
	first := r.background("bot")
	var launch orchestrator.Launch
	coder := func() bool {
		for _, e := range r.served(rigRepo) {
			for key, a := range e.State.Agents {
				if key.Role() == "coder" && a.Launch != "" && r.recorded(e, orchestrator.EvAgentStarted, a.Launch) {
					launch = a.Launch
					return true
				}
			}
		}
		return false
	}
	r.eventually("the coder is at work", coder, first.out.String)
	before, pid := launch, r.processOf(launch)
	claimed := r.claimRef()
	code := first.exit(sig)
	if told := "the agents of 1 session stay at work"; sig == syscall.SIGTERM && (code != 0 || !strings.Contains(first.out.String(), told)) {
		t.Errorf("exit %d\n%s", code, first.out.String())
	}
	if e := r.served(rigRepo)[0]; e.Running || e.State.Ended() || r.claimRef() == "" {
		t.Fatalf("running %t, outcome %s, claim %q", e.Running, e.State.Outcome, r.claimRef())
	}
	if upgraded {
		r.another("\n")
		r.asEarlier(r.served(rigRepo)[0])
	}
	second := r.background("bot")
	r.eventually("the next bot has the session", func() bool { return r.served(rigRepo)[0].Running }, second.out.String)
	if !coder() || launch != before {
		t.Errorf("the coder was started again: %s, before %s", launch, before)
	}
	if now := r.processOf(before); now != pid || syscall.Kill(pid, 0) != nil {
		t.Errorf("process %d is the coder's, before %d", now, pid)
	}
	if now := r.claimRef(); now != claimed {
		t.Errorf("the claim is %q, before %q", now, claimed)
	}
	if res := r.expect(4, "bot"); !strings.Contains(res.err, "another agentmux bot runs here") {
		t.Errorf("%s", res.err)
	}
	r.write(gate, "")
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, second.out.String)
	if code := second.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, second.out.String())
	}
	if n := len(r.told(rigRepo, 1)); n != 3 {
		t.Errorf("%d comments", n)
	}
	r.done(r.served(rigRepo)[0])
}

// Who asked for the work may lose the permission while agents work: nothing is pushed then.
func TestBotPushesNothingForSomebodyWhoMayNotAsk(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig, github: fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "eve", Roles: map[string]fakehub.Role{rigRepo: fakehub.Write}}},
	}})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", "eve")
	b := r.background("bot")
	r.eventually("the session runs", func() bool { return r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
	repo.SetRole("eve", fakehub.Read)
	r.write(gate, "")
	r.eventually("a person is asked", func() bool { return r.hasLabel(rigRepo, 1, "agentmux:needs-human") }, b.out.String)
	if told := strings.Join(r.told(rigRepo, 1), "\n"); !strings.Contains(told, "eve has read permission, and write is needed") {
		t.Errorf("comments: %s", told)
	}
	if n := len(repo.Pulls()); n > 0 {
		t.Errorf("%d pull requests", n)
	}
	for ref := range repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/agentmux/") {
			t.Errorf("pushed %s", ref)
		}
	}
}

// A request that is refused loses its label and is told why once; one that is withdrawn by the close
// of its issue ends, and one whose issue was transferred while it waited does not begin.
func TestBotRefusesAndWithdraws(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: heldUntil(filepath.Join(t.TempDir(), "never")), unlabel: true, config: botConfig, github: fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "eve", Roles: map[string]fakehub.Role{rigRepo: fakehub.Triage}}},
	}})
	repo := r.github.Repo(rigRepo)
	repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "Do it.", Author: rigOwner})
	repo.AddIssue(fakehub.IssueSpec{Title: "A third", Body: "Do it.", Author: rigOwner})
	if err := r.github.AddRepo(fakehub.RepoSpec{Owner: "acme", Name: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	repo.Label(1, "agentmux:quick", rigOwner)
	repo.Label(2, "agentmux", "eve")
	b := r.background("bot", "--max", "1")
	r.eventually("the request of eve is refused", func() bool { return !r.hasLabel(rigRepo, 2, "agentmux") && len(r.told(rigRepo, 2)) == 1 }, b.out.String)
	if told := r.told(rigRepo, 2)[0]; !strings.Contains(told, "write is needed") {
		t.Errorf("%s", told)
	}
	r.eventually("the session runs", func() bool { return r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
	repo.Label(2, "agentmux:quick", rigOwner)
	r.eventually("the other one waits", func() bool { return r.hasLabel(rigRepo, 2, "agentmux:queued") }, b.out.String)
	repo.CloseIssue(2, rigOwner)
	r.eventually("its ticket is dropped", func() bool { return !r.hasLabel(rigRepo, 2, "agentmux:queued") }, b.out.String)
	repo.Label(3, "agentmux:quick", rigOwner)
	r.eventually("the third one waits", func() bool { return r.hasLabel(rigRepo, 3, "agentmux:queued") }, b.out.String)
	repo.Transfer(3, "acme/elsewhere")
	repo.CloseIssue(1, rigOwner)
	r.eventually("the session is canceled", func() bool {
		all := r.served(rigRepo)
		return len(all) == 1 && all[0].State.Outcome == orchestrator.OutcomeCanceled
	}, b.out.String)
	r.eventually("the request of the transferred issue is dropped", func() bool { return repo.Refs()["refs/agentmux/claims/3"] == "" }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	if n := len(r.served(rigRepo)); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// followPlaybook says two at first, and what a reviewer wants after that.
const followPlaybook = `version: 1
agents:
  - role: coder
    round: 1
    steps:
      - run: {argv: [grep, -q, "> Louder, please.", "{session}/04_planning/changes_prompt.md"]}
      - run: {argv: [grep, -q, "> Like this?", "{session}/04_planning/changes_prompt.md"]}
      - run: {argv: [grep, -q, "> 2 tests are red", "{session}/04_planning/changes_prompt.md"]}
      - write: {file: a.txt, text: "TWO\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
`

// A review that requests changes and a red check lead to one more round of the same session, on the
// same branch and pull request. The merge takes the homes of its
// agents away.
func TestBotFollowsItsPullRequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{
		playbook: followPlaybook + strings.TrimPrefix(quickPlaybook, "version: 1\nagents:\n"), unlabel: true, config: botConfig + "followup: {quiet: 10s}\n",
	})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	pull := repo.Pulls()[0]
	repo.AddCheck(pull.HeadSHA, fakehub.CheckSpec{Name: "ci", Conclusion: "failure", Summary: "2 tests are red\n/agentmux stop"})
	repo.Review(pull.Number, rigOwner, "CHANGES_REQUESTED", "Louder, please.", fakehub.InlineComment{Path: "a.txt", Hunk: "@@ -1 +1 @@\n-one\n+two", Body: "Like this?"})
	r.eventually("the pull request has the change", func() bool {
		text, _ := repo.File(pull.Head, "a.txt")
		return text == "TWO\n" && r.served(rigRepo)[0].State.Ended() && r.isDone(rigRepo, 1)
	}, b.out.String)
	if n := len(repo.Pulls()); n != 1 {
		t.Errorf("%d pull requests", n)
	}
	homes := place.Of(r.served(rigRepo)[0].Dir, r.served(rigRepo)[0].State).Homes(filepath.Join(r.dir, "home", ".local", "state", "agentmux"))
	if _, err := os.Lstat(homes); err != nil {
		t.Error(err)
	}
	repo.Merge(pull.Number, rigOwner)
	r.eventually("the homes of its agents are gone", func() bool { _, err := os.Lstat(homes); return err != nil }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	r.done(r.served(rigRepo)[0])
}

// An organisation is searched for requests; a repository with one is served.
func TestBotServesAnOrganisation(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	res := r.expect(0, "bot", "--org", "acme", "--once")
	if !r.isDone(rigRepo, 1) {
		t.Errorf("labels %v\n%s", r.github.Repo(rigRepo).Issue(1).Labels, res.err)
	}
}

// freeAddress is one of this machine that nothing listens at now.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get asks the status address of a bot; code 0 while nothing answers.
func get(address, path string) (code int, body string) {
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// A webhook has the bot look at once, however long its interval is. What it does is to be seen.
func TestBotIsWokenByWebhooksAndTellsHowItDoes(t *testing.T) {
	t.Parallel()
	status, hooks, secret := freeAddress(t), freeAddress(t), strings.Repeat("s3cret-", 4)
	r := newRig(t, rigOptions{
		playbook: quickPlaybook, unlabel: true,
		config: "gate: {public_unsandboxed: true}\nbot: {status_addr: \"" + status + "\", poll_interval: 1h}\n",
	})
	r.setEnv("AGENTMUX_WEBHOOK_SECRET", secret)
	b := r.background("bot", "--webhook", hooks)
	r.eventually("the lists were read", func() bool {
		_, body := get(status, "/healthz")
		return strings.Contains(body, `"polled"`) && strings.Contains(body, `"status": "ok"`)
	}, b.out.String)
	r.github.SendHooks(fakehub.HookSpec{URL: "http://" + hooks + "/webhook", Secret: secret})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	refused := time.Now()
	if err := cooldown.In(filepath.Join(r.dir, "home", ".local", "state", "agentmux")).Note(cooldown.Login{Provider: "claude", Account: "a"}, cooldown.Refusal{At: refused, Until: refused.Add(time.Hour)}, refused); err != nil {
		t.Fatal(err)
	}
	_, body := get(status, "/metrics")
	if !regexp.MustCompile(`(?m)^agentmux_cooldown_seconds{provider="claude"} 3[56]\d\d`).MatchString(body) {
		t.Errorf("the cool-down is not shown:\n%s", body)
	}
	for _, line := range []string{"agentmux_slots 2", "agentmux_requests_accepted_total 1", "agentmux_effects_oldest_seconds 0",
		`agentmux_phase_seconds_count{phase="implementing"} 1`, `agentmux_repository_failing{repository="acme/widgets"} 0`} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no %q in\n%s", line, body)
		}
	}
	if !regexp.MustCompile(`(?m)^agentmux_beats_total{outcome="arrived",repository="acme/widgets"} [1-9]`).MatchString(body) {
		t.Errorf("the claim's beat is not counted:\n%s", body)
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	if code, _ := get(status, "/healthz"); code != 0 {
		t.Errorf("it still answers %d", code)
	}
}

// A dry run prints each write that the bot would make and makes none.
func TestBotDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig, github: fakehub.Options{
		Users: []fakehub.UserSpec{{Login: "eve", Roles: map[string]fakehub.Role{rigRepo: fakehub.Triage}}},
	}})
	repo := r.github.Repo(rigRepo)
	repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "Do it.", Author: rigOwner})
	if err := r.github.AddRepo(fakehub.RepoSpec{Owner: "acme", Name: "gadgets"}); err != nil {
		t.Fatal(err)
	}
	gadgets := r.github.Repo("acme/gadgets")
	gadgets.Label(gadgets.AddIssue(fakehub.IssueSpec{Title: "Of the organisation", Body: "Do it.", Author: rigOwner}), "agentmux:quick", rigOwner)
	repo.Label(1, "agentmux:quick", rigOwner)
	repo.Label(2, "agentmux", "eve")
	before := repo.Picture() + gadgets.Picture()
	res := r.expect(0, "bot", "--dry-run", "--repo", rigRepo, "--org", "acme")
	for _, want := range []string{"acme/widgets#1: ", "acme/widgets#2: ", "acme/gadgets#1: ", "DELETE /repos/acme/widgets/issues/2/labels/agentmux"} {
		if !strings.Contains(res.out, want) {
			t.Errorf("no %q in\n%s", want, res.out)
		}
	}
	if n := strings.Count(res.out, "acme/widgets#1: "); n != 1 {
		t.Errorf("acme/widgets is judged %d times", n)
	}
	if after := repo.Picture() + gadgets.Picture(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if dir := r.managed(rigRepo); dir != "" {
		t.Errorf("it made %s", dir)
	}
}

// What is wrong in the base commit is refused on the issue; what a person paused or the machine lacks
// waits and goes on by itself.
func TestBotRefusesABadBaseAndWaitsForTheMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{
		playbook: quickPlaybook, unlabel: true, config: botConfig,
		files: map[string]string{"README.md": "# widgets\n", "a.txt": "one\n", "b.txt": "one\n", ".agentmux/config.yaml": "version: 2\nreview: {max_iterations: many}\n"},
	})
	repo := r.github.Repo(rigRepo)
	repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "Do it.", Author: rigOwner})
	paused := filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED")
	r.write(paused, "")
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the request waits", func() bool {
		return r.hasLabel(rigRepo, 1, "agentmux:queued") && strings.Contains(strings.Join(r.told(rigRepo, 1), ""), "paused")
	}, b.out.String)
	if err := os.Remove(paused); err != nil {
		t.Fatal(err)
	}
	r.eventually("the base is refused", func() bool {
		return !r.hasLabel(rigRepo, 1, "agentmux:queued") && strings.Contains(strings.Join(r.told(rigRepo, 1), ""), ".agentmux/config.yaml:2")
	}, b.out.String)
	repo.Commit(fakehub.CommitSpec{Message: "Mend", Author: "Mia <mia@example.com>", Files: map[string]string{".agentmux/config.yaml": "version: 2\n"}})
	repo.Label(2, "agentmux:nosuch", rigOwner)
	r.eventually("the unknown workflow is refused", func() bool {
		return !r.hasLabel(rigRepo, 2, "agentmux:queued") && strings.Contains(strings.Join(r.told(rigRepo, 2), ""), "set one of the labels agentmux:feature, agentmux:quick")
	}, b.out.String)
	repo.Label(2, "agentmux:quick", rigOwner)
	r.eventually("the next one is done", func() bool { return r.isDone(rigRepo, 2) }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// A command on an issue without a session is refused in words, once, also when its bot is restarted.
func TestSecurity26ARefusedCommandWithoutASessionGetsAReply(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig, github: fakehub.Options{Users: []fakehub.UserSpec{{Login: "stranger"}}}})
	repo := r.github.Repo(rigRepo)
	b := r.background("bot")
	repo.Comment(1, "/agentmux fly", "stranger")
	r.said(b, 1, "/agentmux pause", "-1")
	r.said(b, 1, "/agentmux fly @"+rigOwner, "-1")
	replies := func() (texts []string) {
		for _, c := range repo.Comments(1) {
			if strings.HasPrefix(c.Body, "### agentmux: command refused\n") {
				texts = append(texts, c.Body)
			}
		}
		return texts
	}
	got := replies()
	if len(got) != 2 || !strings.Contains(got[0], "no session works on this issue: retry begins one") || !strings.Contains(got[1], "there is no command fly") || strings.Contains(strings.Join(got, ""), "@"+rigOwner) {
		t.Errorf("replies %q", got)
	}
	b.exit(syscall.SIGTERM)
	r.expect(0, "bot", "--once")
	if again := replies(); len(again) != 2 {
		t.Errorf("replies %q", again)
	}
}
