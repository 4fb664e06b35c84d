package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/internal/testfull"
)

// demonstration is a run of agentmux demo in a place of its own: an empty working directory
// that cannot be written to, an own temporary directory, no terminal, as in CI.
type demonstration struct {
	t   *testing.T
	tmp string
	cmd *exec.Cmd
	log string // what it prints
}

func (d *demonstration) printed() string {
	d.t.Helper()
	data, err := os.ReadFile(d.log)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func newDemonstration(t *testing.T, args ...string) *demonstration {
	t.Helper()
	tmp, err := os.MkdirTemp("", "amx") // short: sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", tmp).Run(); os.RemoveAll(tmp) })
	panes, err := inPanes()
	if err != nil {
		t.Fatal(err)
	}
	d := &demonstration{t: t, tmp: tmp, log: filepath.Join(t.TempDir(), "out")}
	d.cmd = exec.Command(panes, append([]string{"demo", "--fast"}, args...)...)
	d.cmd.Dir = t.TempDir()
	if err := os.Chmod(d.cmd.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	d.cmd.Env = append(os.Environ(), "CI=true", "TMPDIR="+tmp, "TERM=", "AGENTMUX_TEST_BINARY=1", testexit.Env)
	out, err := os.Create(d.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	d.cmd.Stdout, d.cmd.Stderr = out, out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// noFile fails if the demonstration left a file.
func (d *demonstration) noFile() {
	d.t.Helper()
	entries, err := os.ReadDir(d.tmp)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		d.t.Errorf("%s is left", filepath.Join(d.tmp, e.Name()))
	}
}

// noProcess fails if a process of the demonstration remains.
func (d *demonstration) noProcess() {
	d.t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	processes := func() (found string) {
		environments, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range environments {
			data, _ := os.ReadFile(file) // it may have ended
			if bytes.Contains(data, []byte("="+d.tmp)) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				found += strings.ReplaceAll(string(line), "\x00", " ") + "\n"
			}
		}
		return found
	}
	eventually(d.t, "no process is left", func() bool { return processes() == "" }, processes)
}

// The demonstration shows each part of its story, fits a terminal, and leaves nothing behind.
func TestTheDemonstrationGoesThroughTheBot(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	d := newDemonstration(t)
	if err := d.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, d.printed())
	}
	text := d.printed()
	at := 0
	for _, want := range []string{
		`mia +puts the label agentmux on #1`,
		`robo-1 +comments on #1: `,
		`mia +puts the label agentmux:feature on #2`,
		`robo-1 +comments on #2: queued: 1st of 1\. Waits: for the slot, which is\s+taken`, // the place
		`\| /agentmux say Refuse more than two decimals`,
		`robo-1 +👍 on "/agentmux say": done`, // the receipt
		`robo-1 +opens pull request #3`,
		`mia +reviews #3 and requests changes`,
		`\| /agentmux stop`,
		`robo-1 +pushes to pull request #3`, // the change round
		`== The branch agentmux/issue-1-`,
		`robo-1: fix: keep the sign of a credit`,
		`\+.*more than two decimals", s\)`, // the diff has what the comment asked for
		`\+.*if negative \{`,               // and what the review asked for
		`ok  \s+example.com/invoice/money`,
		`== The comments on #1`, `### agentmux: done in`, `mia.*say coder-1.*✅ delivered`, `✅ applied`,
		`== Pull request #3 \(ready for review\)`, `Closes #1`,
		`== The reviews of #3`, `mia: CHANGES_REQUESTED`, `== The comments on #3`, `Review round 2`,
		`== The comments on #2`, `Stopped by .mia.`,
	} {
		where := regexp.MustCompile(want).FindStringIndex(text[at:])
		if where == nil {
			t.Fatalf("it does not show %s after\n%s\nin\n%s", want, text[:at], text)
		}
		at += where[1]
	}
	if began := regexp.MustCompile(`edits its comment on #2: (starting|\w+ing)`).FindStringIndex(text); began == nil {
		t.Errorf("the second issue never begins:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if n := columnsOf(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.ContainsAny(text, "\x1b\r") {
		t.Error("it sends codes to a terminal that is not there")
	}
	d.noProcess()
	d.noFile()
}

// The demonstration of an agents file ends with a branch for each agent that builds, the one that failed
// among them, and with nothing else in the clone.
func TestTheDemonstrationOfAnAgentsFile(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	d := newDemonstration(t, "--agents", "--keep")
	if err := d.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, d.printed())
	}
	text := d.printed()
	at := 0
	for _, want := range []string{
		`  session: shop`, `\$ agentmux agents start --yes --headless`, `3 worktrees, 1 review agent`,
		`build/words failed: exit 3`, `review is blocked by words`, `words +shop/words +build +failed \(exit 3\)`, `page +shop/page +build +done`, `review +— +review +blocked`,
		`\$ agentmux retry --role words`, `build/words started`, `done: 3 branches`, `words +shop/words +build +done`, `review +— +review +done`,
		`HEAD -> main: Open the shop`, `## words`, `A greeting and a farewell`, `removed the worktrees of shop`,
	} {
		where := regexp.MustCompile(want).FindStringIndex(text[at:])
		if where == nil {
			t.Fatalf("it does not show %s after\n%s\nin\n%s", want, text[:at], text)
		}
		at += where[1]
	}
	again := text[strings.Index(text, "retry --role words"):]
	if strings.Contains(again, "plan/plan started") || strings.Contains(again, "build/page started") {
		t.Errorf("the retry starts agents that are done:\n%s", again)
	}
	_, kept, _ := strings.Cut(text, "\nKept: ")
	dir, _, _ := strings.Cut(kept, "\n")
	refs, err := exec.Command("git", "-C", filepath.Join(dir, "shop"), "for-each-ref", "--format=%(refname:short)").Output()
	if got := strings.Fields(string(refs)); err != nil || !slices.Equal(got, []string{"main", "shop/page", "shop/plan", "shop/words"}) {
		t.Errorf("refs %v, %v", got, err)
	}
	files, err := exec.Command("git", "-C", filepath.Join(dir, "shop"), "ls-tree", "-r", "--name-only", "shop/words").Output()
	if got := strings.Fields(string(files)); err != nil || !slices.Contains(got, "words/greeting.txt") || !slices.Contains(got, "words/farewell.txt") {
		t.Errorf("shop/words holds %v, %v", got, err)
	}
	for line := range strings.Lines(text) {
		if n := columnsOf(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	d.noProcess()
}

// In the demonstration of messages the question of an agent is answered, the message that the table does
// not allow is refused with what it allows, and each branch has what the messages led to.
func TestTheDemonstrationOfMessages(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	d := newDemonstration(t, "--mesh", "--keep")
	if err := d.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, d.printed())
	}
	text := d.printed()
	at := 0
	for _, want := range []string{
		`"red": +\{"complete": \{"green"`, `\$ agentmux answer The price is with tax\.\nanswer: done`,
		`\$ agentmux msg list --session shop`, `What red was told`, `msg_send: sent: \S+-ask-red--core-red-1\.md to core/core`,
		`msg_send: refused: red may not send complete to refactor, only complete to\s+green`, `msg_send: sent: \S+-task-complete-red--green`,
		`green +shop/green +build +done`, `refactor +shop/refactor +build +done`, `\+tax=5 # a fifth`, `removed the worktrees of shop`,
	} {
		where := regexp.MustCompile(want).FindStringIndex(text[at:])
		if where == nil {
			t.Fatalf("it does not show %s after\n%s\nin\n%s", want, text[:at], text)
		}
		at += where[1]
	}
	for _, want := range []string{
		`ask +shop/red +core/core +start +acked`, `ask-response +core/core +shop/red +complete +acked`, `task-complete +shop/red +shop/green +complete +acked`,
		`update +shop/refactor +shop/green +rejected +acked`, `update +shop/refactor +shop/red +approved +acked`, `It has to hold for every price\.`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("it does not show %s:\n%s", want, text)
		}
	}
	if n := len(regexp.MustCompile(`task-complete +shop/green +shop/refactor +complete +acked`).FindAllString(text, -1)); n != 2 {
		t.Errorf("green told refactor %d times, not twice:\n%s", n, text)
	}
	_, kept, _ := strings.Cut(text, "\nKept: ")
	dir, _, _ := strings.Cut(kept, "\n")
	for branch, want := range map[string]string{"red:price_test.sh": "= 120", "green:price.sh": `+ "$1" / 5`, "refactor:price.sh": "/ $tax"} {
		if got, err := exec.Command("git", "-C", filepath.Join(dir, "shop"), "show", "shop/"+branch).Output(); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("shop/%s holds %q, %v", branch, got, err)
		}
	}
	for line := range strings.Lines(text) {
		if n := columnsOf(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	d.noProcess()
}

// columnsOf is how wide a terminal shows a line.
func columnsOf(line string) int {
	n := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n += 8 - n%8
		}
		for _, r := range part {
			if n++; strings.ContainsRune("👀👍👎✅❌", r) {
				n++
			}
		}
	}
	return n
}

