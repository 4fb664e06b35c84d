package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// trialPlaybook is what a CLI does that understands the task of a test of its provider.
const trialPlaybook = `version: 1
agents:
  - role: build
    task: trial
    steps:
      - expect: percent 250
      - submit: {tool: report_status, with: {message: hello, percent: 250}, refused: true}
      - write: {file: answer.txt, text: "percent: expected 0 to 100, found 250\n"}
      - submit: {tool: report_status, with: {message: hello, percent: 25}}
      - submit: {tool: submit_done}
`

const trialConfig = "sandbox: {unsafe_flags: true}\n"

// hangs is a playbook of a CLI that does nothing.
const hangs = "version: 1\nagents:\n  - steps:\n      - say: I think.\n      - hang: true\n"

// tried returns the rows of a test of a provider by their names, and its exit code.
func (r *rig) tried(name string, more ...string) (rows map[string]doctor.Probe, res result) {
	r.t.Helper()
	res = r.agentmux(append([]string{"providers", "test", name, "--yes", "--json"}, more...)...)
	var list []doctor.Probe
	if err := json.Unmarshal([]byte(res.out), &list); err != nil {
		r.t.Fatalf("exit %d, %v\n%s%s", res.code, err, res.out, res.err)
	}
	rows = map[string]doctor.Probe{}
	for _, row := range list {
		rows[row.Name] = row
	}
	return rows, res
}

// trials is the directory of the tests of providers.
func (r *rig) trials() string {
	return filepath.Join(r.dir, "home", ".local", "state", "agentmux", "trials")
}

func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	if err := await(done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// nothingTried fails if something is left of a test of a provider.
func (r *rig) nothingTried() {
	r.t.Helper()
	state := filepath.Join(r.dir, "home", ".local", "state", "agentmux")
	for _, pattern := range []string{"trials/*", "local/*.git", "homes/*", "sessions/*", "made/*.json"} {
		if left, err := filepath.Glob(filepath.Join(state, pattern)); err != nil || len(left) > 0 {
			r.t.Errorf("left: %v %v", left, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, "r", "agentmux", "*.sock")); len(left) > 0 {
		r.t.Errorf("sockets: %v", left)
	}
	if left := r.processes(); len(left) > 0 {
		r.t.Errorf("processes: %q", left)
	}
}

// The test of a provider takes the road of a launch and says what worked. It leaves nothing, and the project
// that it is called in is as before.
func TestAProviderIsTested(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, flags := range map[string][]string{"headless": {"--headless"}, "at a terminal": {"--tui"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: trialPlaybook, config: trialConfig})
			before := r.cloneFiles()
			rows, res := r.tried("script", flags...)
			if res.code != exit.Done {
				t.Errorf("exit %d\n%s%s", res.code, res.out, res.err)
			}
			for _, name := range []string{"program", "start", "task", "tools", "refusal", "submission", "nothing left"} {
				if rows[name].State != doctor.OK {
					t.Errorf("%s: %+v", name, rows[name])
				}
			}
			if !strings.Contains(rows["start"].Detail, name) {
				t.Errorf("start: %+v", rows["start"])
			}
			if diff := changed(before, r.cloneFiles()); diff != "" {
				t.Errorf("the clone changed: %s", diff)
			}
			r.nothingTried()
		})
	}
}

