package testplain_test

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"testing"

	"github.com/agentmux/agentmux/internal/testplain"
)

func TestTheProgramHasNoRaceDetector(t *testing.T) {
	t.Parallel()
	program, err := testplain.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			t.Error("built with the race detector")
		}
	}
	if os.Getenv("AGENTMUX_TEST_PLAIN") != "" {
		return // this is the program
	}
	cmd := exec.Command(program, "-test.run=^TestTheProgramHasNoRaceDetector$", "-test.v")
	cmd.Env = append(os.Environ(), "AGENTMUX_TEST_PLAIN=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the program has not this test: %v\n%s", err, out)
	}
}
