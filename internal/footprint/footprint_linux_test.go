package footprint_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/footprint"
)

// mapped is how much of this program's file is in the memory of this process, in KiB.
func mapped(t *testing.T) (kib int) {
	t.Helper()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	of := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 1 && strings.Contains(fields[0], "-"):
			of = strings.HasSuffix(lines.Text(), program) && strings.HasPrefix(fields[1], "r-")
		case of && len(fields) == 3 && fields[0] == "Rss:":
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			kib += n
		}
	}
	return kib
}

// What a program has read of its own file goes from its memory, and it runs on.
func TestTrimUnmapsTheProgram(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(program); err != nil { // in the cache of the system, so that a fault maps its neighbours, too
		t.Fatal(err)
	}
	before := mapped(t)
	footprint.Trim()
	if after := mapped(t); after >= before {
		t.Errorf("%d KiB, before %d", after, before)
	}
}
