package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/admission"
)

const (
	enough = "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\n"
	calm   = "some avg10=0.00 avg60=9.99 avg300=50.00 total=0\nfull avg10=0.00 avg60=50.00 avg300=0.00 total=0\n"
)

// machine is one of which the system tells this.
func machine(t *testing.T, meminfo, pressure string) admission.Machine {
	t.Helper()
	proc := t.TempDir()
	for name, text := range map[string]string{"meminfo": meminfo, "pressure/memory": pressure} {
		if text == "" {
			continue
		}
		file := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return admission.Machine{StateHome: filepath.Join(t.TempDir(), "not", "made", "yet"), Proc: proc}
}

func TestWhatAMachineLacks(t *testing.T) {
	for name, c := range map[string]struct {
		meminfo, pressure string
		want              string // part of the only line; empty = nothing is missing
	}{
		"nothing":             {enough, calm, ""},
		"a silent system":     {"", "", ""},
		"memory":              {strings.Replace(enough, "8000000", "2000000", 1), calm, "for memory, 1.9 GiB of 2.0 GiB are available"},
		"just enough":         {strings.Replace(enough, "8000000", "2097152", 1), calm, ""},
		"pressure":            {enough, strings.Replace(calm, "9.99", "10.00", 1), "in 10 % of the last minute"},
		"another form":        {"MemAvailable: lots\n", "some avg60=much\n", ""},
		"no line of pressure": {enough, "some avg10=90.00\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := machine(t, c.meminfo, c.pressure).Lacks(t.Context())
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("lacks %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPersonPausesAMachine(t *testing.T) {
	m := admission.Machine{StateHome: t.TempDir()}
	if m.Paused() {
		t.Error("paused without a file")
	}
	if err := os.WriteFile(filepath.Join(m.StateHome, "PAUSED"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !m.Paused() {
		t.Error("not paused with the file")
	}
}

func TestSlotsOfAMachine(t *testing.T) {
	total := func(gib string) string { return "MemTotal: " + gib + " kB\n" }
	for name, c := range map[string]struct {
		meminfo    string
		processors int
		want       int
	}{
		"processors are the limit": {total("67108864"), 8, 4},
		"memory is the limit":      {total("8388608"), 32, 2},
		"a small machine":          {total("2097152"), 1, 1},
		"a silent system":          {"", 6, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := machine(t, c.meminfo, "").Slots(c.processors); got != c.want {
				t.Errorf("%d slots, want %d", got, c.want)
			}
		})
	}
}

// Repositories may lie on a disk of their own.
func TestAMachineLacksSpaceWhereRepositoriesLie(t *testing.T) {
	const none = "/proc" // has no disk
	if _, err := os.Stat(filepath.Join(none, "self")); err != nil {
		t.Skip("this system has no /proc")
	}
	roomy := t.TempDir()
	for where, m := range map[string]admission.Machine{
		none + "/1/state":  {StateHome: none + "/1/state", Stores: roomy},
		none + "/1/stores": {StateHome: roomy, Stores: none + "/1/stores"},
		"":                 {StateHome: roomy},
	} {
		want, lacks := "", 0
		if where != "" {
			want, lacks = "0.0 GiB of 2.0 GiB are free in "+where, 1
		}
		if got := m.LacksSpace(); got != want {
			t.Errorf("%q: lacks %q", where, got)
		}
		m.Proc = t.TempDir() // tells nothing of memory
		if got := m.Lacks(t.Context()); len(got) != lacks || lacks == 1 && got[0] != "for disk space, "+want {
			t.Errorf("%q: lacks %q", where, got)
		}
	}
}
