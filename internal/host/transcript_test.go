package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator"
)

func TestSecurity33ATranscriptHoldsNoSecretAndIsCut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(quick)
	secret := "ghp_" + strings.Repeat("aB3", 12)
	if err := host.Transcript(strings.NewReader("token "+secret+"\nend\n"), dir, "1.planner.1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "transcripts", "1.planner.1.log")
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), secret) || !strings.HasSuffix(string(text), "\nend\n") {
		t.Errorf("transcript %q, %v", text, err)
	}
	long := strings.NewReader(strings.Repeat(strings.Repeat("x", 99)+"\n", 21<<20/100))
	if err := host.Transcript(long, dir, "1.planner.1"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() < 20<<20 || info.Size() > 20<<20+100 {
		t.Errorf("size %d, %v", info.Size(), err)
	}
	if err := host.Transcript(strings.NewReader(""), dir, "../x"); err == nil {
		t.Error("a launch with a path was taken")
	}
}

func TestWhatAgentsPrintIsWrittenDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	r.eventually("the transcript is there", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "transcripts", "2.coder.1.1.log"))
		return err == nil && strings.Contains(string(text), "submitted")
	})
}
