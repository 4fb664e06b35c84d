package ear_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
	"github.com/agentmux/agentmux/workflows"
)

const (
	widgets  = "octo/widgets"
	botLogin = "robo"
)

var octoWidgets = ghsync.Repo{Owner: "octo", Name: "widgets"}

// clock is the time of server, ear and journal. That of the machine may be ahead of it.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	ahead time.Duration
}

// local is the time of the machine, which dates its records.
func (c *clock) local() time.Time { return c.Now().Add(c.ahead) }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// scene is a repository with an issue, and an ear with an owner that has at most one session.
type scene struct {
	*testing.T
	*clock
	server  *fakehub.Server
	repo    *fakehub.Repo
	client  *ghsync.Client
	journal *journal.Journal
	home    string // of the journal
	ear     *ear.Ear
	bot     config.Bot
	issue   int
	brief   bool
	shared  bool // the server has issues of other scenes

	owner // what it has, and what it was asked to do

	shown map[string]int64 // comments of gates, by record

	sess *session.Session
	def  *workflows.Definition
	st   *orchestrator.State
}

// owner is an ear.Owner whose answers a test sets.
type owner struct {
	subject  ear.Subject
	held     []string
	heldErr  error
	decision gate.Decision
	guard    error
	asked    []string // what it was asked to do, in order
	at       func(step string)
	recalled []string // the triggers by which another machine's session was asked for
	recalls  func()   // brings it here
	replies  []string // to commands that no session shows
	replyErr error
	retries  bool // the last one asked for another try
}

// recall is ear.Options.Recall.
func (o *owner) recall(_ context.Context, s ear.Subject, by gate.Trigger) (ear.Subject, error) {
	o.retries = s.Retry
	o.recalled = append(o.recalled, by.String())
	if o.recalls != nil {
		o.recalls()
	}
	return o.subject, nil
}

// reply is ear.Options.Reply.
func (o *owner) reply(_ context.Context, c journal.Command) error {
	o.step("reply")
	if o.replyErr == nil {
		o.replies = append(o.replies, c.Author+": "+c.Reason)
	}
	return o.replyErr
}

func (o *owner) step(name string) {
	if o.at != nil {
		o.at(name)
	}
}

func (o *owner) Find(_ context.Context, number int, pull bool) (ear.Subject, error) {
	o.step("find")
	if pull && (o.subject.Pull == 0 || number != o.subject.Pull) || !pull && number != o.subject.Issue {
		return ear.Subject{}, nil
	}
	return o.subject, nil
}

func (o *owner) Wake(context.Context, ear.Subject) error {
	o.step("wake")
	o.asked = append(o.asked, "wake")
	return nil
}

func (o *owner) Drop(_ context.Context, _ ear.Subject, by ghsync.Account, _ time.Time) error {
	o.step("drop")
	o.asked = append(o.asked, "drop by "+by.Login)
	o.subject.Ticket = false
	return nil
}

func (o *owner) EndFollowUps(_ context.Context, _ ear.Subject, by ghsync.Account) error {
	o.step("forsake")
	o.asked = append(o.asked, "end follow-ups by "+by.Login)
	return nil
}

func (o *owner) Retry(_ context.Context, _ ear.Subject, r ear.Retry) (gate.Decision, error) {
	o.step("retry")
	o.asked = append(o.asked, "retry "+strings.TrimRight(r.Trigger.String(), "0123456789")+" by "+r.By.Login)
	return o.decision, nil
}

func (o *owner) Held(context.Context, ear.Subject) ([]string, error) { return o.held, o.heldErr }

func (o *owner) Guard(context.Context, int) error {
	o.step("guard")
	return o.guard
}

// people are accounts by their role in the repository.
var people = map[string]fakehub.Role{
	"ada": fakehub.Admin, "max": fakehub.Maintain, "wil": fakehub.Write, "ops": "ops:write", "tri": fakehub.Triage, "rea": fakehub.Read, "non": fakehub.None,
}

func newScene(t *testing.T, change ...func(*fakehub.Options)) *scene {
	t.Helper()
	s := &scene{T: t, clock: &clock{now: time.Now().Truncate(time.Second)}, bot: config.Bot{MinPermission: "write"}}
	opt := fakehub.Options{Now: s.Now, Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}}}
	for login, role := range people {
		opt.Users = append(opt.Users, fakehub.UserSpec{Login: login, Roles: map[string]fakehub.Role{widgets: role}})
	}
	write := map[string]fakehub.Role{widgets: fakehub.Write}
	opt.Users = append(opt.Users,
		fakehub.UserSpec{Login: botLogin, Roles: write}, fakehub.UserSpec{Login: "pri", Member: "private", Roles: write},
		fakehub.UserSpec{Login: "helper[bot]", Type: "Bot", Roles: write}, fakehub.UserSpec{Login: "man", Type: "Mannequin", Roles: write},
		fakehub.UserSpec{Login: "gone", Roles: write},
	)
	for _, f := range change {
		f(&opt)
	}
	s.server = fakehub.Start(t, opt)
	s.repo = s.server.Repo(widgets)
	s.client = s.as(botLogin)
	s.begin()
	return s
}

