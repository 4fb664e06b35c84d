package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// typist types an answer each time a question waits for one.
type typist []func() string

func (t *typist) Read(p []byte) (int, error) {
	if len(*t) == 0 {
		return 0, errors.New("a question that was not expected")
	}
	answer := (*t)[0]
	*t = (*t)[1:]
	return copy(p, answer()), nil
}

// types is a typist's answer that is always the same.
func types(answer string) func() string { return func() string { return answer } }

// runs calls agents start with the streams of std, whose outputs it returns.
func (s *shopper) runs(ctx context.Context, code int, std console.Streams, args ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	std.Out, std.Err = &out, &out
	if got := run(ctx, append([]string{"--project", s.clone, "agents", "start"}, args...), std); got != code {
		s.t.Fatalf("exit %d, want %d\n%s", got, code, &out)
	}
	return out.String()
}

// formerly makes a session of the agents file as another command would; with ended it has failed.
func (s *shopper) formerly(ended bool) session.Entry {
	s.t.Helper()
	base := s.git(s.clone, "rev-parse", "HEAD")
	sess, err := session.Create(session.CreateSpec{Project: s.clone, Now: time.Now(), Name: "shop", Agents: []byte(teamFile), State: orchestrator.State{Kind: orchestrator.KindAgents, BaseBranch: "main", BaseSHA: base}})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := sess.Close(); err != nil {
		s.t.Fatal(err)
	}
	if ended {
		var state map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s.read(sess.Dir, session.StateFile)), &state); err != nil {
			s.t.Fatal(err)
		}
		state["phase"], state["outcome"] = json.RawMessage(`"failed"`), json.RawMessage(`"failed"`)
		delete(state, "checksum")
		data, err := json.Marshal(state)
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(sess.Path(session.StateFile), string(data))
	}
	return s.only()
}

// only returns the one session there is.
func (s *shopper) only() session.Entry {
	s.t.Helper()
	all := s.sessions()
	if len(all) != 1 || all[0].State == nil {
		s.t.Fatalf("the sessions are %+v", all)
	}
	return all[0]
}