// What does not work is a row with the next step, and the exit code asks for a person.
func TestAProviderThatFailsItsTest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		provider, playbook, config string
		flags                      []string
		row, detail, hint          string
		says, key                  string
	}{
		"no program": {
			provider: "mine", config: "  mine: {command: not-here}\n" + trialConfig,
			row: "program", detail: "not-here is not in PATH", hint: "install it",
		},
		"no login": {
			provider: "qwen", config: trialConfig,
			row: "start", detail: "no login: set OPENAI_API_KEY", hint: "again",
		},
		"not allowed": {provider: "qwen", key: rand.Text(), row: "start", detail: "unsafe_flags", hint: "again"},
		"never submits": {
			provider: "script", playbook: hangs, config: trialConfig, flags: []string{"--limit", "3s", "--headless"},
			row: "submission", detail: "3s were over", hint: "last lines", says: "  I think.",
		},
		"ends": {
			provider: "script", playbook: "version: 1\nagents:\n  - steps:\n      - say: I am done.\n", config: trialConfig, flags: []string{"--headless"},
			row: "submission", detail: "did not submit", hint: "last lines", says: "  I am done.",
		},
		"does not understand a refusal": {
			provider: "script", playbook: "version: 1\nagents:\n  - steps:\n      - write: {file: answer.txt, text: done}\n      - submit: {tool: submit_done}\n", config: trialConfig,
			row: "refusal", detail: "without correcting", hint: "another version",
		},
		"shows a dialog": {
			provider: "script", config: "sandbox: {unsafe_flags: true}\n",
			playbook: "version: 1\nagents:\n  - steps:\n      - say: Run this command?\n      - say: '> yes'\n      - say: '  no'\n      - hang: true\n",
			flags:    []string{"--tui", "--config", "dialogs.yaml"},
			row:      "submission", detail: "dialog", hint: "last lines",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: c.playbook, config: c.config})
			r.write(filepath.Join(r.clone, "dialogs.yaml"), "version: 2\nproviders: {script: {dialogs: [{text: 'Run this command?', choices: [{label: 'yes', keys: [Enter]}, {label: 'no', keys: [Escape]}]}]}}\n")
			r.setEnv("OPENAI_API_KEY", c.key)
			program := filepath.Join(r.dir, "bin", "qwen") // which knows every flag of the entry, and does nothing
			r.write(program, "#!/bin/sh\necho 0.15.10 --prompt-interactive --output-format --yolo --model --resume --exclude-tools\n")
			if err := os.Chmod(program, 0o700); err != nil {
				t.Fatal(err)
			}
			r.setEnv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
			rows, res := r.tried(c.provider, c.flags...)
			row := rows[c.row]
			if res.code != exit.NeedsHuman || row.State != doctor.Failed || !strings.Contains(row.Detail, c.detail) || !strings.Contains(row.Hint, c.hint) {
				t.Errorf("exit %d, %+v\n%s%s", res.code, row, res.out, res.err)
			}
			if c.says != "" && !strings.Contains(res.err, c.says) {
				t.Errorf("no %q in %s", c.says, res.err)
			}
			r.nothingTried()
		})
	}
}

// A service that refuses more ends the test, with the time, and its cool-down holds for the next one, too: that starts nothing.
func TestAProviderThatRefusesMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{config: trialConfig})
	program := filepath.Join(r.dir, "bin", "qwen")
	begun := filepath.Join(r.dir, "begun")
	r.write(program, "#!/bin/sh\ncase $1 in --version|--help) echo 0.15.10 --prompt-interactive --output-format --yolo --model --resume --exclude-tools; exit ;; esac\n"+
		"echo x >>"+begun+"\necho '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"[API Error: 429 Rate limit exceeded, try again in 2 hours]\"}'\nexit 1\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	r.setEnv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	r.setEnv("OPENAI_API_KEY", rand.Text())
	rows, res := r.tried("qwen", "--headless")
	row := rows["submission"]
	if res.code != exit.NeedsHuman || row.State != doctor.Failed || !strings.Contains(row.Detail, "did not submit: its service refuses more until about") || !strings.Contains(row.Hint, "when that is over") {
		t.Errorf("exit %d, %+v\n%s%s", res.code, row, res.out, res.err)
	}
	if !strings.Contains(res.err, "Rate limit exceeded") {
		t.Errorf("its last lines are not shown:\n%s", res.err)
	}
	rows, res = r.tried("qwen", "--headless")
	if row := rows["start"]; res.code != exit.NeedsHuman || row.State != doctor.Failed || !strings.Contains(row.Detail, "it was not started: its service refuses more until about") {
		t.Errorf("while it cools down: exit %d, %+v\n%s%s", res.code, row, res.out, res.err)
	}
	if text := r.read(begun); text != "x\n" {
		t.Errorf("its program was started as %q", text)
	}
	r.nothingTried()
}

