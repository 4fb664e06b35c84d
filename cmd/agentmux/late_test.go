package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A command that is recorded while the host ends, which reads no more, wakes the next host.
func TestACommandWhileTheHostEndsWakesTheNextOne(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	repo.RefusePush(fakehub.ProtectedRule("refs/heads/agentmux/*"))
	r.parked(r.quick(exit.NeedsHuman), orchestrator.ReasonPushRejected)
	repo.AllowPush()
	e := r.session()
	ending, err := session.Open(e.Dir)
	if err == nil {
		err = ending.Lock(0) // a host that has read its last command
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := r.command("retry", e.Name)
	r.asked.Add(1) // it leads to a host
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	recorded := await(func() bool {
		data, _ := os.ReadFile(filepath.Join(e.Dir, session.Commands))
		return bytes.Contains(data, []byte(`"retry"`))
	})
	if err := ending.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || recorded != nil {
		t.Fatalf("%v, recorded: %v\n%s", err, recorded, said.String())
	}
	if !strings.Contains(said.String(), "retry: done") {
		t.Errorf("said:\n%s", said.String())
	}
	if err := await(func() bool { now := r.session(); return now.State.Phase == orchestrator.PhaseDone && !now.Running }); err != nil {
		t.Fatal(err)
	}
	r.done(r.session())
}

// version names the commit that the program was built from, as make build gives it.
func TestVersionNamesItsCommit(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := regexp.MustCompile(`(?m)^STAMP = -ldflags "(-X \S+=)\$\$\(git rev-parse HEAD`).FindSubmatch(makefile)
	if stamp == nil {
		t.Fatal("make build gives no commit")
	}
	const commit = "4e1f9c2d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d"
	program := filepath.Join(t.TempDir(), "agentmux")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", string(stamp[1])+commit, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, word := range []string{"version", "--version"} {
		out, err := exec.Command(program, word).CombinedOutput()
		if want := "(" + commit[:12] + ", " + runtime.Version() + ")"; err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s says %q, want %q in it: %v", word, out, want, err)
		}
	}
}
