package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// zeroPlaybook plays every agent of a team in no time.
const zeroPlaybook = `version: 1
agents:
  - role: build
    steps:
      - write: {file: "made/{task}.txt", text: "made\n"}
      - submit: {tool: submit_done}
`

// BenchmarkTeam runs agents files with agents that do no work, in a repository of 5,000 files:
//
//	atonce  AGENTMUX_BENCH_TEAM (50) agents that wait for none, all at once. workspaces-ms is from the
//	        beginning of the phase until the last workspace is filled. fetches is how often git asked
//	        the server for objects, counted in a run of its own.
//	chain   twenty agents, each of which waits for the one before. start is from the marker of one
//	        to the record that the next one runs.
//	idle    over AGENTMUX_BENCH_SECONDS (60): the processor time of this program in percent of a core, in
//	        a run of one agent that says nothing and twenty that wait for it (waiting), and in one of
//	        twenty that say nothing (working); ours-MB/agent is what an agent adds to the host,
//	        launches-of-waiting is how many of those that wait have a process all the same.
func BenchmarkTeam(b *testing.B) {
	b.Run("idle", func(b *testing.B) {
		b.Run("waiting", func(b *testing.B) { benchmarkIdleTeam(b, 1, 20) })
		b.Run("working", func(b *testing.B) { benchmarkIdleTeam(b, 20, 0) })
	})
	b.Run("atonce", func(b *testing.B) { benchmarkAtOnce(b, fromEnv(b, "AGENTMUX_BENCH_TEAM", 50)) })
	b.Run("chain", func(b *testing.B) { benchmarkChain(b, 20) })
}

func teamRig(b *testing.B, n int, agent func(i int) string, prepare ...func(*rig)) *rig {
	b.Helper()
	files := map[string]string{"README.md": "# widgets\n"}
	for i := range 5000 {
		files[fmt.Sprintf("src/d%02d/f%04d.txt", i%50, i)] = fmt.Sprintf("file %d\n", i)
	}
	r := newRig(b, rigOptions{files: files, playbook: zeroPlaybook, config: fmt.Sprintf("sandbox: {unsafe_flags: true}\nlimits: {parallel: %d}\nagents: {linger: 0s}\n", n)})
	var file strings.Builder
	file.WriteString("session: shop\nagents:\n")
	for i := range n {
		file.WriteString(agent(i))
	}
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file.String())
	for _, f := range prepare {
		f(r)
	}
	r.expect(exit.Done, "agents", "start", "--yes", "--headless")
	return r
}

// countGit has each call of git noted in a file, with its arguments in a line.
func countGit(log string) func(*rig) {
	return func(r *rig) {
		git, err := exec.LookPath("git")
		if err != nil {
			r.t.Fatal(err)
		}
		bin := filepath.Join(r.dir, "bin")
		script := "#!/bin/sh\necho \"$*\" >> " + log + "\nexec " + git + " \"$@\"\n"
		r.write(filepath.Join(bin, "git"), script)
		if err := os.Chmod(filepath.Join(bin, "git"), 0o700); err != nil {
			r.t.Fatal(err)
		}
		r.setEnv("PATH", bin+":"+os.Getenv("PATH"))
	}
}

func (r *rig) events() []orchestrator.Event {
	r.t.Helper()
	s, err := session.Open(r.session().Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	events, _, err := s.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

func benchmarkAtOnce(b *testing.B, n int) {
	var spans []time.Duration
	for range max(b.N, 1) {
		r := teamRig(b, n, func(i int) string { return fmt.Sprintf("  - {name: a%d, branch: b%d, task: t}\n", i, i) })
		var began, last time.Time
		for _, e := range r.events() {
			if _, ok := e.Data.(orchestrator.PhaseEnteredRecord); ok {
				began = e.TS.Time
			}
		}
		for i := range n {
			info, err := os.Stat(filepath.Join(r.dir, fmt.Sprintf("shop-a%d", i), ".git", "index"))
			if err != nil {
				b.Fatal(err)
			}
			if info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
		spans = append(spans, last.Sub(began))
	}
	log := filepath.Join(b.TempDir(), "git.log")
	r := teamRig(b, n, func(i int) string { return fmt.Sprintf("  - {name: a%d, branch: b%d, task: t}\n", i, i) }, countGit(log))
	calls, err := os.ReadFile(log)
	if err != nil {
		b.Fatal(err)
	}
	fetches := 0
	for line := range strings.Lines(string(calls)) {
		if strings.Contains(line, " fetch ") && strings.Contains(line, r.github.URL()) {
			fetches++
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(fetches), "fetches")
	b.ReportMetric(ms(quantile(spans, 1)), "workspaces-ms")
}

// benchmarkIdleTeam measures a run of agents that say nothing, and of others that wait for the first.
func benchmarkIdleTeam(b *testing.B, working, waiting int) {
	r := newRig(b, rigOptions{playbook: idlePlaybook, config: fmt.Sprintf("sandbox: {unsafe_flags: true}\nlimits: {parallel: %d}\n", working)})
	var file strings.Builder
	file.WriteString("session: shop\nagents:\n")
	for i := range working + waiting {
		fmt.Fprintf(&file, "  - {name: a%d, branch: b%d, task: t", i, i)
		if i >= working {
			file.WriteString(", depends_on: a0")
		}
		file.WriteString("}\n")
	}
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file.String())
	bg := r.background("agents", "start", "--yes", "--headless")
	r.eventually("all are at work", func() bool {
		entries := r.sessions()
		if len(entries) != 1 || entries[0].State == nil || len(entries[0].State.Pending) > 0 {
			return false
		}
		n := 0
		for _, a := range entries[0].State.Agents {
			if a.Launch != "" {
				n++
			}
		}
		return n == working
	}, bg.out.String)
	f := &fleet{rig: r, dirs: []string{r.session().Dir}, host: bg.cmd}
	before, after, span := f.pass(b)
	adds := after.ours().pss - after.kinds[kindHost].pss
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*(after.ours().cpu-before.ours().cpu).Seconds()/span.Seconds(), "ours-cpu-pct")
	b.ReportMetric(float64(after.kinds[kindHost].pss)/1e6, "host-MB")
	if waiting == 0 {
		b.ReportMetric(float64(adds)/1e6/float64(working), "ours-MB/agent")
	} else {
		b.ReportMetric(float64(after.count[kindAgentExec]-working), "launches-of-waiting")
	}
	b.Logf("processes by kind: %v", after.count)
	r.expect(exit.Done, "stop", "shop")
	<-bg.ended
}

func benchmarkChain(b *testing.B, n int) {
	var spans []time.Duration
	for range max(b.N, 1) {
		r := teamRig(b, n, func(i int) string {
			if i == 0 {
				return "  - {name: a0, branch: b0, task: t}\n"
			}
			return fmt.Sprintf("  - {name: a%d, branch: b%d, task: t, depends_on: a%d}\n", i, i, i-1)
		})
		marked := map[string]time.Time{}
		for _, e := range r.events() {
			switch d := e.Data.(type) {
			case orchestrator.AgentMarkedRecord:
				marked[d.Agent] = e.TS.Time
			case orchestrator.AgentStartedRecord:
				var i int
				if _, err := fmt.Sscanf(d.Task, "a%d", &i); err != nil {
					b.Fatal(err)
				}
				if i > 0 {
					spans = append(spans, e.TS.Sub(marked[fmt.Sprintf("a%d", i-1)]))
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	report(b, "start", spans)
}
