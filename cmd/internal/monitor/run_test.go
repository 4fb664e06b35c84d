package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/monitor"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// shown is the directory whose session this binary shows instead of testing.
const shown = "MONITOR_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(shown); dir != "" {
		code := show(dir)
		if err := os.WriteFile(filepath.Join(os.Getenv(shown+"_BASE"), "ended"), []byte(strconv.Itoa(code)), 0o600); err != nil {
			code = 72
		}
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

// show runs the monitor with keys from the FIFO "keys" and commands into "sent",
// both beside the project.
func show(dir string) int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	base := os.Getenv(shown + "_BASE")
	in, err := os.OpenFile(filepath.Join(base, "keys"), os.O_RDWR, 0)
	if err != nil {
		return 70
	}
	err = monitor.Run(ctx, monitor.Options{Dir: dir, In: in, Out: os.Stdout, Sandbox: "runner (of a test)", Send: func(p orchestrator.Payload) (string, error) {
		data, err := json.Marshal(p)
		if err != nil {
			return "", err
		}
		return "done", os.WriteFile(filepath.Join(base, "sent"), data, 0o600)
	}})
	if err != nil {
		return 71
	}
	return 0
}

func newSession(t *testing.T, base string) *session.Session {
	t.Helper()
	_, def, problems := workflows.Load("feature", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(session.CreateSpec{
		Project: filepath.Join(base, "project"), Now: noon, Source: "Refuse expired tokens", Request: "Refuse expired tokens.",
		Definition: def, State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseBranch: "main", BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// rewrite changes the state as a host's commit would.
func rewrite(t *testing.T, s *session.Session, change func(*orchestrator.State)) {
	t.Helper()
	state, err := s.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	change(state)
	data, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(session.StateFile, data); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// stage is a monitor in a pane of a real tmux.
type stage struct {
	t      *testing.T
	base   string
	server *tmux.Server
	pane   string
}

func newStage(t *testing.T, base, dir string, env ...string) *stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(base, "keys"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := tmux.New(tmux.Options{Socket: filepath.Join(base, "t", "s.sock"), Tags: []string{"@role"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.KillServer(context.Background()); err != nil {
			t.Errorf("kill server: %v", err)
		}
	})
	_, err = server.Ensure(t.Context(), tmux.SessionSpec{Name: "m", Width: 60, Height: 40, Window: tmux.WindowSpec{
		Name: "control", Command: []string{self}, Dir: base, Options: map[string]string{"@role": "control"},
		Env: append(env, shown+"="+dir, shown+"_BASE="+base),
	}})
	if err != nil {
		t.Fatal(err)
	}
	panes, err := server.Panes(t.Context())
	if err != nil || len(panes) != 1 {
		t.Fatalf("panes: %v, %v", panes, err)
	}
	return &stage{t: t, base: base, server: server, pane: panes[0].ID}
}

func (s *stage) shows(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		eventually(s.t, "the monitor shows "+text, func() bool {
			screen, err := s.server.Capture(s.t.Context(), s.pane, 0)
			return err == nil && strings.Contains(screen, text)
		})
	}
}

func (s *stage) press(keys string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.base, "keys"), os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends asks the program itself: tmux 3.3 may miss the end of a child.
func (s *stage) ends() {
	s.t.Helper()
	eventually(s.t, "the monitor ends well", func() bool {
		code, err := os.ReadFile(filepath.Join(s.base, "ended"))
		return err == nil && string(code) == "0"
	})
}

func TestRunFollowsASessionInATerminal(t *testing.T) {
	base, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := newSession(t, base)
	st := newStage(t, base, s.Dir)
	st.shows("refuse-expired-tokens", "> architecting", "sandbox: runner (of a test)", "q quit")

	rewrite(t, s, func(state *orchestrator.State) {
		state.Gate = &orchestrator.Gate{Name: orchestrator.GatePlan}
	})
	st.shows("The plan waits for your approval.", "[a] approve")

	st.press("a")
	st.shows("approve: done")
	data, err := os.ReadFile(filepath.Join(base, "sent"))
	if err != nil || !bytes.Contains(data, []byte(`"name":"approve"`)) {
		t.Errorf("sent %s, %v; want approve", data, err)
	}

	rewrite(t, s, func(state *orchestrator.State) {
		state.Gate, state.Phase, state.Outcome = nil, orchestrator.PhaseDone, orchestrator.OutcomeDone
	})
	st.shows("Outcome: done")
	st.press("q")
	st.ends()
}

// newRun makes a session of an agents file.
func newRun(t *testing.T, base string, team *agents.Team) *session.Session {
	t.Helper()
	s, err := session.Create(session.CreateSpec{
		Project: filepath.Join(base, "project"), Now: noon, Name: team.Session, Agents: team.Encode(),
		State: orchestrator.State{Kind: orchestrator.KindAgents, Settings: orchestrator.DefaultSettings(), BaseBranch: "main", BaseSHA: "abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A run of an agents file is drawn again when an agent ends: it is done, and what waited for it is ready.
func TestRunFollowsTheAgentsOfAFile(t *testing.T) {
	base, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := newRun(t, base, parsed(t, shopFile))
	st := newStage(t, base, s.Dir)
	st.shows("0 of 8 done", "waits for plan", "q quit")
	rewrite(t, s, func(state *orchestrator.State) {
		state.Team = map[string]agents.Progress{"plan": {Marker: "0"}, "style": {Marker: "2"}, "notes": {Marker: "99", BlockedBy: "style"}}
	})
	st.shows("1 of 8 done, 1 failed", "✓ plan", "✗ style", "failed (exit 2)", "blocked by style")
	screen, err := st.server.Capture(t.Context(), st.pane, 0)
	if err != nil || strings.Contains(screen, "waits for plan") {
		t.Errorf("agents wait for one that is done, %v:\n%s", err, screen)
	}
	st.press("q")
	st.ends()
}

// A terminal that many agents fill shows the rest of the session all the same, from the first line to the last.
func TestManyAgentsLeaveTheRestOfTheMonitorInTheTerminal(t *testing.T) {
	base, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := newRun(t, base, crowd(t, 50).team)
	rewrite(t, s, func(state *orchestrator.State) {
		state.Questions = []orchestrator.Question{{ID: "q1", Role: "build", Task: "a01", Text: "Which colour?", AskedAt: after(0)}}
	})
	st := newStage(t, base, s.Dir)
	st.shows("agentmux a question waits for you", "session  crowd", "0 of 50 done", " more: ", "RECENT", "Question q1 from build/a01", "q quit")
	screen, err := st.server.Capture(t.Context(), st.pane, 0)
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if err != nil || !strings.HasPrefix(lines[0], "agentmux ") || len(lines) != 40 || !strings.Contains(lines[39], "q quit") {
		t.Errorf("%d lines, %v:\n%s", len(lines), err, screen)
	}
	st.press("q")
	st.ends()
}

// TestColoursOfATerminal looks at what the monitor writes to a real terminal.
func TestColoursOfATerminal(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     []string
		colours bool
	}{
		{"a terminal with colours", []string{"NO_COLOR="}, true},
		{"NO_COLOR", []string{"NO_COLOR=1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, err := os.MkdirTemp("", "amx")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(base) })
			s := newSession(t, base)
			st := newStage(t, base, s.Dir, c.env...)
			st.shows("q quit")
			raw := filepath.Join(base, "raw")
			if err := st.server.Pipe(t.Context(), st.pane, []string{"/usr/bin/tee", raw}); err != nil {
				t.Fatal(err)
			}
			rewrite(t, s, func(state *orchestrator.State) {
				state.Phase, state.Outcome = orchestrator.PhaseDone, orchestrator.OutcomeDone
			})
			var out []byte
			eventually(t, "the terminal gets the outcome", func() bool {
				out, err = os.ReadFile(raw)
				return err == nil && bytes.Contains(out, []byte("Outcome: done"))
			})
			if got := regexp.MustCompile(`\x1b\[[0-9;]+m`).Match(out); got != c.colours {
				t.Errorf("colours %v, want %v in %q", got, c.colours, out)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	base, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	st := newStage(t, base, newSession(t, base).Dir)
	st.shows("q quit")
	p, err := st.server.Pane(t.Context(), st.pane)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	st.ends()
}

func TestRunWritesOnePictureWhereThereIsNoTerminal(t *testing.T) {
	s := newSession(t, t.TempDir())
	var out bytes.Buffer
	if err := monitor.Run(t.Context(), monitor.Options{Dir: s.Dir, In: strings.NewReader(""), Out: &out}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "> architecting") || strings.Contains(text, "\x1b") {
		t.Errorf("picture:\n%q", text)
	}
}

// A monitor is an output like any other: what an agent tells may hold a secret, which is
// taken out before lines are cut and broken.
func TestRunShowsNoSecret(t *testing.T) {
	secret := "ghp_" + strings.Repeat("aB3", 12)
	s := newSession(t, t.TempDir())
	state, err := s.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	far := strings.Repeat("x", 70)
	state.Questions = []orchestrator.Question{{
		ID: "q1", Role: "architect", Text: far + " " + secret + "?", Options: []string{secret, "no"},
	}}
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(session.StateFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = monitor.Run(t.Context(), monitor.Options{Dir: s.Dir, Out: &out, Shown: redact})
	text := strings.Join(strings.Fields(out.String()), "")
	if err != nil || strings.Contains(text, "aB3aB3") || strings.Count(text, "[token]") != 2 {
		t.Errorf("picture:\n%s\n%v", out.String(), err)
	}
}

func redact(text string) string {
	return regexp.MustCompile("ghp_[A-Za-z0-9]{36}").ReplaceAllString(text, "[token]")
}

func TestRunRefusesADirectoryWithoutASession(t *testing.T) {
	if err := monitor.Run(t.Context(), monitor.Options{Dir: t.TempDir()}); err == nil {
		t.Error("no error for an empty directory")
	}
}