// begin makes an issue and an ear with a new journal.
func (s *scene) begin() {
	s.Helper()
	s.issue = s.repo.AddIssue(fakehub.IssueSpec{Title: "Refuse expired tokens", Author: "rea"})
	s.home, s.owner = s.TempDir(), owner{subject: ear.Subject{Issue: s.issue}}
	s.restart()
}

// another is a scene on the same server, with an issue of its own.
func (s *scene) another(t *testing.T) *scene {
	t.Helper()
	n := &scene{T: t, shared: true, clock: s.clock, server: s.server, repo: s.repo, client: s.client, bot: s.bot}
	n.begin()
	return n
}

// as returns a client of an account that does not wait between requests.
func (s *scene) as(login string) *ghsync.Client {
	s.Helper()
	return s.through(login, nil)
}

// through returns such a client whose requests go a way of their own; nil: the usual one.
func (s *scene) through(login string, way http.RoundTripper) *ghsync.Client {
	s.Helper()
	c, err := ghsync.New(transport.Options{
		HTTP: way, APIURL: s.server.API(), GraphQLURL: s.server.GraphQL(), ServerURL: s.server.URL(), Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(s.server.Token(login)), transport.Addresses{API: s.server.API(), GraphQL: s.server.GraphQL(), Server: s.server.URL()}),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond, ContentPerMinute: 1e6, ContentPerHour: 1e6},
	})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// restart is what the next process makes of what is on disk.
func (s *scene) restart() {
	s.Helper()
	var err error
	if s.journal, err = journal.Open(s.home, journal.Options{Now: s.Now}); err != nil {
		s.Fatal(err)
	}
	s.ear = ear.New(ear.Options{
		Client: s.client, Repo: octoWidgets, Bot: s.bot, Journal: s.journal, Owner: &s.owner, Recall: s.owner.recall, Reply: s.owner.reply, Brief: s.brief, Now: s.Now, Local: s.local, Log: slog.New(slog.NewTextHandler(s.Output(), nil)),
	})
}

// quick is the workflow of the sessions.
var quick = sync.OnceValues(func() ([]byte, error) {
	_, data, problems := workflows.Load("quick", nil)
	return data, problems.Err()
})

// start makes a session of the issue whose planner is at work.
func (s *scene) start(change ...func(*orchestrator.State)) {
	s.Helper()
	data, err := quick()
	if err != nil {
		s.Fatal(err)
	}
	state := orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc", IssueNumber: s.issue, Repo: widgets}
	state.Settings.Reachable = true
	for _, f := range change {
		f(&state)
	}
	sess, err := session.Create(session.CreateSpec{
		Project: s.TempDir(), Now: s.Now(), Source: "tokens", Request: "Refuse expired tokens.", Definition: data, State: state,
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = sess.Close() })
	s.sess, s.subject.Dir = sess, sess.Dir
	if s.def, err = sess.Definition(); err != nil {
		s.Fatal(err)
	}
	if s.st, err = sess.Recover(s.Now()); err != nil {
		s.Fatal(err)
	}
	s.input(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	for len(s.st.Pending) > 0 {
		s.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: s.st.Pending[0].ID}})
	}
	for _, p := range s.def.Phases {
		if err := sess.EnsureDirs(p.Dir); err != nil {
			s.Fatal(err)
		}
	}
}

// input has the session reduce and commit, as its host would.
func (s *scene) input(in orchestrator.Input) {
	s.Helper()
	in.At = s.local()
	step, err := decide.Reduce(s.def, s.st, in)
	if err == nil {
		err = s.sess.Commit(step)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.st = step.State
}

// read has the host read the commands.
func (s *scene) read() {
	s.Helper()
	lines, _, err := s.sess.Lines(session.Commands, s.st.CommandCursor, 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range lines {
		s.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &l})
	}
}

