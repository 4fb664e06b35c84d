package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/start"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestKilledHostsEndTheSame kills the host with SIGKILL after its n-th record,
// for n spread over the whole run and past its end, and resumes: the end is that
// of a run without a kill. AGENTMUX_KILLS sets how many moments are taken.
func TestKilledHostsEndTheSame(t *testing.T) {
	t.Parallel()
	kills := 3
	if testing.Short() {
		kills = 1
	}
	if n, err := strconv.Atoi(os.Getenv("AGENTMUX_KILLS")); err == nil {
		kills = n
	}
	whole := newRig(t, rigOptions{})
	whole.expect(0, "issue", "1", "--headless")
	want := whole.picture()
	records := whole.session().State.Seq
	t.Logf("%d records in a run without a kill", records)
	for i := range kills {
		n := 3 + i*(records-3)/max(1, kills-1) // 3 is the host's first, the last one is the run's end
		t.Run(fmt.Sprintf("after record %d", n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			r.killAfter(n, "issue", "1", "--headless")
			r.resumeToEnd()
			if got := r.picture(); got != want {
				t.Errorf("after a kill:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}

// duration is the only part of a heading that differs between runs.
var duration = regexp.MustCompile(` in [0-9 a-z]+$`)

// picture is what people see at the end: comments by kind, branches, tree, pull request.
func (r *rig) picture() string {
	r.t.Helper()
	e := r.session()
	r.done(e)
	repo := r.github.Repo(rigRepo)
	var b bytes.Buffer
	for _, issue := range []int{1, e.State.Completion.PRNumber} {
		for _, c := range repo.Comments(issue) {
			fmt.Fprintf(&b, "#%d %s\n", issue, duration.ReplaceAllString(firstLine(c.Body), ""))
		}
	}
	for _, pull := range repo.Pulls() {
		fmt.Fprintf(&b, "pull %d draft %v\n", pull.Number, pull.Draft)
	}
	branch := e.State.FeatureBranch
	r.git(r.clone, "fetch", "--quiet", "origin", branch)
	fmt.Fprintf(&b, "tree %s\n", r.git(r.clone, "rev-parse", "FETCH_HEAD^{tree}"))
	fmt.Fprintf(&b, "commits %s\n", r.git(r.clone, "rev-list", "--count", "origin/HEAD..FETCH_HEAD"))
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := bytes.Cut([]byte(text), []byte("\n"))
	return string(line)
}

// killAfter starts a command and ends it with SIGKILL once the session has n records.
func (r *rig) killAfter(n int, args ...string) {
	r.t.Helper()
	cmd := r.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.NewTimer(runLimit)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			if r.records() < n-3 { // how many there are varies a little
				r.t.Fatalf("the run ended before record %d:\n%s", n, out.String())
			}
			return
		case <-deadline.C:
			_ = cmd.Process.Kill()
			r.t.Fatalf("record %d did not come:\n%s", n, out.String())
		case <-tick.C:
			if r.records() >= n {
				_ = cmd.Process.Kill()
				<-ended
				return
			}
		}
	}
}

// records counts the lines of the only session's events.jsonl, 0 without one. Its name is a date, or that of an agents file.
func (r *rig) records() int {
	files, _ := filepath.Glob(filepath.Join(session.Dir(r.clone), "[2s]*", session.EventsFile))
	if len(files) != 1 {
		return 0
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return 0
	}
	return bytes.Count(data, []byte("\n"))
}

// resumeToEnd resumes until the session is done. One resume is enough unless the
// kill came while the session was being made.
func (r *rig) resumeToEnd() {
	r.t.Helper()
	for range 2 {
		e := r.sessions()
		if len(e) == 1 && e[0].State != nil && e[0].State.Phase == orchestrator.PhaseDone && !start.Owes(r.t.Context(), e[0]) {
			return
		}
		if res := r.agentmux("issue", "1", "--headless"); res.code != 0 {
			r.t.Fatalf("resume: exit %d\n%s%s", res.code, res.out, res.err)
		}
	}
}
