package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/internal/config"
	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator"
)

func TestTheSetupCommandRunsOnceInEachWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	log := filepath.Join(r.root, "setup.log")
	r.config.Sandbox.Setup = []string{"sh", "-c", "pwd >> " + log + "; env | grep -c AGENTMUX >> " + log + "; true"}
	r.script(simple())
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	seen := map[string]bool{}
	for i := 0; i+1 < len(lines); i += 2 {
		if seen[lines[i]] || lines[i+1] != "0" {
			t.Errorf("%s: again, or with variables of ours: %s", lines[i], lines[i+1])
		}
		seen[lines[i]] = true
	}
	if len(seen) < 3 {
		t.Errorf("workspaces: %v", lines)
	}
}

// E5: what a repository wants to have run needs a person's word.
func TestTheSetupCommandOfAProjectNeedsToBeAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	project := fstest.MapFS{".agentmux/config.yaml": {Data: []byte("version: 2\nsandbox: {setup: [\"true\"]}\n")}}
	var problems error
	c, found := config.Load(config.Sources{UserFile: filepath.Join(r.root, "user.yaml"), Project: project})
	if problems = found.Err(); problems != nil {
		t.Fatal(problems)
	}
	r.config = c
	r.script(simple())
	p, err := r.host.Project(t.Context(), r.project, c)
	if err != nil {
		t.Fatal(err)
	}
	base, err := p.Base(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	spec := host.PrepareSpec{Project: p, Config: c, Base: base, Title: "x", Request: "x", Workflow: "quick", Source: "working tree"}
	var refused *host.PreflightError
	if _, err := r.host.Prepare(t.Context(), spec); !errors.As(err, &refused) || !strings.Contains(err.Error(), `["true"]`) {
		t.Fatalf("error %v", err)
	}
	request, open := r.host.SetupRequest(c)
	if !open {
		t.Fatal("nothing to allow")
	}
	if err := r.host.Allow(request.Digest); err != nil {
		t.Fatal(err)
	}
	dir := r.prepare(quick)
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
}
