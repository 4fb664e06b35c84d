package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// halfway runs a session up to its review, lets go of it and returns its project.
func halfway(t *testing.T) (project, name string) {
	t.Helper()
	project = filepath.Join(t.TempDir(), "project")
	bubble(t, func(t *testing.T) {
		s := toReview(t)
		name = s.Name()
		if err := os.CopyFS(project, os.DirFS(s.Project())); err != nil {
			t.Fatal(err)
		}
	})
	return project, name
}

func toReview(t *testing.T) *session.Session {
	w := newWorld(t, "feature", nil)
	w.play = func(w *world, e orchestrator.Effect) {
		if !strings.HasPrefix(e.Args.Role, "reviewer") {
			honest(w, e)
		}
	}
	h := w.start(engine.Options{})
	w.until("reviewing", func(st *orchestrator.State) bool {
		return st.Phase == "reviewing" && len(st.Pending) == 0 && st.Agents["reviewer_logic"].Launch != ""
	})
	h.stop()
	if err := w.s.Release(); err != nil {
		t.Fatal(err)
	}
	w.write(session.MirrorFile, `{"version":1,"shown_seq":3}`)
	return w.s
}

// resumed resumes a session whose machine was off and plays its agents. The error is
// that of the host.
func resumed(t *testing.T, dir string, o engine.Options) (*orchestrator.State, error) {
	s, err := session.OpenOn(dir, powertest.New(filepath.Dir(dir)).Disk())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Lock(0); err != nil {
		return nil, err
	}
	w := &world{t: t, s: s, play: honest, panes: map[orchestrator.Launch]orchestrator.AgentReport{}, commits: map[string]orchestrator.Result{}}
	w.say = func(launch orchestrator.Launch, tool, payload string) {
		appendLine(w, session.ToolEvents, launch, tool, payload)
	}
	o.Start.Mode = orchestrator.StartResume
	o.Session, o.Effects, o.Agents, o.Work = s, w, w, w
	return engine.Run(t.Context(), o)
}

var damages = map[string]func(path string) error{
	"gone":    os.Remove,
	"garbage": func(path string) error { return os.WriteFile(path, []byte("\x00{[\n"), 0o600) },
	"directory": func(path string) error {
		return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "in"), 0o700))
	},
	"pipe": func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
}

// Whatever one file has become, a resume comes to the end, or says which file it is that
// keeps it from going on; and when the file is back, it does go on.
func TestResumeOfADamagedSession(t *testing.T) {
	project, name := halfway(t)
	kinds := []string{"directory", "garbage", "gone", "pipe"}
	for n, rel := range []string{
		"state.json", "state.json.bak", "events.jsonl", "tool_events.jsonl", "commands.jsonl", "tool_event_state.json", "definition.yaml",
		"mirror_state.json", "created_files.log", "requirements.md", "context.md", "lock", "04_planning/plan.yaml", "06_implementation/done_1",
	} {
		tried := kinds
		if testing.Short() && n > 0 { // half of them for each file but the state
			tried = kinds[n%2*2:][:2]
		}
		for _, damage := range tried {
			do := damages[damage]
			t.Run(rel+" "+damage, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "project")
					if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
						t.Fatal(err)
					}
					dir = filepath.Join(session.Dir(dir), name)
					data, err := os.ReadFile(filepath.Join(dir, rel))
					if err != nil && damage != "pipe" && damage != "directory" {
						t.Skip("there is no such file")
					}
					if err == nil {
						if err := do(filepath.Join(dir, rel)); err != nil {
							t.Fatal(err)
						}
					}
					endOrReason(t, dir, rel, data)
				})
			})
		}
	}
}