// An interrupt while agents work leaves nothing behind either; with --keep files alone.
func TestAnInterruptedDemonstrationLeavesNothing(t *testing.T) {
	testfull.Only(t)
	for name, args := range map[string][]string{"removed": nil, "kept": {"--keep"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDemonstration(t, args...)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = d.cmd.Wait() // the exit code says more
			}()
			// The coder works until it hears the comment, which is not written yet.
			eventually(t, "a coder works", func() bool { return strings.Contains(d.printed(), "on #1: implementing") }, d.printed)
			if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			limit := time.AfterFunc(runLimit, func() { _ = d.cmd.Process.Signal(syscall.SIGQUIT) })
			defer limit.Stop()
			<-ended
			if code := d.cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit %d\n%s", code, d.printed())
			}
			d.noProcess()
			if len(args) == 0 {
				d.noFile()
				return
			}
			if sockets, err := filepath.Glob(filepath.Join(d.tmp, "*", "r", "agentmux", "*")); err != nil || len(sockets) > 0 {
				t.Errorf("sockets %v, %v", sockets, err)
			}
		})
	}
}

// With --keep the directory stays, and the last lines say what is where.
func TestAKeptDemonstrationSaysWhereItsFilesAre(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	d := newDemonstration(t, "--keep")
	if err := d.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, d.printed())
	}
	_, kept, found := strings.Cut(d.printed(), "\nKept: ")
	dir, rest, _ := strings.Cut(kept, "\n")
	if !found || filepath.Dir(dir) != d.tmp {
		t.Fatalf("kept: %q", kept)
	}
	named := regexp.MustCompile(`(?m)^  (\S+) +(the|its) `).FindAllStringSubmatch(rest, -1)
	if len(named) < 4 {
		t.Errorf("it names %v", named)
	}
	for _, n := range named {
		if _, err := os.Stat(filepath.Join(dir, n[1])); err != nil {
			t.Error(err)
		}
	}
}
