package tmux_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestNewWindowCarriesOptionsFromTheStart(t *testing.T) {
	s := startServer(t)
	want := map[string]string{tag: "coder", "@test_task": "two words; #{pane_id} 'x';"}
	p, err := s.NewWindow(t.Context(), tmux.WindowSpec{
		Session: "work", Name: "coder-1", Command: []string{"/bin/sleep", "600"}, Dir: t.TempDir(), Options: want,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if p.Options[name] != value {
			t.Errorf("%s = %q, want %q", name, p.Options[name], value)
		}
	}
	if p.Window != "coder-1" || p.Session != "work" || p.Dead || p.PID == 0 || time.Since(p.Activity) > time.Minute {
		t.Errorf("pane: %+v", p)
	}
	if out, err := raw(t, s, "display-message", "-p", "-t", "=work:", "#{window_name}"); err != nil || out != "control" {
		t.Errorf("the window in front is %q, %v", out, err)
	}
}

func TestNewWindowIsLastWhateverIndexIsFree(t *testing.T) {
	s := startServer(t)
	a, b := window(t, s, "/bin/sleep", "600"), window(t, s, "/bin/sleep", "600")
	if err := s.KillPane(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	c, err := s.NewWindow(t.Context(), tmux.WindowSpec{
		Session: "work", Name: "c", Command: []string{"/bin/sleep", "600"}, Dir: t.TempDir(), Options: map[string]string{tag: "c"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err = s.Pane(t.Context(), b.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Options[tag] != "c" || b.Options[tag] != "" {
		t.Errorf("the option is on the wrong pane: %+v, %+v", b, c)
	}
}

func TestNewWindowRefusesWhatTmuxWouldMisread(t *testing.T) {
	s := startServer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := tmux.WindowSpec{Session: "work", Name: "w", Command: []string{"/bin/sleep", "600"}, Dir: dir}
	for name, change := range map[string]func(*tmux.WindowSpec){
		"session prefix":     func(w *tmux.WindowSpec) { w.Session = "wor" },
		"session syntax":     func(w *tmux.WindowSpec) { w.Session = "work:0" },
		"name":               func(w *tmux.WindowSpec) { w.Name = "a.b" },
		"no command":         func(w *tmux.WindowSpec) { w.Command = nil },
		"relative command":   func(w *tmux.WindowSpec) { w.Command = []string{"sleep", "1"} },
		"missing directory":  func(w *tmux.WindowSpec) { w.Dir = filepath.Join(dir, "none") },
		"file as directory":  func(w *tmux.WindowSpec) { w.Dir = file },
		"relative directory": func(w *tmux.WindowSpec) { w.Dir = "." },
		"option name":        func(w *tmux.WindowSpec) { w.Options = map[string]string{"remain-on-exit": "off"} },
		"option value":       func(w *tmux.WindowSpec) { w.Options = map[string]string{tag: "a\tb"} },
		"environment":        func(w *tmux.WindowSpec) { w.Env = []string{"HOME"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := good
			change(&w)
			if p, err := s.NewWindow(t.Context(), w); err == nil {
				t.Errorf("made %+v", p)
			}
		})
	}
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 1 {
		t.Errorf("panes left over: %+v, %v", panes, err)
	}
}

// tmux starts a pane whose directory cannot be entered somewhere else and says nothing.
func TestNewWindowFailsWhenThePaneLandsElsewhere(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	// The name means the directory in this process and none in the server.
	_, err = s.NewWindow(t.Context(), tmux.WindowSpec{
		Session: "work", Name: "w", Command: []string{"/bin/sleep", "600"}, Dir: fmt.Sprintf("/dev/fd/%d", dir.Fd()),
	})
	if err == nil || !strings.Contains(err.Error(), "instead of /") {
		t.Errorf("want an error that names both directories, got %v", err)
	}
	if panes, err := s.Panes(t.Context()); err != nil || len(panes) != 1 {
		t.Errorf("the pane was kept: %+v, %v", panes, err)
	}
}

func TestDirectoriesAndArgumentsArriveLiterally(t *testing.T) {
	s := startServer(t)
	for _, name := range []string{"with space", "#{pane_id}", "semi;", "tab\tand\nbreak", "ünï", "%H", "$HOME"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := s.NewWindow(t.Context(), tmux.WindowSpec{
			Session: "work", Name: "w", Dir: dir, Options: map[string]string{tag: "dir"},
			Command: []string{"/bin/sh", "-c", `echo "<$1>" > out; exec sleep 600`, "sh", name},
		})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if p.Path != dir || p.Options[tag] != "dir" {
			t.Errorf("%q: pane reads %+v", name, p)
		}
		eventually(t, "argument written", func() bool {
			got, _ := os.ReadFile(filepath.Join(dir, "out"))
			return string(got) == "<"+name+">\n"
		})
	}
}

// A program may choose a directory whose name looks like a record of the list.
func TestAPathCannotForgeAPane(t *testing.T) {
	s := startServer(t)
	dir := filepath.Join(t.TempDir(), "x\n%99\twork\t@9\t1\t0\t\t\t0\t1\tfake\tcontrol\t\t")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.NewWindow(t.Context(), tmux.WindowSpec{Session: "work", Name: "w", Command: []string{"/bin/sleep", "600"}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	panes, err := s.Panes(t.Context())
	if err != nil || len(panes) != 2 {
		t.Errorf("want the two real panes, got %+v, %v", panes, err)
	}
}

func TestDeadPaneKeepsItsExit(t *testing.T) {
	s := startServer(t)
	exited := window(t, s, "/bin/sh", "-c", "exit 7")
	if p := dies(t, s, exited.ID); p.ExitStatus != 7 || p.Signal != "" {
		t.Errorf("exit 7 reads %+v", p)
	}
	killed := window(t, s, "/bin/sleep", "600")
	kill(t, killed.PID)
	if p := dies(t, s, killed.ID); p.ExitStatus != -1 || p.Signal != "9" && p.Signal != "KILL" {
		t.Errorf("SIGKILL reads %+v", p)
	}
}

// A server that has just started sometimes misses the end of its first child.
func TestDeadPaneOfANewServerGetsItsExit(t *testing.T) {
	t.Parallel()
	servers := 20
	if testing.Short() {
		servers = 6
	}
	for range servers {
		s, spec := newServer(t), control(t)
		spec.Window.Command = []string{"/bin/sh", "-c", "exit 7"}
		if _, err := s.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		if p := dies(t, s, "%0"); p.ExitStatus != 7 {
			t.Fatalf("pane: %+v", p)
		}
	}
}

func TestMissingPaneOnALivingServer(t *testing.T) {
	s := startServer(t)
	if _, err := s.Pane(t.Context(), "%999"); !errors.Is(err, tmux.ErrNoPane) {
		t.Errorf("Pane: %v", err)
	}
	if _, err := s.Capture(t.Context(), "%999", 0); !errors.Is(err, tmux.ErrNoPane) {
		t.Errorf("Capture: %v", err)
	}
	if _, _, err := s.Screen(t.Context(), "%999"); !errors.Is(err, tmux.ErrNoPane) {
		t.Errorf("Screen: %v", err)
	}
	if err := s.KillPane(t.Context(), "work"); err == nil {
		t.Error("KillPane took a session's name for a pane")
	}
}

func TestPipeReceivesOutputAndTakesArgumentsLiterally(t *testing.T) {
	s := startServer(t)
	p := window(t, s, "/bin/cat")
	file := filepath.Join(t.TempDir(), "it's #{pane_id} %H $HOME;")
	if err := s.Pipe(t.Context(), p.ID, []string{"/bin/sh", "-c", `exec cat > "$1"`, "sh", file}); err != nil {
		t.Fatal(err)
	}
	if out, err := raw(t, s, "send-keys", "-t", p.ID, "hello", "Enter"); err != nil {
		t.Fatalf("send-keys: %s", out)
	}
	eventually(t, "piped text", func() bool {
		got, _ := os.ReadFile(file)
		return strings.Contains(string(got), "hello")
	})
}

func TestPipeOfADeadPaneIsRefused(t *testing.T) {
	s := startServer(t)
	p := window(t, s, "/bin/sh", "-c", "exit 0")
	dies(t, s, p.ID)
	if err := s.Pipe(t.Context(), p.ID, []string{"/bin/cat"}); !errors.Is(err, tmux.ErrNoPane) {
		t.Errorf("Pipe: %v", err)
	}
	if _, err := s.Panes(t.Context()); err != nil {
		t.Errorf("server after that: %v", err)
	}
}

func TestAPaneIsPipedAsLongAsItIsRead(t *testing.T) {
	s := startServer(t)
	p := window(t, s, "/bin/cat")
	piped := func(want bool) func() bool {
		return func() bool {
			now, err := s.Pane(t.Context(), p.ID)
			return err == nil && now.Piped == want
		}
	}
	if !piped(false)() {
		t.Error("piped before it was asked for")
	}
	fifo := filepath.Join(t.TempDir(), "end")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Pipe(t.Context(), p.ID, []string{"/bin/cat", fifo}); err != nil {
		t.Fatal(err)
	}
	if !piped(true)() {
		t.Error("not piped while its reader runs")
	}
	if err := os.WriteFile(fifo, nil, 0); err != nil { // cat ends
		t.Fatal(err)
	}
	eventually(t, "the pipe is closed", func() bool {
		if out, err := raw(t, s, "send-keys", "-t", p.ID, "text", "Enter"); err != nil {
			t.Fatalf("send-keys: %s", out)
		}
		return piped(false)()
	})
}
