package work_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// TestMain lets the test binary answer as the askpass program.
func TestMain(m *testing.M) {
	if asked, code := remote.AnswerAskpass(os.Args[1:], os.Stdout); asked {
		testexit.Exit(code)
	}
	os.Exit(m.Run())
}

const (
	benchFiles   = 2000
	benchChanged = 20
	benchTimes   = 30
)

// BenchmarkCheckpoint saves a session with a workspace of 2,000 files, of which 20 changed since the checkpoint before, on a
// server on this machine. Metrics: whole-p50-ms and whole-p99-ms, from the effect to its result; pushed-KiB, what the
// server has more than before; and of one while nothing changed idle-pushes and idle-cpu-ms, git included.
func BenchmarkCheckpoint(b *testing.B) {
	s := newSaving(b)
	s.save()
	var took []time.Duration
	bytes, pushed := s.stored(), s.pushed
	for n := range max(b.N, benchTimes) {
		files := map[string]string{}
		for i := range benchChanged {
			files[benchName(i*benchFiles/benchChanged)] = fmt.Sprintf("change %d\n", n) + strings.Repeat("a line that stayed\n", 40)
		}
		repotest.Write(b, s.workspace, files)
		began := time.Now()
		s.save()
		took = append(took, time.Since(began))
	}
	if got := s.pushed - pushed; got != len(took) {
		b.Fatalf("%d pushes of %d checkpoints", got, len(took))
	}
	bytes = s.stored() - bytes
	pushed = s.pushed
	began := cpu(b)
	s.save()
	idle := cpu(b) - began
	slices.Sort(took)
	milli := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(milli(took[len(took)/2]), "whole-p50-ms")
	b.ReportMetric(milli(took[len(took)*99/100]), "whole-p99-ms")
	b.ReportMetric(float64(bytes)/1024/float64(len(took)), "pushed-KiB")
	b.ReportMetric(float64(s.pushed-pushed), "idle-pushes")
	b.ReportMetric(milli(idle), "idle-cpu-ms")
}

// saving is a session whose checkpoints go to a server.
type saving struct {
	b         *testing.B
	session   *session.Session
	work      *work.Work
	state     *orchestrator.State
	workspace string
	server    string // directory of its repository
	pushed    int
}

func benchName(i int) string { return fmt.Sprintf("src/d%02d/f%04d.txt", i%40, i) }

func newSaving(b *testing.B) *saving {
	files := map[string]string{}
	for i := range benchFiles {
		files[benchName(i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40)
	}
	repo := repotest.New(b, files)
	hub := fakehub.Start(b, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets", Source: repo.Clone}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}}},
	})
	repotest.Git(b, repo.Store.Dir(), "update-ref", "refs/remotes/origin/main", repo.Base)
	s := &saving{b: b, workspace: repo.Workspace("1.1"), server: hub.Repo("octo/widgets").Dir()}
	def, definition, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		b.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{Project: b.TempDir(), Now: time.Now(), Name: "s", Request: "x", Definition: definition, State: orchestrator.State{
		Workflow: "quick", IssueNumber: 7, Repo: "octo/widgets", BaseBranch: "main", BaseSHA: repo.Base, Settings: orchestrator.DefaultSettings(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sess.Close() })
	s.session = sess
	if s.state, err = sess.Recover(time.Now()); err != nil {
		b.Fatal(err)
	}
	s.state.Workspaces = map[string]orchestrator.Workspace{"1.1": {Path: s.workspace, Base: repo.Base, Used: 1}}
	data, err := s.state.Encode()
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(sess.Path(session.StateFile), data, 0o600); err != nil {
		b.Fatal(err)
	}
	token := hub.Token("bot")
	at := transport.Addresses{API: hub.API(), GraphQL: hub.GraphQL(), Server: hub.URL()}
	s.work = work.New(work.Options{
		StateHome: repo.State, ServerName: "github.example", Now: time.Now, Log: slog.New(slog.NewTextHandler(b.Output(), nil)), Redactor: redact.New(),
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(token), at), Guard: func(context.Context) error { return nil },
		Away: &checkpoint.Away{
			Host: "h_0123456789abcdef", Pass: func(context.Context, bool) (bool, error) { return true, nil },
			Note: func(string) error { s.pushed++; return nil },
		},
	}, work.Spec{
		Session: sess, State: s.state, Workflow: def, Config: &config.Config{GitHub: config.GitHub{Push: true}, Checkpoint: config.Checkpoint{Remote: true}},
		Project: &project.Project{Store: repo.Store, Remote: &remote.Repository{
			URL: hub.CloneURL("octo/widgets"), Secret: func(context.Context) (string, error) { return token, nil },
		}},
	})
	return s
}

// save makes a checkpoint, as the effect does.
func (s *saving) save() {
	s.b.Helper()
	e := orchestrator.Effect{Type: orchestrator.EffCheckpoint, Args: orchestrator.Args{Paths: []string{"1.1"}}}
	if _, err := s.work.Checkpoint(s.b.Context(), e, s.state); err != nil {
		s.b.Fatal(err)
	}
}

// stored is how many bytes the objects of the server's repository take.
func (s *saving) stored() (sum int64) {
	s.b.Helper()
	if err := filepath.WalkDir(filepath.Join(s.server, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	}); err != nil {
		s.b.Fatal(err)
	}
	return sum
}

// cpu is what this process and its children have used.
func cpu(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
