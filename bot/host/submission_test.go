package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// long is an agents.linger that no test waits for.
const long = 10 * time.Minute

const firstCoder = orchestrator.Launch("2.coder.1.1")

// then is simple with a coder that does something after its submission.
func then(what string) scenario {
	sc := simple()
	sc.Then = map[string]string{"coder/1": what}
	return sc
}

// all returns the records of a type, in order.
func all[T any](r *rig, dir string) []T {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []T
	for _, e := range events {
		if d, ok := e.Data.(T); ok {
			list = append(list, d)
		}
	}
	return list
}

// oneLaunch fails unless the coder's only launch was taken once, and nothing of it is left.
func (r *rig) oneLaunch(dir string) {
	r.t.Helper()
	var taken []orchestrator.Launch
	for _, d := range all[orchestrator.SubmissionRecord](r, dir) {
		if d.Role == "coder" {
			taken = append(taken, d.Launch)
		}
	}
	if !slices.Equal(taken, []orchestrator.Launch{firstCoder}) {
		r.t.Errorf("submissions of %v, want %s once", taken, firstCoder)
	}
	var ends []bool
	for _, d := range all[orchestrator.AgentExitedRecord](r, dir) {
		if d.Launch == firstCoder {
			ends = append(ends, d.Expected)
		}
	}
	if !slices.Equal(ends, []bool{true}) {
		r.t.Errorf("ends of the coder: %v, want one that is expected", ends)
	}
	if s := r.state(dir); s.Agents["coder/1"].Attempt != 1 || len(s.Leaving) > 0 {
		r.t.Errorf("agent %+v, leaving %v", s.Agents["coder/1"], s.Leaving)
	}
	r.noneLeft()
}

// late fails unless the paths that a launch wrote after its submission are in one record and
// below the ref that it names, and what was submitted is all of the commit.
func (r *rig) late(s *orchestrator.State, dir string, paths ...string) {
	r.t.Helper()
	records := all[orchestrator.LateChangesRecord](r, dir)
	ref := "refs/agentmux/preserved/" + r.key(dir) + "/late/" + string(firstCoder)
	if len(records) != 1 || records[0].Launch != firstCoder || records[0].Ref != ref || !slices.Equal(records[0].Paths, paths) {
		r.t.Fatalf("late changes %+v, want %q in %s", records, paths, ref)
	}
	for _, path := range paths {
		if got := r.gitIn(r.storeDir(), "show", ref+":"+path); got != "later" {
			r.t.Errorf("%s holds %q below %s", path, got, ref)
		}
	}
	r.helloOnly(s)
}

// helloOnly fails unless the commit has what the simple coder submits.
func (r *rig) helloOnly(s *orchestrator.State) {
	r.t.Helper()
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt" {
		r.t.Errorf("files: %q", got)
	}
	if got := r.git("show", s.FeatureBranch+":a.txt"); got != "hello" {
		r.t.Errorf("a.txt: %q", got)
	}
	for _, commit := range strings.Fields(r.gitIn(r.storeDir(), "rev-list", "refs/agentmux/integration/"+s.SessionID+"-"+s.Identity)) {
		if got := r.gitIn(r.storeDir(), "ls-tree", "--name-only", commit); strings.Contains(got, lateFile) {
			r.t.Errorf("the late file is in %s", commit)
		}
	}
}

// What an agent writes after its submission is in no commit. It is kept and named, and no process
// of the agent is left.
func TestProtocolC8WhatIsWrittenAfterTheSubmissionIsLate(t *testing.T) {
	t.Parallel()
	for what, paths := range map[string][]string{
		thenWrites: {"a.txt", lateFile},
		thenForks:  {lateFile},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.script(then(what))
			dir := r.prepare(quick)
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			r.late(s, dir, paths...)
			r.oneLaunch(dir)
			if left := names(t, filepath.Join(r.root, "s", "workspaces", r.key(dir))); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// An agent that is killed before it hears the answer has submitted, and one that ignores TERM is
// killed: neither is started again.
func TestProtocolC14ALaunchThatEndsInAnyWayHasSubmitted(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for _, what := range []string{thenDies, thenDeaf, thenStays} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.script(then(what))
			dir := r.prepare(quick)
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			r.helloOnly(s)
			r.oneLaunch(dir)
			if n := r.count(dir, orchestrator.EvLateChanges); n > 0 {
				t.Errorf("%d records of late changes", n)
			}
		})
	}
}

