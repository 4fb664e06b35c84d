package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// machine is a world on disk: its panes and commits are there for every process,
// as those of tmux and git are. Agents are played by the test, not by the host.
type machine struct {
	s   *session.Session
	dir string
}

func (m machine) Ensure(_ context.Context, e orchestrator.Effect) (orchestrator.Result, error) {
	w := &world{s: m.s}
	switch e.Type {
	case orchestrator.EffStartAgent:
		return orchestrator.Result{}, m.once("pane", string(e.Args.Launch), nil)
	case orchestrator.EffStopAgent:
		return orchestrator.Result{}, m.once("stopped", string(e.Args.Launch), nil)
	case orchestrator.EffIntegrate:
		return m.commit("integrate " + string(e.Args.Launch))
	case orchestrator.EffCommit:
		return m.commit(e.Key)
	}
	return w.carryOut(e)
}

func (m machine) Take(_ context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error) {
	return snapshotOf(t), nil
}

// once makes a file that a second call leaves as it is.
func (m machine) once(kind, key string, data []byte) error {
	f, err := os.OpenFile(filepath.Join(m.dir, kind, key), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	return err
}

func (m machine) commit(key string) (orchestrator.Result, error) {
	sum := fmt.Sprintf("%x", key)
	res := orchestrator.Result{Commit: "c" + sum, Tree: "t" + sum, Snapshot: "t" + sum, Subject: "feat: tokens"}
	return res, m.once("commit", sum, nil)
}

func (m machine) Observe(_ context.Context, s *orchestrator.State) (engine.Look, error) {
	var reports []orchestrator.AgentReport
	for key, a := range s.Agents {
		if a.Launch == "" {
			continue
		}
		rep := orchestrator.AgentReport{Key: key, Launch: a.Launch, Condition: orchestrator.AgentAbsent}
		if _, err := os.Stat(filepath.Join(m.dir, "pane", string(a.Launch))); err == nil {
			rep.Condition = orchestrator.AgentLive
		}
		reports = append(reports, rep)
	}
	return engine.Look{Reports: reports}, nil
}

func (m machine) list(kind string) []string {
	entries, err := os.ReadDir(filepath.Join(m.dir, kind))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

const hostVariable = "ENGINE_TEST_HOST"

// TestHostProcess is the host that the test below kills; by itself it is nothing.
func TestHostProcess(t *testing.T) {
	var at struct{ Session, World string }
	if err := json.Unmarshal([]byte(os.Getenv(hostVariable)), &at); err != nil {
		t.Skip("only as a process of its own")
	}
	arm(t)
	s, err := session.Open(at.Session)
	if err == nil {
		err = s.Lock(2 * time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
	wakes := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			select {
			case wakes <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	m := machine{s: s, dir: at.World}
	_, err = engine.Run(t.Context(), engine.Options{
		Session: s, Effects: m, Agents: m, Work: m, Wakes: wakes, Start: orchestrator.Start{Mode: orchestrator.StartNew},
	})
	cancel()
	if err != nil {
		t.Fatal(err)
	}
}

// C1, C2: whenever hosts are killed, the session comes to the same end, and what
// they made outside exists once.
func TestProtocolC2HostsThatAreKilled(t *testing.T) {
	seeds, kills := uint64(8), 40
	if testing.Short() {
		seeds, kills = 1, 12
	}
	want := killedStory(t, func(int) death { return death{} })
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			got := killedStory(t, func(host int) death {
				if host >= kills {
					return death{}
				}
				return death{life: 5*time.Millisecond + time.Duration(random.Int64N(int64(45*time.Millisecond)))}
			})
			if got != want {
				t.Errorf("the story is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// death is how a host ends before its session does: after its life, or by what its
// environment says. The zero death is none.
type death struct {
	life time.Duration
	env  []string
}

// killedStory runs a session whose hosts, numbered from 0, are killed, and returns what its
// end must not depend on.
func killedStory(t *testing.T, next func(host int) death) string {
	t.Helper()
	w := newWorld(t, "feature", nil)
	if err := w.s.Release(); err != nil {
		t.Fatal(err)
	}
	m := machine{s: w.s, dir: t.TempDir()}
	for _, kind := range []string{"pane", "stopped", "commit"} {
		if err := os.Mkdir(filepath.Join(m.dir, kind), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	played := map[string]bool{}
	deadline := time.Now().Add(2 * time.Minute)
	hosts := 0
	for !w.state().Ended() || len(w.state().Pending) > 0 {
		if time.Now().After(deadline) {
			w.tell()
			t.Fatal("the session does not end")
		}
		runHost(t, w, m, next(hosts), played)
		hosts++
	}
	t.Logf("%d hosts", hosts)
	if report := session.CheckDir(w.s.Dir); len(report.Problems) > 0 {
		t.Errorf("the session is not sound:\n%s", strings.Join(report.Problems, "\n"))
	}
	st := w.state()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s visit %d, groups %v, panes %v, commits %v\n", st.Phase, st.Outcome, st.Visit, st.CompletedGroups, m.list("pane"), m.list("commit"))
	fmt.Fprintf(&b, "stopped %v\n", m.list("stopped"))
	for _, e := range w.events("") {
		switch e.Type {
		case orchestrator.EvPhaseEntered, orchestrator.EvArtifactAccepted, orchestrator.EvVerdict, orchestrator.EvDone:
			fmt.Fprintf(&b, "%s %s\n", e.Type, e.Phase)
		}
	}
	return b.String()
}

// runHost runs one host process to its end or death and plays the agents meanwhile.
func runHost(t *testing.T, w *world, m machine, d death, played map[string]bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at, err := json.Marshal(map[string]string{"Session": w.s.Dir, "World": m.dir})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestHostProcess$")
	cmd.Env = append(append(os.Environ(), hostVariable+"="+string(at)), d.env...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var kill <-chan time.Time
	if d.life > 0 {
		kill = time.After(d.life)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil && (d.env == nil || err.Error() != "signal: killed") {
				t.Fatalf("the host ended: %v\n%s", err, out.String())
			}
			return
		case <-kill:
			_ = cmd.Process.Kill() // it may have ended just now
			<-ended
			return
		case <-tick.C:
			for _, launch := range m.list("pane") {
				if !played[launch] {
					played[launch] = true
					w.playLaunch(orchestrator.Launch(launch))
				}
			}
		}
	}
}

// playLaunch does an agent's work, knowing only the name of its launch.
func (w *world) playLaunch(launch orchestrator.Launch) {
	parts, _ := launch.Parts()
	role, task := parts.Role, parts.Task
	e := orchestrator.Effect{Args: orchestrator.Args{Launch: launch, Role: role, Task: task}}
	if w.state().AwaitingSummary {
		e.Args.PromptFile = "summary_prompt.md"
	}
	honest(w, e)
}
