package ear_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// teamScene is a scene whose session is a run of an agents file. Of its agents auth works for the issue of the scene
// and basket for another one, which is returned with a listener for both; each agent asks a question, q1 and q2.
func teamScene(t *testing.T) (s *scene, other int, l *ear.Listener) {
	t.Helper()
	s = newScene(t)
	other = s.repo.AddIssue(fakehub.IssueSpec{Title: "Other", Author: "rea"})
	file := fmt.Sprintf(`session: shop
agents:
  - {name: auth, branch: auth, issue: %d}
  - {name: basket, branch: basket, issue: %d}
`, s.issue, other)
	team, problems := agents.Parse("a.yml", []byte(file), agents.Known{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: s.Now(), Name: "shop", Agents: team.Encode(),
		State: orchestrator.State{Kind: orchestrator.KindAgents, Settings: orchestrator.DefaultSettings(), BaseSHA: "abc", Mirror: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sess.Close() })
	s.sess, s.subject.Dir = sess, sess.Dir
	if s.def, err = sess.Definition(); err != nil {
		t.Fatal(err)
	}
	if s.st, err = sess.Recover(s.Now()); err != nil {
		t.Fatal(err)
	}
	s.input(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartNew}})
	for len(s.st.Pending) > 0 {
		s.input(orchestrator.Input{Kind: orchestrator.InEffectDone, Effect: &orchestrator.Outcome{ID: s.st.Pending[0].ID}})
	}
	st := s.st.Clone()
	for i, name := range []string{"auth", "basket"} {
		st.Questions = append(st.Questions, orchestrator.Question{ID: fmt.Sprintf("q%d", i+1), Role: "build", Task: name, Text: "Which?", Options: []string{"a", "b"}, AskedAt: orchestrator.At(s.Now())})
	}
	if err := s.sess.Commit(decide.Step{State: st, Changed: true}); err != nil {
		t.Fatal(err)
	}
	s.st = st
	s.pass(time.Minute)
	s.ear = ear.New(ear.Options{
		Client: s.client, Repo: octoWidgets, Bot: s.bot, Journal: s.journal, Issues: []int{s.issue, other}, Since: s.Now(), Now: s.Now,
		Owner: ear.Team{One: ear.One{Dir: sess.Dir}, Agents: map[int]string{s.issue: "auth", other: "basket"}},
	})
	return s, other, &ear.Listener{Ear: s.ear}
}

// open lists the questions that wait.
func (s *scene) open() string {
	var ids []string
	for _, q := range s.st.Questions {
		if q.Open() {
			ids = append(ids, q.ID)
		}
	}
	return strings.Join(ids, " ")
}