// call makes a call of an agent and has the host read it.
func (s *scene) call(role, tool string, params map[string]any) {
	s.Helper()
	who := tools.Caller{Dir: s.sess.Dir, Role: role, Launch: s.st.Agents[orchestrator.AgentKey(role)].Launch, Now: s.local, Wait: time.Nanosecond}
	if a := tools.Call(s.Context(), who, tool, params); !a.OK {
		s.Fatalf("%s: %s", tool, a.Text)
	}
	lines, _, err := s.sess.Lines(session.ToolEvents, s.st.ToolCursor, 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range lines {
		if tool == "submit_plan" {
			if l.Artifact, err = s.sess.ReadArtifact("04_planning/plan.yaml", "plan"); err != nil {
				s.Fatal(err)
			}
		}
		s.input(orchestrator.Input{Kind: orchestrator.InTool, Line: &l})
	}
}

// command has the session obey a command that came another way.
func (s *scene) command(name string) {
	s.Helper()
	s.input(orchestrator.Input{Kind: orchestrator.InCommand, Line: &orchestrator.Line{
		Tool: "command", ID: session.NewID(), At: orchestrator.At(s.Now()), Payload: []byte(`{"name":"` + name + `","args":{"text":"Otherwise."},"actor":"ada","source":"cli"}`),
	}})
}

// comment writes a comment on the issue.
func (s *scene) comment(body, author string) (id int64) {
	s.Helper()
	return s.repo.Comment(s.issue, body, author)
}

// poll hands the ear what the server lists.
func (s *scene) poll() {
	s.Helper()
	comments, _, err := ghsync.Intake{Client: s.client}.RecentComments(s.Context(), octoWidgets, 1)
	if err != nil {
		s.Fatal(err)
	}
	s.ear.Hear(slices.DeleteFunc(comments, func(c ghsync.IssueComment) bool { return s.shared && c.On != s.issue })...)
}

// hear polls, and has ear and host do all that is to be done now.
func (s *scene) hear() {
	s.Helper()
	s.poll()
	s.ear.Step(s.Context())
	if s.sess != nil {
		s.read()
	}
	s.ear.Step(s.Context())
}

// say has somebody comment, and all done that follows.
func (s *scene) say(body, author string) (id int64) {
	s.Helper()
	id = s.comment(body, author)
	s.hear()
	return id
}

// receipts are the reactions of the program to a comment.
func (s *scene) receipts(id int64) string {
	s.Helper()
	for _, c := range s.repo.Comments(s.issue) {
		if c.ID == id {
			var got []string
			for _, r := range c.Reactions {
				if login, content, _ := strings.Cut(r, " "); login == botLogin {
					got = append(got, content)
				}
			}
			return strings.Join(got, " ")
		}
	}
	s.Fatalf("no comment %d", id)
	return ""
}

// reason is why a command was refused, by the journal.
func (s *scene) reason(source string) string {
	c, _ := s.journal.Command(source)
	return c.Reason
}

// lines are the commands and notes in the session's file: "name state reason".
func (s *scene) lines() (got []string) {
	s.Helper()
	lines, _, err := s.sess.Lines(session.Commands, orchestrator.Cursor{}, 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range lines {
		p, err := l.Decode()
		if err != nil {
			s.Fatal(err)
		}
		got = append(got, strings.TrimSpace(p.Name+" "+p.State))
	}
	return got
}

// commands are the commands in the session's file.
func (s *scene) commands() (got []orchestrator.Payload) {
	s.Helper()
	lines, _, err := s.sess.Lines(session.Commands, orchestrator.Cursor{}, 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range lines {
		if p, err := l.Decode(); err == nil && p.IsCommand() {
			got = append(got, p)
		}
	}
	return got
}

const hour = time.Hour

// end ends the session as done, with a pull request or with none (0).
func (s *scene) end(pull int) {
	s.Helper()
	st := s.st.Clone()
	st.Phase, st.Outcome, st.Completion.PRNumber = orchestrator.PhaseDone, orchestrator.OutcomeDone, pull
	s.commit(st, orchestrator.DoneRecord{Outcome: orchestrator.OutcomeDone})
}

// commit commits a state that no input led to.
func (s *scene) commit(st *orchestrator.State, records ...orchestrator.DoneRecord) {
	s.Helper()
	var events []orchestrator.Event
	for _, d := range records {
		st.Seq++
		events = append(events, orchestrator.Event{Seq: st.Seq, TS: orchestrator.At(s.Now()), Type: orchestrator.EvDone, Phase: st.Phase, Visit: st.Visit, Data: d})
	}
	if err := s.sess.Commit(decide.Step{State: st, Events: events, Changed: true}); err != nil {
		s.Fatal(err)
	}
	s.st = st
}

func newJournal(t *testing.T) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.TempDir(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// writePlan puts a plan where the planner hands it in.
func (s *scene) writePlan(title string) {
	s.Helper()
	if err := os.WriteFile(s.sess.Path("04_planning/plan.yaml"), []byte(strings.ReplaceAll(plan, "TITLE", title)), 0o600); err != nil {
		s.Fatal(err)
	}
}

const plan = `version: 2
plan_overview: TITLE
needs_design: false
needs_docs: false
doc_files: []
groups:
  - {group_id: core, mode: serial, plans: [{index: 1, name: Token check}]}
subplans:
  - {index: 1, title: Token check, scope: Validate expiry, owned_files: [auth/], dependencies: none,
     implementation_approach: Compare, acceptance_criteria: Refused, tasks: [Test, Implement]}
`

var errAway = errors.New("the server is away")
