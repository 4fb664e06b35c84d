package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// Deleted files that prompts are made from are written again with the content they had, however
// the session continues.
func TestDeletedFilesOfASessionAreWrittenAgain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	sc.Gone = map[string]int{"coder": 1} // the fixer
	sc.Verdict = map[string][]string{"reviewer_logic": {"fail"}}
	r.script(sc)
	dir := r.prepare(func(p *host.PrepareSpec) { p.Workflow = "feature" })
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder is at work", func() bool { return r.started(dir, "3.coder.1.1") })
	r.eventually("the plan is kept", func() bool { return len(r.state(dir).Pending) == 0 })
	if _, err := stop(errors.New("the daemon ends")); err == nil {
		t.Fatal("the host was not ended")
	}
	files := map[string]string{}
	lose := func(names ...string) {
		for _, rel := range names {
			file := filepath.Join(dir, filepath.FromSlash(rel))
			data, err := os.ReadFile(file)
			if err == nil {
				err = os.Remove(file)
			}
			if err != nil {
				t.Error(err)
			}
			files[rel] = string(data)
		}
	}
	lose("context.md", "requirements.md", "02_architecting/architecture.md", "04_planning/plan.md", "04_planning/plan_1.md", "04_planning/tasks_1.md")
	var once sync.Once
	resumed := host.RunSpec{Dir: dir, Resume: true, OnCommit: func(s *orchestrator.State) {
		if s.Phase == "fixing" && s.Agents["coder"].Launch == "" && s.Agents["coder"].LastLaunch != "" && s.Agents["coder"].Retries > 0 {
			once.Do(func() { lose("07_review/fix_request.md", "context.md") })
		}
	}}
	stop = r.background(resumed)
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if len(files) != 7 {
		t.Errorf("lost %d files", len(files))
	}
	for rel, want := range files {
		if data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(rel))); err != nil || string(data) != want {
			t.Errorf("%s is %q, %v; it was %q", rel, data, err, want)
		}
	}
}