func endOrReason(t *testing.T, dir, rel string, data []byte) {
	t.Helper()
	st, err := resumed(t, dir, engine.Options{})
	if err == nil && st.Outcome == "done" {
		return
	}
	told := fmt.Sprint(err)
	if err == nil {
		told = fmt.Sprint(st.Outcome, st.OutcomeReason, st.Cause)
	}
	if !strings.Contains(told, rel) {
		t.Errorf("%s does not name the file", told)
	}
	if err := os.RemoveAll(filepath.Join(dir, rel)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rel), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := resumed(t, dir, engine.Options{}); err != nil || st.Outcome != "done" {
		t.Errorf("with its file back: %v, %+v", err, st)
	}
}

// A state that differs from its records is not taken in silence.
func TestAHostSaysThatAStateIsNotWhatItsRecordsSay(t *testing.T) {
	project, name := halfway(t)
	bubble(t, func(t *testing.T) {
		dir := filepath.Join(session.Dir(project), name)
		file := filepath.Join(dir, session.StateFile)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(data, []byte(`"review_iteration": 0`), []byte(`"review_iteration": 2`), 1)
		changed = append(changed[:bytes.LastIndex(changed, []byte(",\n  \"checksum\""))], "\n}\n"...) // as a person has to
		if err := os.WriteFile(file, changed, 0o600); err != nil || bytes.Equal(changed, data) {
			t.Fatalf("not changed: %v", err)
		}
		var log lockedBuffer
		if _, err := resumed(t, dir, engine.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "agentmux doctor "+name) || !strings.Contains(log.String(), "fix rounds: 0, 2") {
			t.Error("the log does not say so")
		}
	})
}

type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// full is a session on a disk that has no room at some moments.
func full(t *testing.T) (*world, *powertest.Disk) {
	root := t.TempDir()
	disk := powertest.New(root)
	st := orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "c0"}
	st.Integrated = orchestrator.Integrated{Commit: "c0", Tree: "t0"}
	s, err := session.Create(session.CreateSpec{
		Project: root, Now: time.Now(), Source: "tokens", Request: "Refuse expired tokens.",
		Definition: definition(t, "quick"), State: st, Disk: disk.Disk(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := worldOf(t, s)
	w.put = func(rel, text string) { // an agent's disk has room
		err := os.MkdirAll(filepath.Dir(s.Path(rel)), 0o700)
		if err := errors.Join(err, os.WriteFile(s.Path(rel), []byte(text), 0o600)); err != nil {
			t.Error(err)
		}
	}
	return w, disk
}

// A disk without room for a moment, whenever that is, changes nothing of the end.
func TestProtocolJ8AFullDiskForAMoment(t *testing.T) {
	part := 16
	if testing.Short() {
		part = 1
	}
	for at := 0; at < 600; at += 1 + at/part {
		bubble(t, func(t *testing.T) {
			w, disk := full(t)
			n := 0
			disk.Fault = w.ofTheHost(func() error {
				if n++; n > at && n <= at+3 {
					return syscall.ENOSPC
				}
				return nil
			})
			if st := w.start(engine.Options{}).wait(); st.Outcome != "done" {
				t.Errorf("without room for calls %d to %d: %s %s", at+1, at+3, st.Outcome, st.Cause)
			}
		})
	}
}

// ofTheHost is a fault of the host's own writes, one at a time: an agent whose text cannot be kept is told to submit again,
// and those of a world do not.
func (w *world) ofTheHost(fault func() error) func(op, path string) error {
	var mu sync.Mutex
	var put []string
	write := w.put
	w.put = func(rel, text string) {
		mu.Lock()
		put = append(put, "/"+rel, "/"+filepath.Dir(rel))
		mu.Unlock()
		write(rel, text)
	}
	return func(_, path string) error {
		mu.Lock()
		defer mu.Unlock()
		theirs := slices.ContainsFunc(put, func(rel string) bool { return strings.HasSuffix(path, rel) })
		if theirs || strings.Contains(path+"/", "/"+session.BlobsDir+"/") {
			return nil
		}
		return fault()
	}
}

// A disk that stays full lets nothing happen: no agent is started, the host gives up
// after two minutes, or at once when it is told to, and the next one goes on.
func TestADiskThatStaysFull(t *testing.T) {
	for name, stop := range map[string]error{"by itself": nil, "let go": errors.New("daemon stops"), "by a signal": engine.Signal{Name: "SIGTERM"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, disk := full(t)
				disk.Fault = func(string, string) error { return syscall.ENOSPC }
				before := time.Now()
				h := w.start(engine.Options{})
				if stop != nil {
					w.pass(12 * time.Second)
					h.cancel(stop)
				}
				<-h.done
				if h.err == nil || !errors.Is(h.err, syscall.ENOSPC) && stop == nil {
					t.Errorf("the host ended with %v", h.err)
				}
				if passed := time.Since(before); passed < 10*time.Second || passed > 3*time.Minute || len(w.launches()) > 0 {
					t.Errorf("ended after %s, started %v", passed, w.launches())
				}
				if st := w.state(); st.Seq != 2 {
					t.Errorf("the state is at %d", st.Seq)
				}
				disk.Fault = nil
				if st := w.start(engine.Options{}).wait(); st.Outcome != "done" {
					t.Errorf("with room again: %s", st.Outcome)
				}
			})
		})
	}
}

