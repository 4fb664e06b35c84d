package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
)

// smallDisk is a file system of its own that programs see at a directory, and nothing else on the machine does.
type smallDisk struct {
	t      testing.TB
	within []string // starts a program there
	asks   io.Writer
	says   *bufio.Scanner
}

// diskKeeper makes the file system, and gives it the room that it is asked for: as much as it needs, or not one page more than
// what is in it. Without the name of the disk, mount would set the owner once more, whom it does not know here.
const diskKeeper = `mount -t tmpfs -o size=8g,mode=700 disk "$0" && echo made || exit 1
while read -r room; do
	tries=0
	until [ "$room" = much ] && size=8g || size=$(df -k --output=used "$0" | tail -n 1 | tr -d ' ')k
		mount -t tmpfs -o "remount,size=$size" disk "$0"; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || exit 1
	done
	echo made
done`

// newSmallDisk makes one with much room. It ends with the test.
func newSmallDisk(t testing.TB, dir string) *smallDisk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command("unshare", "--map-root-user", "--mount", "sh", "-c", diskKeeper, dir)
	in, err := keeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := keeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		t.Skipf("no file system of its own: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = keeper.Wait()
	})
	d := &smallDisk{t: t, asks: in, says: bufio.NewScanner(out)}
	if !d.says.Scan() {
		t.Skip("this machine lets a test have no file system of its own")
	}
	d.within = []string{"nsenter", "--user", "--preserve-credentials", "--mount", "--target", fmt.Sprint(keeper.Process.Pid), "--"}
	return d
}

func (d *smallDisk) room(room string) {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.asks, room); err != nil || !d.says.Scan() {
		d.t.Fatalf("%s: %v", room, err)
	}
}

// run runs a program that sees the file system, and returns what it prints.
func (d *smallDisk) run(env []string, argv ...string) string {
	d.t.Helper()
	cmd := exec.Command(d.within[0], slices.Concat(d.within[1:], argv)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

// smallRunner is a runner with a disk of its own, and the label that its next job is about.
func smallRunner(t *testing.T, playbook string) (*runner, *smallDisk) {
	t.Helper()
	r := newRunner(t, rigOptions{playbook: playbook})
	disk := newSmallDisk(t, r.temp)
	r.within = disk.within
	r.saveOften()
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	return r, disk
}

// A disk that fills up while a job works, and stays full, ends it in order after two minutes: no agent is left, one annotation names the
// disk and what to do, and outputs and summary tell it. It is green: the next job, on another runner, continues from the checkpoint.
func TestADiskThatFillsUpInTheMiddleOfAJob(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r, disk := smallRunner(t, waitingAt(at))
	repo := r.github.Repo(rigRepo)
	var status string
	kept := filepath.Join(r.dir, "kept") // as the job ended
	ran := r.action(map[string]string{"issue": "1"}, func(step *os.Process) {
		r.eventually("the coder works, and the session is saved with the planner's end", func() bool {
			_, err := os.Stat(at)
			return err == nil && slices.ContainsFunc(r.savedOnes(), func(ref string) bool {
				return exec.Command("git", "-C", repo.Dir(), "grep", "--quiet", `"type":"agent_exited"`, ref).Run() == nil
			})
		}, nil)
		disk.room("none")
		env := slices.DeleteFunc(slices.Clone(r.env), func(v string) bool { return strings.HasPrefix(v, "XDG_STATE_HOME=") })
		own, err := r.program("status")
		if err != nil {
			t.Fatal(err)
		}
		status = disk.run(append(env, "XDG_STATE_HOME="+filepath.Join(r.temp, "agentmux", "state")), own, "status", rigRepo+"#1")
		r.eventually("the job ends", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", step.Pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, nil)
		disk.run(r.env, "cp", "-a", filepath.Join(r.temp, "agentmux", "state"), kept)
	})
	if entries := managedSessions(t, kept); len(entries) != 1 {
		t.Errorf("%d sessions", len(entries))
	} else {
		r.sound(entries[0])
	}
	if !strings.Contains(status, "0.0 GiB of 2.0 GiB are free in "+r.temp) || !strings.Contains(status, "make room there") {
		t.Errorf("status: %s", status)
	}
	if want := (map[string]int{"doctor": 0, "run": 0, "report": 0, "left": 0}); !maps.Equal(ran.codes, want) {
		t.Errorf("steps %v\n%s", ran.codes, ran.logs)
	}
	said := runlog.Annotations(ran.logs["run"], "notice")
	for _, want := range []string{"handover: the disk of this runner is full", r.temp, "no space left on device", "make room on it, or give the runner a larger one", "what was made after ", "the next sweep starts a job that continues from the last checkpoint on the server"} {
		if !strings.Contains(said["agentmux"], want) {
			t.Errorf("no %q in %q", want, said)
		}
	}
	if all := runlog.Kinds(runlog.Commands(ran.logs["run"])); len(said) != 1 || !slices.Equal(all, []string{"endgroup", "group", "notice"}) {
		t.Errorf("annotations %q, commands %q\n%s", said, all, ran.logs["run"])
	}
	if got := ran.outputs; got["outcome"] != "handover" || got["exit-code"] != "3" || got["session"] == "" || got["branch"] == "" || !strings.HasPrefix(ran.summary, "### agentmux: handover") {
		t.Errorf("outputs %q\n%s", got, ran.summary)
	}
	if left := disk.run(r.env, "find", filepath.Join(r.temp, "agentmux", "state"), "-type", "f"); left != "" {
		t.Errorf("left: %s", left)
	}
	token := r.env[slices.IndexFunc(r.env, func(v string) bool { return strings.HasPrefix(v, "GITHUB_TOKEN=") })]
	if text := fmt.Sprint(ran.logs, ran.summary); strings.Contains(text, strings.TrimPrefix(token, "GITHUB_TOKEN=")) {
		t.Errorf("the token is in the log\n%s", text)
	}
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.write(at+".never", "")
	r.within = nil
	r.continuesElsewhere()
}

// On a disk that is full for less than two minutes the session waits, and loses nothing of what was handed in meanwhile.
func TestADiskThatIsFullForAWhileInAJob(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	const submits = "      - submit: {tool: submit_done, with: {subplan_index: 1}}\n"
	told := fmt.Sprintf("      - run: {argv: [touch, %q]}\n", at+".submitted")
	r, disk := smallRunner(t, strings.Replace(waitingAt(at), submits, submits+told, 1))
	exists := func(file string) func() bool {
		return func() bool { _, err := os.Stat(file); return err == nil }
	}
	ran := r.action(map[string]string{"issue": "1"}, func(*os.Process) {
		r.eventually("the coder works", exists(at), nil)
		disk.room("none")
		r.write(at+".never", "")
		r.eventually("the coder has handed in", exists(at+".submitted"), nil)
		disk.room("much")
	})
	if want := (map[string]int{"doctor": 0, "run": 0, "report": 0, "left": 0}); !maps.Equal(ran.codes, want) || ran.outputs["outcome"] != "done" {
		t.Errorf("steps %v, outputs %q\n%s", ran.codes, ran.outputs, ran.logs)
	}
	if got := runlog.Kinds(runlog.Commands(ran.logs["run"])); !slices.Equal(got, []string{"endgroup", "group"}) {
		t.Errorf("commands %q", got)
	}
	if len(r.github.Repo(rigRepo).Pulls()) != 1 || !r.isDone(rigRepo, 1) {
		t.Errorf("%d pull requests, labels %q", len(r.github.Repo(rigRepo).Pulls()), r.github.Repo(rigRepo).Issue(1).Labels)
	}
}
