package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
)

// jobActor is the account of a job's token.
const jobActor = "github-actions[bot]"

// BenchmarkJob measures jobs of the action with the program as it is built. AGENTMUX_BENCH_JOBS (1) is how often.
//
//	warm      a job on a runner that has the repository already: from its start to its first request and to its first
//	          agent; the memory of its process at most
//	cold      a job on a runner that has nothing of a repository of AGENTMUX_BENCH_COLD_FILES (50,000) files with
//	          AGENTMUX_BENCH_COLD_MB (100) of history, which takes five times that here: from its start to its first agent,
//	          what the runner keeps of it, and by how much that has grown after the next job
//	handover  what a short session asks of GitHub whose job hands it over while its coder works, as after 22 hours, and which a
//	          job on another runner ends; without the lists that a live repository is watched by
//	answered  what one asks whose job parks it with a question, and which the job of the answer on another runner ends
//	stop      a job that is interrupted while its coder works: from the signal until the session's end is on disk, until
//	          its last comment is, and until the process is gone
func BenchmarkJob(b *testing.B) {
	times := fromEnv(b, "AGENTMUX_BENCH_JOBS", 1)
	b.Run("warm", func(b *testing.B) {
		var request, agent time.Duration
		memory := int64(0)
		for range times {
			j := newJobBench(b, rigOptions{}, 2)
			j.labeled(1).end()
			first, ran := len(j.github.Calls()), j.labeled(2)
			ran.end()
			request = max(request, j.github.Calls()[first].Time.Sub(ran.began))
			agent = max(agent, j.first(2, orchestrator.EvAgentStarted).Sub(ran.began))
			memory = max(memory, ran.memory)
			j.cleanUp()
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ms(request), "first-request-max-ms")
		b.ReportMetric(ms(agent), "agents-started-max-ms")
		b.ReportMetric(float64(memory)/1e6, "host-MB")
	})
	b.Run("cold", func(b *testing.B) {
		files, history := fromEnv(b, "AGENTMUX_BENCH_COLD_FILES", 50_000), fromEnv(b, "AGENTMUX_BENCH_COLD_MB", 100)
		j := newJobBench(b, rigOptions{source: bigRepository(b, files, history)}, 2)
		ran := j.labeled(1)
		ran.end()
		agent, size := j.first(1, orchestrator.EvAgentStarted).Sub(ran.began), j.stored()
		again := j.labeled(2)
		again.end()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(agent.Seconds(), "agents-started-s")
		b.ReportMetric(float64(size)/1e6, "disk-MB")
		b.ReportMetric(j.first(2, orchestrator.EvAgentStarted).Sub(again.began).Seconds(), "next-agents-started-s")
		b.ReportMetric(float64(j.stored()-size)/1e6, "next-grown-MB")
		b.ReportMetric(float64(max(ran.memory, again.memory))/1e6, "host-MB")
	})
	b.Run("handover", func(b *testing.B) {
		at := filepath.Join(b.TempDir(), "at")
		r := newRunner(b, rigOptions{playbook: waitingAt(at), config: "github: {write_interval: 1s}\n"})
		r.handsOver("agentmux:quick", at)
		if got := r.continued(); got.Outcome != "done" || got.Moved == "" {
			b.Fatalf("result %+v", got)
		}
		r.reportAsked(b)
	})
	b.Run("answered", func(b *testing.B) {
		j := newJobBench(b, rigOptions{playbook: parkedPlaybook, config: parksSoon}, 1)
		j.labeled(1).end()
		repo := j.github.Repo(rigRepo)
		repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
		j.anotherRunner(79)
		repo.Comment(1, "/agentmux answer 2", rigOwner)
		j.event("issue_comment", commentEvent("/agentmux answer 2"))
		j.start(1).end()
		if got := j.result(); got.Outcome != "done" {
			b.Fatalf("result %+v", got)
		}
		j.reportAsked(b)
	})
	b.Run("stop", func(b *testing.B) {
		var state, comment, gone time.Duration
		for range times {
			j := newJobBench(b, rigOptions{playbook: heldPlaybook}, 1)
			ran := j.labeled(1)
			j.eventually("the coder works", func() bool {
				return slices.ContainsFunc(j.records(1), func(e orchestrator.Event) bool {
					d, ok := e.Data.(orchestrator.AgentStartedRecord)
					return ok && d.Role == "coder"
				})
			}, nil)
			told := time.Now()
			if err := ran.cmd.Process.Signal(syscall.SIGINT); err != nil {
				b.Fatal(err)
			}
			ran.end()
			gone = max(gone, time.Since(told))
			state = max(state, j.first(1, orchestrator.EvCanceled).Sub(told))
			for _, e := range j.github.Log() {
				if strings.HasSuffix(e.Route, "/issues/comments/{id}") {
					comment = max(comment, e.Time.Sub(told))
				}
			}
			j.cleanUp()
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ms(state), "state-max-ms")
		b.ReportMetric(ms(comment), "comment-max-ms")
		b.ReportMetric(ms(gone), "gone-max-ms")
	})
}