// noneKept fails if a branch or a directory is reserved, or a command was allowed.
func (s *shopper) noneKept() {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(s.dir, "home"), func(path string, d fs.DirEntry, err error) error {
		if kept := filepath.Base(filepath.Dir(path)); err == nil && (kept == "branches" || kept == "allowed") && d.Type().IsRegular() && d.Name() != ".lock" {
			s.t.Errorf("%s was made", path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Without a terminal to ask at, everything else that is wrong is said nevertheless; only a start that
// could be made but for the answer is refused for the terminal.
func TestAgentsStartMissesTheTerminalLast(t *testing.T) {
	testfull.Only(t)
	const missing = "there is no terminal to ask at"
	s := newShopper(t, strings.Replace(teamFile, "branch: feature/words", "branch: main", 1))
	s.commit()
	file := filepath.Join(s.clone, agents.File)
	away := filepath.Join(s.dir, "away.yml")
	for _, tt := range []struct{ args, want string }{{"--file=" + away, away + " cannot be read"}, {"--only=word", `"word"`}, {"--headless", "agents[0].branch: main is a branch that others start from"}} {
		if out := s.runs(t.Context(), exit.BadUsage, console.Streams{}, tt.args); !strings.Contains(out, tt.want) || strings.Contains(out, missing) {
			t.Errorf("%s: %s", tt.args, out)
		}
	}
	s.write(file, teamFile)
	before := s.cloneFiles()
	if out := s.runs(t.Context(), exit.BadUsage, console.Streams{}); !strings.Contains(out, missing) || strings.Contains(out, "SESSION") {
		t.Errorf("it says\n%s", out)
	}
	s.nothingMade(before)
	former := s.formerly(true)
	for _, args := range [][]string{nil, {"--new"}} {
		if out := s.runs(t.Context(), exit.BadUsage, console.Streams{}, args...); !strings.Contains(out, missing) {
			t.Errorf("%v of a run that has ended: %s", args, out)
		}
	}
	if e := s.only(); e.State.Identity != former.State.Identity || e.State.Seq != former.State.Seq {
		t.Error("the run was touched")
	}
}

// An interrupt at any question leaves nothing behind, and with --new the run as it was: every question
// comes before anything is made or removed.
func TestAgentsStartInterruptedAtAQuestion(t *testing.T) {
	testfull.Only(t)
	s := newShopper(t, "on_complete: [test]\n"+teamFile)
	s.write(filepath.Join(s.clone, ".agentmux", "config.yaml"), "version: 2\nsandbox: {setup: [make, deps]}\nagents: {test_command: [make, check]}\n")
	s.commit()
	before := s.cloneFiles()
	answers := []func() string{types("n\n"), types("\n"), types("n\n")}
	questions := []string{"make check", "Proceed?", "make deps"}
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	interrupted := func(n int, args ...string) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		in := append(typist{}, answers[:n]...)
		in = append(in, func() string {
			cancel(engine.Signal{Name: "interrupt"})
			<-over
			return ""
		})
		out := s.runs(ctx, exit.Canceled, console.Streams{In: &in, Terminal: true}, args...)
		if !strings.Contains(out, questions[n]) || n+1 < len(questions) && strings.Contains(out, questions[n+1]) {
			t.Errorf("at question %d: %s", n, out)
		}
		s.noneKept()
	}
	for n := range questions {
		interrupted(n)
		s.nothingMade(before)
	}
	former := s.formerly(true)
	for n := range questions {
		interrupted(n, "--new")
		if e := s.only(); e.State.Identity != former.State.Identity {
			t.Errorf("question %d: the run is another one", n)
		}
	}
}

// A command is not allowed by a yes to a start that is refused.
func TestAgentsStartAsksOnceNothingIsWrong(t *testing.T) {
	s := newShopper(t, "on_complete: [test]\n"+strings.Replace(teamFile, "branch: feature/words", "branch: main", 1))
	s.write(filepath.Join(s.clone, ".agentmux", "config.yaml"), "version: 2\nagents: {test_command: [make, check]}\n")
	s.commit()
	if out := s.runs(t.Context(), exit.BadUsage, console.Streams{In: &typist{types("y\n")}, Terminal: true}); strings.Contains(out, "make check") || !strings.Contains(out, "agents[0].branch") {
		t.Errorf("it says\n%s", out)
	}
	s.noneKept()
}

// Of two commands that start one session, the later is told of the other run, whatever that has done
// while the question waited: made the session, or replaced or continued the former one.
func TestProtocolM6ALostStart(t *testing.T) {
	const lost = "another command has started shop meanwhile"
	s := newShopper(t, teamFile)
	s.commit()
	made := func() string { s.formerly(false); return "y\n" }
	if out := s.runs(t.Context(), exit.Locked, console.Streams{In: &typist{made}, Terminal: true}); !strings.Contains(out, lost) {
		t.Errorf("made meanwhile: %s", out)
	}
	s.noneKept()
	replace := func(ended bool) session.Entry {
		if err := os.RemoveAll(s.only().Dir); err != nil {
			t.Fatal(err)
		}
		return s.formerly(ended)
	}
	for _, ended := range []bool{true, false} {
		replace(true)
		var other session.Entry
		replaced := func() string { other = replace(ended); return "y\n" }
		if out := s.runs(t.Context(), exit.Locked, console.Streams{In: &typist{replaced}, Terminal: true}, "--new"); !strings.Contains(out, lost) {
			t.Errorf("replaced meanwhile: %s", out)
		}
		if e := s.only(); e.State.Identity != other.State.Identity {
			t.Error("the run of the other command was removed")
		}
	}
	if refs := strings.Fields(s.git(s.clone, "for-each-ref", "--format=%(refname)")); !slices.Equal(refs, []string{"refs/heads/main"}) {
		t.Errorf("refs %q", refs)
	}
}