// A leaving agent that submits again hears that it has, and one that asks that the session has
// gone on: nothing comes of either.
func TestProtocolC14ALeavingAgentIsHeardNoMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for what, want := range map[string]heard{
		thenRepeats: {OK: true, Text: "already submitted"},
		thenAsks:    {Text: "refused"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.config.Agents.Linger = long
			sc := then(what)
			sc.Hold = map[string]bool{"reviewer_logic": true} // the end of the session would end the coder
			r.script(sc)
			dir := r.prepare(quick)
			stop := r.background(host.RunSpec{Dir: dir})
			r.eventually("both calls are answered", func() bool { return len(r.answers(firstCoder)) == 2 })
			r.word()
			s, err := stop(nil)
			if err != nil {
				t.Fatal(err)
			}
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			answers := r.answers(firstCoder)
			if !answers[0].OK || !strings.HasPrefix(answers[0].Text, "submitted") || answers[1].OK != want.OK || !strings.HasPrefix(answers[1].Text, want.Text) {
				t.Errorf("answers %+v", answers)
			}
			if len(s.Questions) > 0 {
				t.Errorf("questions %+v", s.Questions)
			}
			r.helloOnly(s)
			r.oneLaunch(dir)
		})
	}
}

// The next agent works beside one that leaves, in another workspace and another home, and the end
// of the session waits for none of them.
func TestProtocolC14TheNextAgentStartsBesideALeavingOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.config.Agents.Linger = long
	sc := scenario{
		Plan:  plan("  - {group_id: one, mode: serial, plans: [{index: 1, name: A}, {index: 2, name: B}]}\n", "a.txt", "b.txt"),
		Files: map[string][]string{"1": {"a.txt=hello"}, "2": {"b.txt=world"}},
		Hold:  map[string]bool{"coder/2": true},
		Then:  map[string]string{"coder/1": thenStays, "coder/2": thenStays, "reviewer_logic": thenStays},
	}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	const second = orchestrator.Launch("2.coder.2.1")
	r.eventually("the second coder runs", func() bool { return r.started(dir, second) })
	if got := r.launches(dir); !slices.Contains(got, firstCoder) || !slices.Contains(got, second) {
		t.Errorf("panes of %v, want both coders", got)
	}
	if l, ok := r.state(dir).Leaving[firstCoder]; !ok || l.Workspace != "2.1" || l.Tree == "" {
		t.Errorf("leaving: %+v", r.state(dir).Leaving)
	}
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("files: %q", got)
	}
	one, two := r.player(firstCoder), r.player(second)
	if one.Dir == two.Dir || one.Home == two.Home {
		t.Errorf("both coders in %s and %s, at home in %s and %s", one.Dir, two.Dir, one.Home, two.Home)
	}
	r.besideItself(dir, "3.reviewer_logic.1", "3.reviewer_logic.2")
	r.noneLeft()
}

// besideItself fails unless the second launch of a key was at work while the first was leaving,
// in a home of its own.
func (r *rig) besideItself(dir string, first, second orchestrator.Launch) {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	var submitted, ended int
	for _, e := range events {
		switch d := e.Data.(type) {
		case orchestrator.SubmissionRecord:
			if d.Launch == second {
				submitted = e.Seq
			}
		case orchestrator.AgentExitedRecord:
			if d.Launch == first {
				ended = e.Seq
			}
		}
	}
	if submitted == 0 || ended < submitted {
		r.t.Errorf("%s ended at record %d, %s submitted at record %d", first, ended, second, submitted)
	}
	if one, two := r.player(first), r.player(second); one.Home == two.Home {
		r.t.Errorf("%s and %s are both at home in %s", first, second, one.Home)
	}
}

var errKilled = errors.New("killed")

// A submission while no host runs is on disk. The next host takes it: nobody has waited for the
// answer that long, so that the launch ends first and all that it wrote counts.
func TestProtocolJ11ASubmissionWithoutAHostIsTakenByTheNextOne(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for _, what := range []string{"", thenOld} {
		t.Run("then "+what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			sc := then(what)
			sc.Hold = map[string]bool{"coder/1": true}
			r.script(sc)
			dir := r.prepare(quick)
			stop := r.background(host.RunSpec{Dir: dir})
			r.eventually("the coder runs", func() bool { return r.started(dir, firstCoder) })
			r.eventually("at rest", func() bool { return len(r.state(dir).Pending) == 0 })
			if _, err := stop(errKilled); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			r.word()
			r.eventually("the coder is answered", func() bool { return len(r.answers(firstCoder)) == 1 })
			if a := r.answers(firstCoder)[0]; !a.OK || !strings.HasPrefix(a.Text, "recorded: ") {
				t.Errorf("answer %+v", a)
			}
			if what == thenOld {
				file := filepath.Join(r.player(firstCoder).Dir, lateFile)
				r.eventually("the coder writes on", func() bool { _, err := os.Lstat(file); return err == nil })
			}
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			r.oneLaunch(dir)
			if n := r.count(dir, orchestrator.EvLateChanges); n > 0 {
				t.Errorf("%d records of late changes", n)
			}
			if what == "" {
				r.helloOnly(s)
			} else if got := r.git("show", s.FeatureBranch+":a.txt") + r.git("show", s.FeatureBranch+":"+lateFile); got != "laterlater" {
				t.Errorf("the commit holds %q", got)
			}
		})
	}
}

