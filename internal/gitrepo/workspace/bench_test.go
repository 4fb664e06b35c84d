package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// BenchmarkSnapshot takes snapshots of a workspace in which 20 files change before each one, two
// of them new. The median is what an agent waits for.
func BenchmarkSnapshot(b *testing.B) {
	for _, form := range []string{"live", "quiet"} {
		for _, files := range []int{1_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", form, files), func(b *testing.B) { benchmarkSnapshot(b, files, form == "live") })
		}
	}
}

func benchmarkSnapshot(b *testing.B, files int, live bool) {
	// 20 files a directory, 20 directories a part.
	name := func(i int) string { return fmt.Sprintf("part%d/room%d/file%d.txt", i/400, i/20, i) }
	content := map[string]string{".gitignore": "build/\n"}
	for i := range files {
		content[name(i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 100)
	}
	r := newRig(b, content)
	w := r.Workspace("coder")
	spec := r.Spec(w)
	spec.Live = live
	var took []time.Duration
	for round := 0; b.Loop(); round++ {
		b.StopTimer()
		for k := range 20 {
			p := name(k * files / 20)
			if k < 2 {
				p += ".new"
			}
			if err := os.WriteFile(filepath.Join(w, p), fmt.Appendf(nil, "change %d of %d\n", round, k), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		start := time.Now()
		got, err := workspace.Take(b.Context(), r.Store, spec)
		took = append(took, time.Since(start))
		if err != nil || len(got.Changes) != 20 {
			b.Fatalf("%d changes, %v", len(got.Changes), err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