// At a terminal the person is asked first, and the program has a terminal of its own.
func TestAProviderIsTestedWithAPerson(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: trialPlaybook})
	over := func(at *terminal) {
		t.Helper()
		at.shows("ended with 0")
		if err := at.server.KillServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		within(t, "the terminal is there", func() bool { return len(r.processes()) == 0 })
		r.nothingTried()
	}
	sits := func() *terminal {
		t.Helper()
		return r.pane([]string{"/bin/sh", "-c", `"$@"; echo "ended with $?"; sleep 60`, "sh", r.own(), "providers", "test", "script"})
	}
	refused := sits()
	refused.shows("Proceed? [Y/n]")
	refused.press("n", "Enter")
	over(refused)
	agreed := sits()
	if screen := agreed.shows("Proceed? [Y/n]"); !strings.Contains(screen, "its model is asked about six times") {
		t.Errorf("it does not say what that spends:\n%s", screen)
	}
	agreed.press("Enter")
	screen := agreed.shows("nothing failed")
	for _, words := range []string{"watches it", "in a pane of its own, at a terminal", "it read a refused call and corrected it", "its work was taken", "no process of it runs"} {
		if !strings.Contains(screen, words) {
			t.Errorf("no %q:\n%s", words, screen)
		}
	}
	over(agreed)
}

// killedWhole kills a test of a provider with the process that would remove it.
func (r *rig) killedWhole(b *background) {
	r.t.Helper()
	for _, line := range r.processes() {
		if pid, words, _ := strings.Cut(line, " "); strings.Contains(words, " session sweep ") {
			n, err := strconv.Atoi(pid)
			if err == nil {
				err = syscall.Kill(n, syscall.SIGKILL)
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
	b.exit(syscall.SIGKILL)
	if left, _ := filepath.Glob(filepath.Join(r.trials(), "*")); len(left) != 1 {
		r.t.Fatalf("left for the next one: %v", left)
	}
}

// A test of a provider that is stopped or killed while its CLI is at work leaves nothing, nor does one
// whose helper was killed, too: the next one removes it.
func TestATestOfAProviderIsKilled(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, kill := range map[string]func(r *rig, b *background){
		"interrupted": func(r *rig, b *background) {
			if code := b.exit(syscall.SIGINT); code != exit.Canceled {
				r.t.Errorf("exit %d\n%s", code, b.out.String())
			}
		},
		"killed": func(_ *rig, b *background) { b.exit(syscall.SIGKILL) },
		"killed with its helper": func(r *rig, b *background) {
			r.killedWhole(b)
			r.write(filepath.Join(r.dir, "playbook.yaml"), trialPlaybook)
			if _, res := r.tried("script"); res.code != exit.Done {
				r.t.Errorf("the next one: exit %d\n%s%s", res.code, res.out, res.err)
			}
		},
		"killed with its helper, its session damaged": func(r *rig, b *background) {
			r.killedWhole(b)
			states, _ := filepath.Glob(filepath.Join(r.trials(), "*", "work", "scratch", ".agentmux", ".sessions", "trial", session.StateFile))
			homes, _ := filepath.Glob(filepath.Join(r.trials(), "..", "homes", "trial-*"))
			if len(states) != 1 || len(homes) != 1 {
				r.t.Fatalf("states %q, homes %q", states, homes)
			}
			r.write(states[0], "{")
			r.write(filepath.Join(r.dir, "playbook.yaml"), trialPlaybook)
			if _, res := r.tried("script"); res.code != exit.Done {
				r.t.Errorf("the next one: exit %d\n%s%s", res.code, res.out, res.err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: hangs, config: trialConfig})
			b := r.background("providers", "test", "script", "--yes", "--headless")
			var sess string
			within(t, "the CLI is not at work", func() bool {
				found, _ := filepath.Glob(filepath.Join(r.trials(), "*", "work", "scratch", ".agentmux", ".sessions", "trial", session.TranscriptsDir, "*"))
				if len(found) == 1 {
					text, _ := os.ReadFile(found[0])
					sess = filepath.Dir(filepath.Dir(found[0]))
					return strings.Contains(string(text), "I think.")
				}
				return false
			})
			kill(r, b)
			within(t, "something is left", func() bool {
				_, err := os.Lstat(sess)
				left, _ := filepath.Glob(filepath.Join(r.trials(), "*"))
				return errors.Is(err, fs.ErrNotExist) && len(left) == 0 && len(r.processes()) == 0
			})
			r.nothingTried()
		})
	}
}
