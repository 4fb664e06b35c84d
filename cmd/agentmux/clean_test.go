package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// shelf is a project with sessions that were made by hand.
type shelf struct {
	*rig
	t *testing.T
}

func newShelf(t *testing.T) *shelf { return &shelf{newRig(t, rigOptions{}), t} }

// put makes a session of some kilobytes that was last touched some hours ago.
func (s *shelf) put(name, phase string, hours, kilobytes int) string {
	s.t.Helper()
	dir := filepath.Join(session.Dir(s.clone), name)
	st := orchestrator.NewState()
	st.SessionID, st.Phase = name, phase
	if phase == orchestrator.PhaseDone {
		st.Outcome = orchestrator.OutcomeDone
	}
	st.BaseSHA = s.git(s.clone, "rev-parse", "HEAD")
	st.UpdatedAt = time.Now().Add(-time.Duration(hours) * time.Hour).UTC().Format(time.RFC3339)
	st.Identity, st.Noted = session.NewIdentity(), session.NewSecret()
	data, err := json.Marshal(st)
	if err == nil {
		err = s.noteMade(st.Identity, st.Noted, dir)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join(dir, session.StateFile), string(data))
	s.write(filepath.Join(dir, "ballast"), strings.Repeat("x", kilobytes<<10))
	return dir
}

// names lists what is in the directory of sessions.
func (s *shelf) names() string {
	s.t.Helper()
	entries, err := os.ReadDir(session.Dir(s.clone))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// age makes a path look as if it had not changed for some time.
func (s *shelf) age(path string, by time.Duration) {
	s.t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(path, at, at); err != nil {
		s.t.Fatal(err)
	}
}

func TestCleanKeepsWhatIsYoungSmallOrNotEnded(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	fill := func(t *testing.T) *shelf {
		s := newShelf(t)
		s.put("c-old", orchestrator.PhaseDone, 300, 500)
		s.put("b-older", orchestrator.PhaseFailed, 400, 500)
		s.put("a-young", orchestrator.PhaseDone, 2, 500)
		s.put("d-parked", "implementing", 500, 500)
		return s
	}
	all := "a-young b-older c-old d-parked"
	cases := []struct {
		args []string
		code int
		left string
	}{
		{nil, exit.BadUsage, all}, // nobody to ask
		{[]string{"--force", "--max-size", "much"}, exit.BadUsage, all},
		{[]string{"--force", "--older-than", "500h"}, exit.Done, all},
		{[]string{"--force", "--older-than", "7d"}, exit.Done, "a-young d-parked"},
		{[]string{"--force", "--max-size", "1 GB"}, exit.Done, all},
		{[]string{"--force", "--max-size", "1600 kB"}, exit.Done, "a-young c-old d-parked"},
		{[]string{"--force", "--max-size", "1 kB", "--older-than", "168h"}, exit.Done, "a-young d-parked"},
		{[]string{"--force", "--max-size", "1 kB"}, exit.Done, "d-parked"},
		{[]string{"--force"}, exit.Done, "d-parked"},
	}
	for _, c := range cases {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			s := fill(t)
			s.expect(c.code, append([]string{"clean"}, c.args...)...)
			if got := s.names(); got != c.left {
				t.Errorf("left: %s; want %s", got, c.left)
			}
		})
	}
}

// TestCleanLeavesWhatGitHubDoesNotShowYet has four sessions that ended, of which one has no
// issue to show it on and one is shown.
func TestCleanLeavesWhatGitHubDoesNotShowYet(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	s := newShelf(t)
	s.put("silent", orchestrator.PhaseDone, 300, 1)
	for name, phase := range map[string]string{"owed": orchestrator.PhaseDone, "owed-failed": orchestrator.PhaseFailed, "shown": orchestrator.PhaseDone} {
		dir := s.put(name, phase, 300, 1)
		state := filepath.Join(dir, session.StateFile)
		s.write(state, strings.Replace(s.read(state), "{", `{"mirror":true,`, 1))
		if name == "shown" {
			s.write(filepath.Join(dir, session.MirrorFile), `{"version":1,"shown_seq":0}`)
		}
	}
	if out := s.expect(exit.Done, "clean", "--older-than", "500h"); strings.Contains(out.err, "owed") {
		t.Errorf("said of what is too young: %s", out.err)
	}
	asked := s.terminal("clean")
	screen := asked.shows("Remove 2 sessions")
	for _, want := range []string{"owed stays", "agentmux resume owed ", "owed-failed stays", "agentmux resume owed-failed "} {
		if !strings.Contains(screen, want) {
			t.Errorf("lacks %q:\n%s", want, screen)
		}
	}
	asked.press("y", "Enter")
	s.eventually("the sessions are removed", func() bool { return s.names() == "owed owed-failed" }, s.names)
	s.expect(exit.Done, "clean", "--force")
	if got := s.names(); got != "" {
		t.Errorf("left with --force: %s", got)
	}
}

