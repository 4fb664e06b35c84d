package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// botStory is a rig on which a bot turns the request of one repository into a pull request and a round
// that a review asks for, and refuses that of another one, which is made once more by a comment of
// somebody who may. After a kill the bot is started again.
type botStory struct {
	*rig
	later atomic.Int64 // by how many seconds the clock of the server was put forward
	// prepare changes the environment of each bot before it is started, and running is called when
	// it was. Both may be nil.
	prepare func(cmd *exec.Cmd)
	running func(cmd *exec.Cmd)

	bot         *background
	bots, kills int
	out         bytes.Buffer // of all bots that have ended
}

// otherRepo is the second repository of a story. Claims are pushed at a pace of their own in each.
const otherRepo = "acme/gears"

// louder is what the review of a story asks for.
const louder = "Louder, please."

const botStoryPlaybook = `version: 1
agents:
  - role: coder
    round: 1
    steps:
      - run: {argv: [grep, -q, "> ` + louder + `", "{session}/04_planning/changes_prompt.md"]}
      - write: {file: a.txt, text: "TWO\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
  - role: architect
    steps:
      - write: {file: "{session}/02_architecting/architecture.md", text: "# Architecture\n\nTwo text files.\n"}
      - submit: {tool: submit_architecture}
`

// refusedActor has triage permission.
const refusedActor = "eve"

func newBotStory(t testing.TB) *botStory {
	t.Helper()
	s := &botStory{}
	s.rig = newRig(t, rigOptions{
		playbook: botStoryPlaybook + strings.TrimPrefix(quickPlaybook, "version: 1\nagents:\n"), unlabel: true,
		config: botConfig + unpaced + "followup: {quiet: 1s}\n",
		github: fakehub.Options{
			Now:   func() time.Time { return time.Now().Add(time.Duration(s.later.Load()-60) * time.Second) },
			Users: []fakehub.UserSpec{{Login: refusedActor}},
			Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "gears", Commits: []fakehub.CommitSpec{
				{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{"README.md": "# gears\n", "a.txt": "one\n"}},
			}}},
		},
	})
	gears := s.github.Repo(otherRepo)
	gears.SetRole(refusedActor, fakehub.Triage)
	gears.SetRole(rigOwner, fakehub.Admin)
	gears.SetRole(rigBot, fakehub.Write)
	gears.AddIssue(fakehub.IssueSpec{Title: "Say two as well", Body: "It should say two.\n", Author: refusedActor})
	return s
}

// settle puts the clock of the server forward by more than labels that are set together may be apart.
func (s *botStory) settle() { s.later.Add(6) }

// lead plays the story to its end; kills is how many bots may be killed meanwhile.
func (s *botStory) lead(kills int) {
	s.t.Helper()
	widgets, gears := s.github.Repo(rigRepo), s.github.Repo(otherRepo)
	widgets.Label(1, "agentmux:quick", rigOwner)
	gears.Label(1, "agentmux:quick", refusedActor)
	s.settle()
	s.start()
	s.await(kills, "one request is done and one refused", func() bool {
		return s.isDone(rigRepo, 1) && s.rests(rigRepo) && len(s.told(otherRepo, 1)) == 1 && !s.hasLabel(otherRepo, 1, "agentmux:quick")
	})
	pull := widgets.Pulls()[0]
	widgets.Review(pull.Number, rigOwner, "CHANGES_REQUESTED", louder)
	retry := gears.Comment(1, "/agentmux retry", rigOwner)
	s.await(kills, "the pull request has the change, and the other request is done", func() bool {
		text, _ := widgets.File(pull.Head, "a.txt")
		return text == "TWO\n" && s.isDone(rigRepo, 1) && s.rests(rigRepo) && s.isDone(otherRepo, 1) && s.rests(otherRepo) &&
			slices.Contains(s.reactions(otherRepo, 1, retry), rigBot+" +1")
	})
	for code := -1; code != 0; {
		_ = s.bot.cmd.Process.Signal(syscall.SIGTERM)
		if code = s.ended(kills); code != 0 {
			s.start()
		}
	}
}

// rests reports whether a repository has one session, which is not under way or hosted, and no claim.
func (s *botStory) rests(repo string) bool {
	for ref := range s.github.Repo(repo).Refs() {
		if strings.HasPrefix(ref, "refs/agentmux/claims/") {
			return false
		}
	}
	entries := s.served(repo)
	return len(entries) == 1 && !slices.ContainsFunc(entries, func(e session.Entry) bool {
		return e.Running || e.State == nil || !e.State.Ended() || len(e.State.Pending) > 0
	})
}

// start starts the next bot.
func (s *botStory) start() {
	s.t.Helper()
	s.bots++
	b := &background{r: s.rig, cmd: s.command("bot", "--repo", rigRepo, "--repo", otherRepo), ended: make(chan struct{})}
	if s.prepare != nil {
		s.prepare(b.cmd)
	}
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	if err := b.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = b.cmd.Wait(); close(b.ended) }()
	s.t.Cleanup(func() { _ = b.cmd.Process.Kill(); <-b.ended })
	s.bot = b
	if s.running != nil {
		s.running(b.cmd)
	}
}

// storyLimit bounds one chapter of a story; many stories run side by side.
const storyLimit = 4 * time.Minute

