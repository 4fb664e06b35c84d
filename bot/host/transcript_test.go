package host_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

func TestWhatAgentsPrintIsWrittenDown(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	dir, stop := r.coding()
	r.recorded(dir)
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	r.eventually("the transcript is there", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "transcripts", "2.coder.1.1.log"))
		return err == nil && strings.Contains(string(text), "submitted")
	})
}

// keyed gives the agents of a rig a key that only this program knows.
func keyed(t *testing.T) (r *rig, key string) {
	t.Helper()
	r = newRig(t, "providers: {script: {env: [SCRIPT_API_KEY]}}\n")
	key = strings.ToLower(rand.Text())
	r.host.Environ = func(name string) (string, bool) {
		if name == "SCRIPT_API_KEY" {
			return key, true
		}
		return os.LookupEnv(name)
	}
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	sc.Print = map[string]string{"coder/1": "it is " + key}
	r.script(sc)
	return r, key
}

// wrapped puts a shell script in front of a program; $it is the program, $root the
// rig's directory.
func (r *rig) wrapped(program, script string) string {
	r.t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.root, "wrapped-"+filepath.Base(path))
	text := "#!/bin/sh\nit='" + path + "' root='" + r.root + "'\n" + script + "\nexec \"$it\" \"$@\"\n"
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// recorded waits for the coder's recorder: a launch that ends before it has none.
func (r *rig) recorded(dir string) {
	r.t.Helper()
	r.eventually("the coder is recorded", func() bool {
		_, err := os.Stat(filepath.Join(dir, "transcripts", "2.coder.1.1.log"))
		return err == nil
	})
}

// written fails unless the coder's transcript comes to be, without the key.
func (r *rig) written(dir, key string) {
	r.t.Helper()
	var text []byte
	r.eventually("the transcript is there", func() bool {
		text, _ = os.ReadFile(filepath.Join(dir, "transcripts", "2.coder.1.1.log"))
		return strings.Contains(string(text), "it is ")
	})
	if strings.Contains(string(text), key) || !strings.Contains(string(text), "[redacted:provider-key]") {
		r.t.Errorf("transcript %q", text)
	}
}

// A host that was killed when the pane had its pipe, and before the process behind it or the
// agent had got anything, is followed by one that serves both.
func TestSecurity33AnAdoptedPaneKeepsItsRecorder(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, key := keyed(t)
	r.host.Self = r.wrapped(r.host.Self, `case $1.$3 in transcript.2.coder.1.1) until [ -e "$root/read" ]; do sleep 0.02; done;; esac`)
	// The state at that moment: the start of the coder is not done.
	r.host.Tmux = r.wrapped("tmux", `case "$*" in *pipe-pane*2.coder.1.1*) cp "$root"/p/.agentmux/.sessions/*/state.json "$root/before";; esac`)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	if _, err := stop(errors.New("the host is killed")); err == nil {
		t.Fatal("the run ended without an error")
	}
	if err := os.Rename(filepath.Join(r.root, "before"), filepath.Join(dir, session.StateFile)); err != nil {
		t.Fatal(err)
	}
	if n := len(r.state(dir).Pending); n == 0 {
		t.Fatal("nothing is pending")
	}
	stop = r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder is adopted", func() bool { return len(r.state(dir).Pending) == 0 })
	if err := os.WriteFile(filepath.Join(r.root, "read"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.recorded(dir)
	r.word()
	r.written(dir, key)
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if n := s.Agents["coder/1"].Attempt; n != 1 {
		t.Errorf("attempt %d", n)
	}
}

// A host that failed between the making of a pane and its pipe owes the pipe.
func TestSecurity33AnAdoptedPaneWithoutAPipeGetsOne(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, key := keyed(t)
	r.host.Tmux = r.wrapped("tmux", `case "$*" in *new-window*2.coder.1.1*) "$it" "$@"; exit 1;; esac`)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.recorded(dir)
	r.word()
	r.written(dir, key)
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
}

// A key that an agent gets looks like nothing: only this program knows it.
func TestSecurity7TheKeyOfAProviderDoesNotLeave(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, settings := range map[string]string{
		"SCRIPT_API_KEY": "providers: {script: {env: [SCRIPT_API_KEY]}}\n", "SCRIPT_PAT": "providers: {script: {env: [SCRIPT_PAT]}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keyStays(t, name, settings)
		})
	}
}

// keyStays runs an agent that tells the variable it was given in every way it has.
func keyStays(t *testing.T, variable, settings string) {
	t.Helper()
	r := newRig(t, settings)
	key := strings.ToLower(rand.Text())
	r.host.Environ = func(name string) (string, bool) {
		if name == variable {
			return key, true
		}
		return os.LookupEnv(name)
	}
	coded := base64.StdEncoding.EncodeToString([]byte("key " + key))
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	sc.Again = map[string]int{"coder/1": 2}
	sc.Ask = map[string]string{"planner": "Is it " + key + "?"}
	sc.Print = map[string]string{"coder/1": "it is " + coded + " and " + key}
	sc.Files = map[string][]string{"1": {"hello.txt=" + hex.EncodeToString([]byte(key))}}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	log := filepath.Join(dir, "transcripts", "2.coder.1.1.log")
	r.eventually("the planner asks", func() bool { return r.count(dir, orchestrator.EvQuestionAsked) == 1 })
	if _, err := command.Append(dir, orchestrator.Payload{
		Name: "answer", Args: orchestrator.CommandArgs{Text: "2"}, Actor: "me", Source: "cli", SourceID: "cli/1",
	}); err != nil {
		t.Fatal(err)
	}
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.recorded(dir)
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, "output_gate")
	r.eventually("the transcript is there", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "[redacted:provider-key]")
	})
	text, err := os.ReadFile(log)
	if err != nil || strings.Contains(string(text), key) || strings.Contains(string(text), coded) {
		t.Errorf("transcript %q, %v", text, err)
	}
	for _, name := range []string{session.EventsFile, session.StateFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(text), key) || !strings.Contains(string(text), "Is it [redacted:provider-key]?") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