func TestCleanLeavesARunningSession(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dir := s.put("running", orchestrator.PhaseDone, 300, 1)
	sess, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := sess.Lock(0); err != nil {
		t.Fatal(err)
	}
	s.expect(exit.Done, "clean", "--force")
	if got := s.names(); got != "running" {
		t.Errorf("left: %s", got)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	s.expect(exit.Done, "clean", "--force")
	if got := s.names(); got != "" {
		t.Errorf("left: %s", got)
	}
}

func TestCleanRemovesWhatInterruptedCommandsLeft(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	parked := s.put("parked", "implementing", 300, 1)
	old, young := session.Dir(s.clone)+"/x.tmp-1", session.Dir(s.clone)+"/y.tmp-2"
	stale, fresh, named := parked+"/.state.json.tmp-abcdefghijklm", parked+"/.state.json.tmp-bcdefghijklmn", parked+"/notes.tmp-abcdefghijklm"
	outside := filepath.Join(s.dir, ".state.json.tmp-abcdefghijklm")
	for _, path := range []string{old + "/state.json", young + "/state.json", stale, fresh, named, outside} {
		s.write(path, "x")
	}
	if err := os.Symlink(s.dir, filepath.Join(parked, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, stale, named, outside} {
		s.age(path, 2*time.Hour)
	}
	s.expect(exit.Done, "clean", "--force")
	if got := s.names(); got != "parked y.tmp-2" {
		t.Errorf("left: %s", got)
	}
	for path, want := range map[string]bool{stale: false, fresh: true, named: true, outside: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", path, err, want)
		}
	}
}

// TestCleanAfterARealRun has git forget what a finished session made, but not its branch.
func TestCleanAfterARealRun(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.quick(0)
	e := r.session()
	out := r.expect(0, "clean", "--force")
	if !strings.Contains(out.out, e.Name) || len(r.sessions()) != 0 {
		t.Errorf("%d sessions; said %s%s", len(r.sessions()), out.out, out.err)
	}
	repos, err := filepath.Glob(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "*", "acme", "widgets.git"))
	if err != nil || len(repos) != 1 {
		t.Fatalf("stores %q, %v", repos, err)
	}
	if refs := r.git(repos[0], "for-each-ref", "--format=%(refname)"); strings.Contains(refs, e.Name) {
		t.Errorf("refs that stay:\n%s", refs)
	}
	for _, place := range []string{"homes", "workspaces"} {
		entries, err := os.ReadDir(filepath.Join(r.dir, "home", ".local", "state", "agentmux", place))
		if err == nil && len(entries) > 0 {
			t.Errorf("%s: %s is left", place, entries[0].Name())
		}
	}
	if pulls := r.github.Repo(rigRepo).Pulls(); len(pulls) != 1 {
		t.Errorf("%d pull requests", len(pulls))
	}
	again := r.expect(0, "clean", "--force")
	if want := "nothing to remove"; !strings.Contains(fmt.Sprint(again), want) {
		t.Errorf("again: %s%s", again.out, again.err)
	}
}

// A session whose state is garbage is stopped all the same, and stays.
func TestACorruptSessionCanBeEnded(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dir := s.put("broken", "implementing", 300, 1)
	state := filepath.Join(dir, session.StateFile)
	s.write(state, "{\x00garbage")
	for _, args := range [][]string{{"stop", "broken"}, {"clean", "--force"}} {
		if out := s.expect(exit.Done, args...); !strings.Contains(out.err, "0 processes of its agents and its tmux server are ended; its files stay: broken is corrupt") {
			t.Errorf("%q: %s", args, out.err)
		}
	}
	if s.names() != "broken" || s.read(state) != "{\x00garbage" {
		t.Errorf("left %s", s.names())
	}
	s.lock(dir)
	if out := s.agentmux("stop", "broken"); !strings.Contains(out.err, "recorded; the session's host has not ended yet") {
		t.Error(out.err)
	}
	if line := s.read(filepath.Join(dir, session.Commands)); !strings.Contains(line, `"name":"stop"`) {
		t.Error(line)
	}
}

// An overtaken directory of which it cannot be said what is kept of it stays, and so does a young one.
func TestCleanKeepsAnOvertakenDirectoryWhoseWorkItCannotName(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dir := s.put("a", orchestrator.PhaseFailed, 400, 1)
	if err := os.Rename(dir, dir+".overtaken-1"); err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(dir+".overtaken-2", "ballast"), "x")
	if res := s.expect(0, "clean", "--force", "--older-than", "1h"); !strings.Contains(res.err, "nothing to remove") {
		t.Errorf("%s%s", res.out, res.err)
	}
	res := s.expect(0, "clean", "--force")
	if got := s.names(); got != "a.overtaken-2" || !strings.Contains(res.err, "a.overtaken-2 stays: ") || !strings.Contains(res.err, "removed 1 overtaken directory") {
		t.Errorf("left %q\n%s%s", got, res.out, res.err)
	}
}
