package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// rig is a project with a host that runs its sessions for real: tmux, git, processes.
type rig struct {
	t       *testing.T
	root    string // short, for sockets
	project string
	host    *host.Host
	config  *config.Config
}

const userConfig = `version: 2
defaults: {provider: script}
limits: {stall: 0, agent_retries: 1}
sandbox: {unsafe_flags: true}
`

func newRig(t *testing.T, extra string) *rig {
	t.Helper()
	root, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	r := &rig{t: t, root: root, project: filepath.Join(root, "p")}
	r.git("init", "-q", "-b", "main")
	r.write("README.md", "# Demo\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "one")
	user := filepath.Join(root, "user.yaml")
	if err := os.WriteFile(user, []byte(userConfig+extra), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, problems := config.Load(config.Sources{UserFile: user})
	if cfg == nil {
		t.Fatal(problems.Lines())
	}
	cfg.Agents.Linger = 200 * time.Millisecond
	r.config = cfg
	self, err := inPanes()
	if err != nil {
		t.Fatal(err)
	}
	r.host, err = host.New(host.Options{
		Self: self, StateHome: filepath.Join(root, "s"), RuntimeDir: filepath.Join(root, "r"), Home: filepath.Join(root, "h"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	if err := os.MkdirAll(r.project, 0o755); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = r.project
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.root, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (r *rig) write(rel, text string) {
	r.t.Helper()
	file := filepath.Join(r.project, rel)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) script(s scenario) {
	r.t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.root, "scenario.json"), data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// prepare makes a session and hands its lock over, as a launcher does.
func (r *rig) prepare(change func(*host.PrepareSpec)) string {
	r.t.Helper()
	project, err := r.host.Project(r.t.Context(), r.project, r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	base, err := project.Base(r.t.Context(), r.config, "")
	if err != nil {
		r.t.Fatal(err)
	}
	spec := host.PrepareSpec{
		Project: project, Config: r.config, Files: os.DirFS(r.project), Source: "working tree", Base: base,
		Title: "greet the world", Request: "Write a greeting.",
	}
	if change != nil {
		change(&spec)
	}
	sess, err := r.host.Prepare(r.t.Context(), spec)
	if err != nil {
		r.t.Fatal(err)
	}
	server, err := tmux.New(tmux.Options{Socket: place.Socket(filepath.Join(r.root, "r"), sess.Dir, r.state(sess.Dir))})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = server.KillServer(context.Background()) })
	if err := sess.Close(); err != nil {
		r.t.Fatal(err)
	}
	return sess.Dir
}

// run runs the session to its end and prints its records when the test fails.
func (r *rig) run(spec host.RunSpec) *orchestrator.State {
	r.t.Helper()
	spec.Config = r.config
	ctx, cancel := context.WithTimeout(r.t.Context(), 90*time.Second)
	defer cancel()
	s, err := r.host.Run(ctx, spec)
	if err != nil {
		r.t.Errorf("run: %v", err)
	}
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.records(spec.Dir)
		}
	})
	return s
}

func (r *rig) records(dir string) {
	sess, err := session.Open(dir)
	if err != nil {
		return
	}
	events, _, _ := sess.Events(0)
	for _, e := range events {
		data, _ := json.Marshal(e.Data)
		if exited, ok := e.Data.(orchestrator.AgentExitedRecord); ok {
			exit, _, _ := agent.ReadExit(filepath.Join(dir, "launches", string(exited.Launch)))
			r.t.Logf("    %+v", exit)
		}
		r.t.Logf("%3d %-13s %-20s %.300s", e.Seq, e.Phase, e.Type, data)
	}
}

// types lists the records of a session by type.
func (r *rig) count(dir, kind string) int {
	r.t.Helper()
	sess, err := session.Open(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

func plan(groups string, subplans ...string) string {
	text := "version: 2\nplan_overview: Greet.\nneeds_design: false\nneeds_docs: false\ndoc_files: []\ngroups:\n" + groups + "subplans:\n"
	for i, owned := range subplans {
		text += fmt.Sprintf("  - {index: %d, title: Part %d, scope: Part, owned_files: [%s], dependencies: none, "+
			"implementation_approach: Write it, acceptance_criteria: It is there, tasks: [Write]}\n", i+1, i+1, owned)
	}
	return text
}

func TestASessionGoesFromRequestToCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(scenario{
		Plan: plan("  - {group_id: one, mode: serial, plans: [{index: 1, name: A}]}\n"+
			"  - {group_id: two, mode: parallel, plans: [{index: 2, name: B}, {index: 3, name: C}]}\n", "a.txt", "b/", "c.txt"),
		Files: map[string][]string{
			"1": {"a.txt=hello"}, "2": {"b/x y.txt=world"}, "3": {"c.txt=!"}, "fix": {"a.txt=hello, world"},
		},
		Verdict: map[string][]string{"reviewer_logic": {"fail"}},
	})
	dir := r.prepare(nil)
	s := r.run(host.RunSpec{Dir: dir})
	if s.Outcome != orchestrator.OutcomeDone || s.Phase != orchestrator.PhaseDone {
		t.Fatalf("phase %s, outcome %s (%s)", s.Phase, s.Outcome, s.OutcomeReason)
	}
	branch := s.FeatureBranch
	if got := r.git("log", "--format=%s|%an|%P", "-1", branch); !strings.HasPrefix(got, "feat: greet the world|") || !strings.HasSuffix(got, s.BaseSHA) {
		t.Errorf("commit: %s", got)
	}
	if got := r.git("show", branch+":a.txt"); got != "hello, world" {
		t.Errorf("a.txt: %q", got)
	}
	if got := r.git("ls-tree", "-r", "--name-only", branch); got != "README.md\na.txt\nb/x y.txt\nc.txt" {
		t.Errorf("files: %q", got)
	}
	if n := r.count(dir, orchestrator.EvFixRound); n != 1 {
		t.Errorf("%d fix rounds", n)
	}
	if status := r.git("status", "--porcelain"); status != "" {
		t.Errorf("the clone changed: %s", status)
	}
}