// A host that is killed while a launch leaves has the next one adopt it, end it, and keep what it
// wrote.
func TestProtocolC14TheNextHostEndsALeavingLaunch(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.config.Agents.Linger = long
	sc := then(thenWrites)
	sc.Hold = map[string]bool{"reviewer_logic": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the reviewer runs beside the coder", func() bool {
		return r.started(dir, "3.reviewer_logic.1") && slices.Contains(r.launches(dir), firstCoder)
	})
	if _, err := stop(errKilled); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if got := r.launches(dir); !slices.Contains(got, firstCoder) {
		t.Fatalf("panes of %v: the coder did not outlive its host", got)
	}
	r.config.Agents.Linger = 200 * time.Millisecond
	stop = r.background(host.RunSpec{Dir: dir})
	r.eventually("what came late is kept", func() bool { return r.count(dir, orchestrator.EvLateChanges) == 1 })
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	r.late(s, dir, "a.txt", lateFile)
	r.oneLaunch(dir)
	if a := s.Agents["reviewer_logic"]; a.Attempt != 2 || a.Retries != 0 {
		t.Errorf("the reviewer was started again: %+v", a) // the second launch writes the summary
	}
}

// A refusal is in the tool's answer; the agent mends its work in the same turn and is taken.
func TestProtocolP20ARefusalIsMendedInTheSameTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content string
		want          string // in the answer
	}{
		"scope":  {"other.txt", "x", "- other.txt does not belong to this subplan"},
		"path":   {".github/workflows/x.yml", "x", ".github/workflows/x.yml"},
		"secret": {"login.txt", "ghp_" + strings.Repeat("a1B2c3D4e5", 3) + "f6G7h8", "login.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "path" {
				testfull.Only(t) // the gate refuses it as it does the secret
			}
			r := newRig(t, "")
			if name == "scope" {
				r.config.Implement.ScopePolicy = "fail"
			}
			sc := simple()
			sc.Files["1"] = append(sc.Files["1"], c.file+"="+c.content)
			sc.Again = map[string]int{"coder/1": 1}
			sc.Mend = map[string][]string{"coder/1": {"-" + c.file}}
			r.script(sc)
			dir := r.prepare(quick)
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			r.refusals(dir, 1, 1)
			answers := r.answers(firstCoder)
			if len(answers) != 2 || answers[0].OK || !strings.Contains(answers[0].Text, c.want) || !answers[1].OK {
				t.Errorf("answers %+v", answers)
			}
			if text := fmt.Sprint(answers); len(c.content) > 1 && strings.Contains(text, c.content) {
				t.Errorf("the secret is in an answer: %s", text)
			}
			if len(s.Messages) > 0 {
				t.Errorf("messages: %+v", s.Messages) // the tool has said it
			}
			r.helloOnly(s)
			r.oneLaunch(dir)
		})
	}
}

// A file that may not be taken is named in the answer, and the session continues without it.
func TestAFileThatIsTooLargeIsLeftOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Holes = map[string][]hole{"1": {{"dump.bin", 70}}}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	const want = "dump.bin is left out: it stays as it was"
	if a := r.answers(firstCoder); len(a) != 1 || !a[0].OK || !strings.Contains(a[0].Text, want) {
		t.Errorf("answers %+v", a)
	}
	for _, d := range all[orchestrator.SubmissionRecord](r, dir) {
		if d.Launch == firstCoder && !slices.Equal(d.Warnings, []string{want}) {
			t.Errorf("warnings %q", d.Warnings)
		}
	}
	r.helloOnly(s)
	r.oneLaunch(dir)
}

// Work of 200 MB is refused in the answer, with what is too large, and taken once that is gone.
func TestAnAgentThatSubmits200MBMendsItInTheSameTurn(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	for _, name := range []string{"1.bin", "2.bin", "3.bin", "4.bin"} {
		sc.Holes = map[string][]hole{"1": append(sc.Holes["1"], hole{name, 50})}
		sc.Mend = map[string][]string{"coder/1": append(sc.Mend["coder/1"], "-"+name)}
	}
	sc.Again = map[string]int{"coder/1": 1}
	r.script(sc)
	dir := r.prepare(quick)
	s := r.run(host.RunSpec{Dir: dir})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	answers := r.answers(firstCoder)
	if len(answers) != 2 || answers[0].OK || !strings.Contains(answers[0].Text, "bytes added, at most 20971520") || !answers[1].OK {
		t.Errorf("answers %+v", answers)
	}
	r.refusals(dir, 1, 1)
	r.helloOnly(s)
	r.oneLaunch(dir)
}
