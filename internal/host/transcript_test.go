package host_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
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
	launched(t, dir, "1.planner.1")
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
	dir, stop := r.coding()
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

// launched makes a launch that was prepared, in so far as its transcript needs it.
func launched(t *testing.T, dir, launch string) {
	t.Helper()
	at := filepath.Join(dir, "launches", launch)
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"version":1,"argv":["true"],"mark":"x","env_file":"` + filepath.Join(t.TempDir(), "x.env") + `"}`
	if err := os.WriteFile(filepath.Join(at, "launch.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A key that an agent gets looks like nothing: only this program knows it.
func TestSecurity7TheKeyOfAProviderDoesNotLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t, "providers: {script: {env: [SCRIPT_API_KEY]}}\n")
	key := strings.ToLower(rand.Text())
	r.host.Environ = func(name string) (string, bool) {
		if name == "SCRIPT_API_KEY" {
			return key, true
		}
		return os.LookupEnv(name)
	}
	coded := base64.StdEncoding.EncodeToString([]byte("key " + key))
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	sc.Print = map[string]string{"coder/1": "it is " + coded + " and " + key}
	sc.Files = map[string][]string{"1": {"hello.txt=" + hex.EncodeToString([]byte(key))}}
	r.script(sc)
	dir := r.prepare(quick)
	stop := r.background(host.RunSpec{Dir: dir})
	log := filepath.Join(dir, "transcripts", "2.coder.1.1.log")
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeNeedsHuman, "output_gate")
	r.eventually("the transcript is there", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "[redacted:provider-key]")
	})
	text, err := os.ReadFile(log)
	if err != nil || strings.Contains(string(text), key) || strings.Contains(string(text), coded) {
		t.Errorf("transcript %q, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(r.root, "r", "*.lent*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the runtime directory: %v, %v", left, err)
	}
}
