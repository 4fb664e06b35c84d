package work_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// BenchmarkCheckpointBeside has the host's loop commit steps while checkpoints of BenchmarkCheckpoint are made: a checkpoint
// is an effect, beside which the loop works. Metrics: blocked-p90-ms, by which the longest commit beside a checkpoint is
// longer than one at rest, and rest-p50-ms, what that takes.
func BenchmarkCheckpointBeside(b *testing.B) {
	s := newSaving(b)
	s.save()
	var rest, blocked []time.Duration
	for range 50 {
		rest = append(rest, s.commit())
	}
	slices.Sort(rest)
	for n := range max(b.N, benchTimes) {
		files := map[string]string{}
		for i := range benchChanged {
			files[benchName(i*benchFiles/benchChanged)] = fmt.Sprintf("change %d\n", n) + strings.Repeat("a line that stayed\n", 40)
		}
		repotest.Write(b, s.workspace, files)
		saved := make(chan struct{})
		go func() {
			defer close(saved)
			s.save()
		}()
		var longest time.Duration
		for made := false; !made; {
			longest = max(longest, s.commit())
			select {
			case <-saved:
				made = true
			case <-time.After(time.Millisecond):
			}
		}
		blocked = append(blocked, max(0, longest-rest[len(rest)/2]))
	}
	slices.Sort(blocked)
	milli := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(milli(blocked[len(blocked)*9/10]), "blocked-p90-ms")
	b.ReportMetric(milli(rest[len(rest)/2]), "rest-p50-ms")
}

// commit makes a step of the session durable, as the host's loop does.
func (s *saving) commit() time.Duration {
	began := time.Now()
	if err := s.session.Commit(decide.Step{State: s.state, Changed: true}); err != nil {
		s.b.Error(err)
	}
	return time.Since(began)
}

// BenchmarkCheckpointMemory saves 49 MiB of unsubmitted work, nearly all that a checkpoint takes: of 49 files, and of one.
// Metric: above-idle-MB, by how much the process of the host is larger meanwhile. The server is in it.
func BenchmarkCheckpointMemory(b *testing.B) {
	if _, err := pss(); err != nil {
		b.Skip(err)
	}
	for name, n := range map[string]int{"files": 49, "file": 1} {
		b.Run(name, func(b *testing.B) {
			s := newSaving(b)
			s.save()
			random, files := rand.New(rand.NewPCG(1, 2)), map[string]string{}
			for i := range n {
				files[fmt.Sprintf("large/%d.txt", i)] = large(random, 49<<20/n)
			}
			repotest.Write(b, s.workspace, files)
			clear(files)
			debug.FreeOSMemory()
			idle, err := pss()
			if err != nil {
				b.Fatal(err)
			}
			most, saved := idle, make(chan struct{})
			go func() {
				defer close(saved)
				s.save()
			}()
			for made := false; !made; {
				select {
				case <-saved:
					made = true
				case <-time.After(2 * time.Millisecond):
				}
				if now, err := pss(); err == nil {
					most = max(most, now)
				}
			}
			b.ReportMetric(float64(most-idle)/1e6, "above-idle-MB")
		})
	}
}

// large is a text of a size that does not compress well.
func large(random *rand.Rand, size int) string {
	var text strings.Builder
	for text.Len() < size {
		fmt.Fprintf(&text, "%016x %016x %016x\n", random.Uint64(), random.Uint64(), random.Uint64())
	}
	return text.String()[:size]
}

// pss is the memory of this process, in bytes.
func pss() (int64, error) {
	data, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(data, []byte("\nPss:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kib, err := strconv.ParseInt(strings.TrimSpace(string(line)), 10, 64)
	return kib << 10, err
}