// await waits for something, and starts the next bot when one was killed.
func (s *botStory) await(kills int, what string, is func() bool) {
	s.t.Helper()
	limit := time.NewTimer(storyLimit)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-s.bot.ended:
			if s.ended(kills) == 0 {
				s.t.Fatalf("the bot ended before %s\n%s", what, s.out.String())
			}
			s.start()
		case <-tick.C:
		case <-limit.C:
			_ = s.bot.cmd.Process.Signal(syscall.SIGQUIT)
			<-s.bot.ended
			s.t.Fatalf("it never came true that %s\n%s\n%s%s", what, s.github.Repo(rigRepo).Picture(), s.out.String(), s.bot.out.String())
		}
	}
}

// ended waits for the end of the bot and returns 0 if it ended by itself, else -1: it was killed.
func (s *botStory) ended(kills int) int {
	s.t.Helper()
	<-s.bot.ended
	fmt.Fprintf(&s.out, "$ agentmux bot\n%s", s.bot.out.String())
	status, ok := s.bot.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		if s.kills++; s.kills > kills {
			s.t.Fatalf("%d bots were killed, want at most %d", s.kills, kills)
		}
		return -1
	}
	if code := s.bot.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Fatalf("exit %d\n%s", code, s.out.String())
	}
	return 0
}

// ending is all that must not depend on who was killed when: what people see, and what is on disk.
func (s *botStory) ending() string {
	s.t.Helper()
	s.clean()
	var b strings.Builder
	for _, name := range []string{rigRepo, otherRepo} {
		s.seen(&b, s.github.Repo(name))
		for _, e := range s.served(name) {
			st := e.State
			fmt.Fprintf(&b, "session of #%d: %s %s, change round %d, review round %d, pull request %d, pending %d\n",
				st.IssueNumber, st.Phase, st.Outcome, st.ChangeRound, st.ReviewIteration, st.Completion.PRNumber, len(st.Pending))
			fmt.Fprintf(&b, "%s\n", strings.Join(s.started(e), "\n"))
		}
		fmt.Fprintf(&b, "tickets %v\n%s", s.tickets(name), s.journal(name))
	}
	return b.String()
}

// seen writes what people see in a repository.
func (s *botStory) seen(w io.Writer, repo *fakehub.Repo) {
	numbers := []int{1}
	for _, p := range repo.Pulls() {
		numbers = append(numbers, p.Number)
		text, _ := repo.File(p.Head, "a.txt")
		fmt.Fprintf(w, "pull #%d draft %v, %q\ntitle %s\n%s\nreviews %v\n", p.Number, p.Draft, text, p.Title, steady(p.Body), repo.ReviewReactions(p.Number))
	}
	for _, n := range numbers {
		fmt.Fprintf(w, "on #%d %v\n", n, repo.Issue(n).Labels)
		for _, c := range repo.Comments(n) {
			fmt.Fprintf(w, "by %s, %v\n%s\n", c.Author, c.Reactions, steady(c.Body))
		}
	}
	for ref := range repo.Refs() {
		if strings.HasPrefix(ref, "refs/agentmux/claims/") {
			fmt.Fprintf(w, "claim %s\n", ref)
		}
	}
}

// started lists how often the agents of a session were started, by launch.
func (s *botStory) started(e session.Entry) (list []string) {
	s.t.Helper()
	sess, err := session.Open(e.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	records, _, err := sess.Events(0)
	if err != nil {
		s.t.Fatal(err)
	}
	count := map[orchestrator.Launch]int{}
	for _, r := range records {
		if started, ok := r.Data.(orchestrator.AgentStartedRecord); ok {
			count[started.Launch]++
		}
	}
	for launch, n := range count {
		list = append(list, fmt.Sprintf("%s: %d", launch, n))
	}
	slices.Sort(list)
	return list
}

// tickets names what is left of tickets.
func (s *botStory) tickets(repo string) (names []string) {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.managed(repo), "tickets"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".tmp-") { // a writer that was killed may leave one
			names = append(names, e.Name())
		}
	}
	return names
}

// journal counts the records of the repository's journal by type and issue, and fails unless all is
// carried out.
func (s *botStory) journal(repo string) string {
	s.t.Helper()
	dir := s.managed(repo)
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if n := j.Damage().Count; n > 1 {
		s.t.Errorf("%d damaged lines in the journal", n)
	}
	data, err := os.ReadFile(filepath.Join(dir, journal.File))
	if err != nil {
		s.t.Fatal(err)
	}
	count := map[string]int{}
	for line := range bytes.Lines(data) {
		var r struct {
			Type string
			Data struct {
				Issue int
				State string
			}
		}
		if json.Unmarshal(line, &r) == nil {
			count[fmt.Sprintf("%s of #%d %s", r.Type, r.Data.Issue, r.Data.State)]++
		}
	}
	var list []string
	for what, n := range count {
		list = append(list, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(list)
	return fmt.Sprintf("owed %d, pending %d\n%s\n", len(j.Owed()), len(j.Pending()), strings.Join(list, "\n"))
}

// clean fails if a session keeps a promise no more, or the server saw one broken, or a process was
// left behind.
func (s *botStory) clean() {
	s.t.Helper()
	for _, repo := range []string{rigRepo, otherRepo} {
		s.github.Sessions(session.Dir(s.managed(repo)))
		for _, e := range s.served(repo) {
			s.sound(e)
		}
	}
	s.github.Check(s.t)
	var left []string
	eventually(s.t, "its processes end", func() bool { left = s.processes(); return len(left) == 0 }, func() string {
		return strings.Join(left, "\n")
	})
}

// processes are those that name the rig's directory in their arguments.
func (r *rig) processes() []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var left []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if line := string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})); err == nil && strings.Contains(line, r.dir+"/") {
			left = append(left, filepath.Base(filepath.Dir(file))+" "+line)
		}
	}
	return left
}