// jobBench is a runner whose jobs are the program as it is built, on a repository with some issues.
type jobBench struct {
	*runner
	program string
}

func newJobBench(b *testing.B, o rigOptions, issues int) *jobBench {
	j := &jobBench{runner: newRunner(b, o)}
	for range issues - 1 {
		j.github.Repo(rigRepo).AddIssue(fakehub.IssueSpec{Title: "Say two, too", Body: "Both.\n", Author: rigOwner})
	}
	j.program = j.build(b)
	return j
}

// settling is how long another label may follow: no runner begins a job sooner.
const settling = 5 * time.Second

// labeled starts the job of a label on an issue.
func (j *jobBench) labeled(issue int) *benchedJob {
	j.github.Repo(rigRepo).Label(issue, "agentmux:quick", rigOwner)
	j.event("issues", strings.Replace(labelEvent("agentmux:quick"), `"number":1`, fmt.Sprintf(`"number":%d`, issue), 1))
	pause(settling)
	return j.start(issue)
}

// benchedJob is a job that runs.
type benchedJob struct {
	j      *jobBench
	cmd    *exec.Cmd
	out    output
	began  time.Time
	memory int64 // bytes, at most
}

func (j *jobBench) start(issue int) *benchedJob {
	j.t.Helper()
	b := &benchedJob{j: j, cmd: exec.Command(j.program, "issue", fmt.Sprint(issue), "--headless")}
	b.cmd.Dir, b.cmd.Env = j.clone, j.env
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	b.began = time.Now()
	if err := b.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	return b
}

// end waits for the end of the job, and fails unless it leaves a session.
func (b *benchedJob) end() {
	b.j.t.Helper()
	ended := make(chan struct{})
	go func() { _ = b.cmd.Wait(); close(ended) }()
	limit := time.After(runLimit)
	for {
		select {
		case <-ended:
			if res := b.j.result(); res.Session == "" {
				b.j.t.Fatalf("result %+v\n%s", res, b.out.String())
			}
			return
		case <-limit:
			_ = b.cmd.Process.Kill()
			<-ended
			b.j.t.Fatalf("the job does not end\n%s", b.out.String())
		case <-time.After(20 * time.Millisecond):
			if now, err := readPSS(fmt.Sprintf("/proc/%d/smaps_rollup", b.cmd.Process.Pid)); err == nil { // else it has just ended
				b.memory = max(b.memory, now)
			}
		}
	}
}

// reportAsked reports what the jobs asked of GitHub, and apart from it what watching its lists costs.
func (r *runner) reportAsked(b *testing.B) {
	requests, looks := r.asked()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(requests), "requests")
	b.ReportMetric(float64(looks), "looks")
}

// records are those of the session of an issue on the runner.
func (j *jobBench) records(issue int) []orchestrator.Event {
	for _, e := range managedSessions(j.t, filepath.Join(j.temp, "state")) {
		if e.State != nil && e.State.IssueNumber == issue {
			return j.recordsOf(e)
		}
	}
	return nil
}

// first is when the first record of a type was made.
func (j *jobBench) first(issue int, kind string) time.Time {
	j.t.Helper()
	for _, e := range j.records(issue) {
		if e.Type == kind {
			return e.TS.Time
		}
	}
	j.t.Fatalf("the session of issue %d has no record %s", issue, kind)
	return time.Time{}
}

// bigRepository makes a repository whose first commits hold so many megabytes that do not compress, and whose last one
// has so many small files.
func bigRepository(b *testing.B, files, megabytes int) (dir string) {
	b.Helper()
	dir = filepath.Join(b.TempDir(), "big")
	load := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	in, err := load.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := load.Start(); err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(in, 1<<20)
	noise, blob := rand.NewChaCha8([32]byte{}), make([]byte, 1<<20)
	commit := func(name string) {
		fmt.Fprintf(w, "commit refs/heads/main\ncommitter Mia <mia@example.com> 1700000000 +0000\ndata %d\n%s\n", len(name), name)
	}
	for n := range megabytes {
		commit(fmt.Sprint("Data ", n))
		_, _ = noise.Read(blob)
		fmt.Fprintf(w, "M 100644 inline data.bin\ndata %d\n%s\n", len(blob), blob)
	}
	commit("Files")
	fmt.Fprint(w, "D data.bin\n")
	for n := range files {
		fmt.Fprintf(w, "M 100644 inline d%d/f%d.txt\ndata 4\none\n\n", n/100, n)
	}
	for _, name := range []string{"a.txt", "b.txt"} { // of the playbook
		fmt.Fprintf(w, "M 100644 inline %s\ndata 4\none\n\n", name)
	}
	if err := errors.Join(w.Flush(), in.Close(), load.Wait()); err != nil {
		b.Fatal(err)
	}
	return dir
}

// stored is how many bytes the state of the jobs takes on the runner: the copy of the repository, and the sessions.
func (j *jobBench) stored() (size int64) {
	j.t.Helper()
	if err := filepath.WalkDir(filepath.Join(j.temp, "state"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}); err != nil {
		j.t.Fatal(err)
	}
	return size
}