// What is said on the issue of an agent of a run is for that agent alone, and what cannot be is refused there.
func TestGitHub54OnTheIssueOfAnAgent(t *testing.T) {
	s, other, l := teamScene(t)
	foreign := s.repo.Comment(other, "/agentmux answer q1 b", "wil")
	pause := s.comment("/agentmux pause", "wil")
	mate := s.comment("/agentmux say Basket: hurry", "wil")
	reader := s.comment("/agentmux answer b", "rea")
	s.look(l)
	s.want(pause, "-1", "pause is for the whole run, which has other agents: agentmux pause on the machine it runs on")
	s.want(mate, "-1", "this issue is of the agent auth: say it on the issue of basket, or begin with auth if it is for this one")
	s.want(reader, "", "")
	if c, ok := s.journal.Command(fmt.Sprint("comment/", foreign)); !ok || c.Reason != "there is no question q1 of basket; open: q2" || s.open() != "q1 q2" {
		t.Errorf("%+v, open %s", c, s.open())
	}
	own := s.comment("/agentmux answer 2", "wil")
	s.look(l)
	s.want(own, "eyes +1", "")
	if q := s.st.Questions[0]; q.Answer != "b" || s.open() != "q2" {
		t.Errorf("%+v, open %s", q, s.open())
	}
	s.comment("/agentmux say auth: be quick", "wil")
	s.comment("/agentmux say basket-like words", "wil")
	again := s.comment("/agentmux retry", "wil")
	s.repo.Comment(other, "/agentmux stop", "wil")
	s.look(l)
	s.want(again, "eyes -1", "auth has not failed")
	if auth, basket := s.st.Team["auth"].Marker, s.st.Team["basket"].Marker; auth != "" || basket != "130" || s.st.Ended() {
		t.Errorf("markers %q and %q, outcome %q", auth, basket, s.st.Outcome)
	}
	texts := map[string]string{}
	for _, p := range s.commands() {
		if want := map[bool]string{true: "auth", false: "basket"}[p.Name != "stop" && p.SourceID != fmt.Sprint("comment/", foreign)]; p.Args.Role != want {
			t.Errorf("%+v is not for %s", p, want)
		}
		if p.Name == "say" {
			texts[p.Args.Text] = p.Args.Role
		}
	}
	if len(texts) != 2 || texts["be quick"] != "auth" || texts["basket-like words"] != "auth" {
		t.Errorf("said %v", texts)
	}
	for text, want := range map[string]string{"stop": "basket has ended", "answer b": "no question of basket is open", "say hello": "no build/basket is at work; at work: build/auth"} {
		s.pass(time.Minute)
		late := s.repo.Comment(other, "/agentmux "+text, "wil")
		s.look(l)
		if c, _ := s.journal.Command(fmt.Sprint("comment/", late)); c.Reason != want {
			t.Errorf("%s after the end of basket: %q, want %q", text, c.Reason, want)
		}
	}
	retry := s.repo.Comment(other, "/agentmux retry", "wil")
	s.look(l)
	if c, _ := s.journal.Command(fmt.Sprint("comment/", retry)); s.st.Team["basket"].Marker != "" || s.st.Team["auth"].Marker != "" || c.Reason != "" {
		t.Errorf("after a retry: %+v, %+v", s.st.Team, c)
	}
}

// The pull request of an agent is its issue's, and a look costs nothing without news, however many issues there are.
func TestAListenerHearsTheIssuesOfAgents(t *testing.T) {
	s, _, l := teamScene(t)
	s.review("fine", "wil")
	st := s.st.Clone()
	progress := st.Team["basket"]
	progress.PRNumber = s.subject.Pull
	st.Team["basket"] = progress
	s.commit(st)
	s.repo.Comment(s.subject.Pull, "/agentmux answer a", "wil")
	s.look(l)
	if s.open() != "q1" {
		t.Errorf("after an answer on the pull request of basket: open %s", s.open())
	}
	s.pass(time.Minute)
	s.repo.Review(s.subject.Pull, "wil", "COMMENTED", "/agentmux stop")
	s.look(l)
	if auth, basket := s.st.Team["auth"].Marker, s.st.Team["basket"].Marker; auth != "" || basket != "130" {
		t.Errorf("after a review there: markers %q and %q", auth, basket)
	}
	s.pass(time.Minute)
	s.look(l)
	counted := s.server.Requests(botLogin)
	for range 10 {
		s.look(l)
	}
	if n := s.server.Requests(botLogin) - counted; n != 0 {
		t.Errorf("%d counted requests for no news:\n%s", n, s.server.Transcript())
	}
	last := s.comment("/agentmux answer a", "wil")
	if news, err := l.News(t.Context()); err != nil || !news {
		t.Errorf("news %v, %v", news, err)
	}
	s.read()
	l.Step(t.Context())
	s.want(last, "eyes +1", "")
	if news, err := l.News(t.Context()); err != nil || news {
		t.Errorf("once more: news %v, %v", news, err)
	}
}

// Once the run has ended, another try is asked for on the machine.
func TestARetryOnTheIssueOfAnAgentAfterTheRun(t *testing.T) {
	s, other, l := teamScene(t)
	s.comment("/agentmux stop", "wil")
	s.repo.Comment(other, "/agentmux stop", "wil")
	s.look(l)
	if s.st.Phase != orchestrator.PhaseFailed {
		t.Fatalf("the run is in %s, markers %+v", s.st.Phase, s.st.Team)
	}
	id := s.comment("/agentmux retry", "wil")
	s.look(l)
	if got := s.reason(fmt.Sprint("comment/", id)); s.receipts(id) != "-1" || !strings.Contains(got, "agentmux retry --role auth") {
		t.Errorf("receipts %q, reason %q", s.receipts(id), got)
	}
}