// On a full disk on which a little room comes and goes the host gives up, too, and the next one continues.
func TestADiskThatIsFullAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, disk := full(t)
		const each, calls = 90 * time.Second, 30 // enough for a commit, not for the next
		room, left := time.Now(), 0
		disk.Fault = w.ofTheHost(func() error {
			if now := time.Now(); !now.Before(room) {
				room, left = now.Add(each), calls
			}
			if left--; left < 0 {
				return syscall.ENOSPC
			}
			return nil
		})
		before := time.Now()
		h := w.start(engine.Options{})
		<-h.done
		if passed := time.Since(before); !errors.Is(h.err, syscall.ENOSPC) || passed < 4*time.Minute || passed > 6*time.Minute {
			t.Errorf("ended after %s with %v", passed, h.err)
		}
		if st := w.state(); st.Seq <= 2 {
			t.Errorf("no commit got through: the test shows nothing")
		}
		disk.Fault = nil
		if st := w.start(engine.Options{}).wait(); st.Outcome != "done" {
			t.Errorf("with room again: %s %s", st.Outcome, st.Cause)
		}
	})
}

// A signal says its name, and a marked error is still what it was.
func TestWordsOfTheEngine(t *testing.T) {
	if got := (engine.Signal{Name: "SIGINT"}).Error(); got != "signal: SIGINT" {
		t.Error(got)
	}
	for _, mark := range []error{engine.Never(os.ErrExist), engine.Remote(os.ErrExist, time.Second)} {
		if !errors.Is(mark, os.ErrExist) || mark.Error() != os.ErrExist.Error() {
			t.Error(mark)
		}
	}
}

// An agent whose artifact cannot be read because of this machine is asked again.
func TestAnArtifactThatThisMachineCannotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, disk := full(t)
		var mu sync.Mutex
		failed := 0
		disk.Fault = func(call, path string) error {
			mu.Lock()
			defer mu.Unlock()
			if call == "sync" && strings.HasSuffix(path, "plan.yaml") && failed < 1 {
				failed++
				return syscall.EIO
			}
			return nil
		}
		h := w.start(engine.Options{})
		w.until("told", func(st *orchestrator.State) bool { return len(w.events(orchestrator.EvInputRejected)) == 1 })
		if got := fmt.Sprint(w.events(orchestrator.EvInputRejected)[0].Data); !strings.Contains(got, "plan.yaml could not be read") {
			t.Error(got)
		}
		w.submit("1.planner.1", "submit_plan", `{"again":1}`)
		if st := h.wait(); st.Outcome != "done" {
			t.Errorf("%s %s", st.Outcome, st.Cause)
		}
		if slices.Contains(w.launches(), "1.planner.2") {
			t.Error("the planner was started again")
		}
	})
}
