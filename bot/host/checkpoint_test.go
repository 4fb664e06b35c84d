package host_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// storeDir is the only store of the rig.
func (r *rig) storeDir() string {
	r.t.Helper()
	found, _ := filepath.Glob(filepath.Join(r.root, "s", "local", "*.git"))
	if len(found) != 1 {
		r.t.Fatalf("stores: %v", found)
	}
	return found[0]
}

// A checkpoint holds what the session can be made again from, and nothing else.
func TestACheckpointHoldsTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	groups := "  - {group_id: one, mode: serial, plans: [{index: 1, name: A}, {index: 2, name: B}]}\n"
	r.script(scenario{
		Plan: plan(groups, "a.txt", "b.txt"), Files: map[string][]string{"1": {"a.txt=1"}, "2": {"b.txt=2"}},
		Hold: map[string]bool{"coder/2": true},
	})
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the second coder runs", func() bool { return r.started(dir, "2.coder.2.1") })
	token := "ghp_" + strings.Repeat("a1B2c3D4e5", 3) + "f6G7h8"
	r.command(dir, "1", "say", orchestrator.CommandArgs{Text: "Use this:\n" + token})
	r.eventually("the message is there", func() bool { return r.count(dir, orchestrator.EvMsgQueued) == 1 })
	work := r.state(dir).Workspaces["2.2"].Path
	for name, text := range map[string]string{"half.txt": "not submitted\n", "login.txt": token + "\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{token + ".md", token + "/notes.md"} { // agents choose these names
		file := filepath.Join(dir, "06_implementation", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("notes"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("x", filepath.Join(dir, "06_implementation", "link-"+token+".md")); err != nil {
		t.Fatal(err)
	}
	s, err := stop(engine.Signal{Name: "TERM"})
	if err != nil {
		t.Fatal(err)
	}
	repo, ref := r.storeDir(), "refs/agentmux/sessions/"+r.key(dir)
	names := strings.Split(r.gitIn(repo, "ls-tree", "-r", "--name-only", ref), "\n")
	for _, want := range []string{
		"session/state.json", "session/events.jsonl", "session/tool_events.jsonl", "session/definition.yaml", "session/requirements.md",
		"session/04_planning/plan.yaml", "session/04_planning/planner_prompt.md", "session/06_implementation/done_1", "session/blobs/" + s.PlanSHA256,
		"work/2.2/README.md", "work/2.2/a.txt", "work/2.2/half.txt",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in it", want)
		}
	}
	message := "session/" + strings.TrimSuffix(s.Messages[0].File, ".md")
	for _, name := range names {
		for _, bad := range []string{"/lock", "/launches/", "/transcripts/", "runtime_state", ".log", "login.txt", "commands.jsonl", message, token} {
			if strings.Contains(name, bad) {
				t.Errorf("%s is in it", name)
			}
		}
	}
	text := r.gitIn(repo, "log", "-1", "--format=%P%n%B", ref)
	if parent, _, _ := strings.Cut(text, "\n"); parent != s.Integrated.Commit || parent == s.BaseSHA {
		t.Errorf("parent %s, integrated is %s", parent, s.Integrated.Commit)
	}
	for _, named := range []string{"work/2.2/login.txt: secret.", "session/commands.jsonl: secret.", message, "session/(a file name): secret."} {
		if !strings.Contains(text, named) {
			t.Errorf("%q is not named:\n%s", named, text)
		}
	}
	if last := r.lastEvent(dir, orchestrator.EvCheckpointSaved); strings.Contains(fmt.Sprint(text, last.Data), token) {
		t.Errorf("the secret is in the message or the record:\n%s\n%v", text, last.Data)
	}
	if out, err := exec.Command("git", "-C", repo, "grep", "-l", token, ref).CombinedOutput(); err == nil {
		t.Errorf("the secret is in %s", out)
	}
	last := r.lastEvent(dir, orchestrator.EvCheckpointSaved).Data.(orchestrator.CheckpointSavedRecord)
	if last.SHA != r.gitIn(repo, "rev-parse", ref) || last.LeftOut == nil {
		t.Errorf("record %v", last)
	}
	r.madeAgain(repo, ref, s)
}

func (r *rig) lastEvent(dir, kind string) orchestrator.Event {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range slices.Backward(events) {
		if e.Type == kind {
			return e
		}
	}
	r.t.Fatalf("no %s", kind)
	return orchestrator.Event{}
}

// madeAgain fails unless the checkpoint's files are a session that can be read.
func (r *rig) madeAgain(repo, ref string, want *orchestrator.State) {
	r.t.Helper()
	to := filepath.Join(r.root, "again", ".agentmux", ".sessions", want.SessionID)
	if err := os.MkdirAll(to, 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.gitIn(repo, "--work-tree="+to, "read-tree", ref+":session")
	r.gitIn(repo, "--work-tree="+to, "checkout-index", "--all")
	sess, err := session.Open(to)
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := sess.ReadState()
	if err != nil || got.SessionID != want.SessionID || got.Phase != want.Phase || got.PlanSHA256 != want.PlanSHA256 {
		r.t.Errorf("made again: %+v, %v", got, err)
	}
	if _, err := sess.Definition(); err != nil {
		r.t.Error(err)
	}
}
