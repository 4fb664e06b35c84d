package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/mcp"
	"github.com/agentmux/agentmux/orchestrator/tools"
)

// work is how long a timed agent works: until then, what the one before it left to be done is done.
const work = 500 * time.Millisecond

// changedFiles is how many files a timed agent changes; two of them are new.
const changedFiles = 20

// BenchmarkAnswer measures how long an agent waits for the answer to its submission, the snapshot
// of its workspace included: 20 changed files of a repository of 1,000 or 50,000, a coder of its
// own for each, a real client of the real tool server. AGENTMUX_BENCH_ANSWERS (10) is how many
// hand in, one after the other. Metric: answer, from the call to what the client gets.
func BenchmarkAnswer(b *testing.B) {
	for _, files := range []int{1_000, 50_000} {
		b.Run(strconv.Itoa(files), func(b *testing.B) { benchmarkAnswer(b, files) })
	}
}

func benchmarkAnswer(b *testing.B, files int) {
	n := max(b.N, fromEnv(b, "AGENTMUX_BENCH_ANSWERS", 10))
	own, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	source := largeRepository(b, files)
	answers := filepath.Join(source, "..", "answers")
	r := newRig(b, rigOptions{source: source, playbook: timedPlaybook(n), config: fmt.Sprintf(
		"  timed: {command: %q, headless_args: [%s, %q, %q], mcp: \"\", hooks: \"\"}\nroles: {coder: {provider: timed}}\n%s",
		own, timedAgent, answers, strconv.Itoa(files), unpaced)})
	b.StartTimer()
	r.expect(0, "issue", "1", "--workflow", "quick", "--headless", "--no-mirror")
	r.done(r.session())
	data, err := os.ReadFile(answers)
	if err != nil {
		b.Fatal(err)
	}
	var waited []time.Duration
	for line := range strings.Lines(string(data)) {
		d, err := time.ParseDuration(strings.TrimSpace(line))
		if err != nil {
			b.Fatal(err)
		}
		waited = append(waited, d)
	}
	if len(waited) != n {
		b.Fatalf("%d answers, want %d", len(waited), n)
	}
	b.ReportMetric(0, "ns/op")
	report(b, "answer", waited)
}

// largeName is a file of a large repository: 20 in a directory, 20 directories in a part.
func largeName(i int) string { return fmt.Sprintf("src/part%d/room%d/file%d.txt", i/400, i/20, i) }

// largeRepository makes one of so many files, in a directory of its own.
func largeRepository(tb testing.TB, files int) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "source")
	for i := range files {
		name := filepath.Join(dir, largeName(i))
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40)), 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	r := &rig{t: tb, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}}
	r.git(dir, "init", "-q", "-b", "main")
	r.git(dir, "add", "-A")
	r.git(dir, "-c", "user.name=Mia", "-c", "user.email=mia@example.com", "commit", "-q", "-m", "Start")
	return dir
}

// timedPlaybook plans n subplans, one after the other, and lets their work pass.
func timedPlaybook(n int) string {
	var ids, parts strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&ids, "{index: %d, name: p%d}, ", i, i)
		fmt.Fprintf(&parts, "              - {index: %d, title: p%d, scope: all, owned_files: [src/], dependencies: none, implementation_approach: write,\n"+
			"                 acceptance_criteria: none, tasks: [write]}\n", i, i)
	}
	return strings.NewReplacer(
		"plans: [{index: 1, name: a}]", "plans: ["+strings.TrimSuffix(ids.String(), ", ")+"]",
		`              - {index: 1, title: a, scope: a, owned_files: [a.txt], dependencies: none, implementation_approach: write,
                 acceptance_criteria: two, tasks: [write]}
`, parts.String()).Replace(quickPlaybook)
}

// timedAgent makes the test binary an agent that hands in once and notes how long it waited for
// the answer.
const timedAgent = "timed-agent"

// runTimed takes where it notes that, the number of files, and the prompt.
func runTimed(args []string) int {
	if err := timed(args[0], args[1], args[2]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func timed(answers, number, prompt string) error {
	files, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	launch := orchestrator.Launch(os.Getenv("AGENTMUX_LAUNCH"))
	parts, _ := launch.Parts()
	for k := range changedFiles {
		name := largeName(k * files / changedFiles)
		if k < 2 {
			name += "." + parts.Task
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "change %d of %s\n", k, launch), 0o644); err != nil {
			return err
		}
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	session := filepath.Dir(filepath.Dir(prompt[strings.IndexByte(prompt, '/'):]))
	client, err := mcp.Dial(context.Background(), []string{own, "mcp", "--session", session, "--role", parts.Role, "--task", parts.Task, "--launch", string(launch)})
	if err != nil {
		return err
	}
	index, err := strconv.Atoi(parts.Task)
	if err != nil {
		return err
	}
	time.Sleep(work)
	start := time.Now()
	answer, refused, err := client.Call(context.Background(), "submit_done", tools.Params{"subplan_index": index})
	waited := time.Since(start)
	if err != nil || refused {
		return fmt.Errorf("%s, %w", answer, err)
	}
	if err := durable.Log(answers, []byte(waited.String())); err != nil {
		return err
	}
	return client.Close()
}
