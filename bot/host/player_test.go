package host_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/orchestrator"
)

// What scripted agents do after their submission.
const (
	thenStays    = "stay"     // until it is ended
	thenWrites   = "write"    // late.txt and more, the last of it when it is ended
	thenForks    = "fork"     // exits; a writer that it left behind writes late.txt when it is ended
	thenRepeats  = "repeat"   // submits a second time, then exits
	thenAsks     = "ask"      // asks a person, then exits
	thenDies     = "die"      // is killed before it hears the answer
	thenDeaf     = "deaf"     // stays, and ignores TERM
	thenOld      = "old"      // as thenWrites, and nobody waits for the answer any more: its line is a minute old
	lateFile     = "late.txt" // what is written later
	lateContents = "later\n"
)

// heard is what the test learns of a scripted agent: its process, or an answer to it.
type heard struct {
	Launch orchestrator.Launch
	PID    int    `json:",omitempty"`
	Start  int64  `json:",omitempty"`
	Home   string `json:",omitempty"`
	Dir    string `json:",omitempty"`
	Inode  uint64 `json:",omitempty"` // of Dir
	Head   string `json:",omitempty"` // the commit there
	Tool   string `json:",omitempty"`
	OK     bool   `json:",omitempty"`
	Text   string `json:",omitempty"`
}

// heardFile lies beside the project.
const heardFile = "heard"

func (p *player) tell(h heard) { tell(filepath.Dir(p.project()), h) }

func tell(root string, h heard) {
	if h.PID > 0 {
		h.Start, _ = process.StartTime(h.PID)
	}
	line, err := json.Marshal(h)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(filepath.Join(root, heardFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			_, err = f.Write(append(line, '\n'))
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		fmt.Println(err)
	}
}

// place tells where the agent was started.
func (h heard) place() heard {
	h.Dir = here()
	if info, err := os.Stat(h.Dir); err == nil {
		h.Inode = info.Sys().(*syscall.Stat_t).Ino
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		fmt.Println(err)
	}
	h.Head = strings.TrimSpace(string(head))
	return h
}

func here() string {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Println(err)
	}
	return dir
}

// put writes "path=content" and removes "-path".
func put(files []string) error {
	for _, f := range files {
		if gone, ok := strings.CutPrefix(f, "-"); ok {
			if err := os.Remove(gone); err != nil {
				return err
			}
			continue
		}
		name, content, _ := strings.Cut(f, "=")
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content+"\n"), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// submit hands something in, again after a refusal if the scenario says so, and then does what
// it says.
func (p *player) submit(tool string, params map[string]any) int {
	then := p.what.Then[p.key()]
	ended := make(chan os.Signal, 1)
	switch then {
	case thenWrites, thenOld:
		signal.Notify(ended, syscall.SIGTERM)
	case thenDeaf:
		signal.Ignore(syscall.SIGTERM)
	case thenForks:
		if err := p.fork(); err != nil {
			fmt.Println(err)
			return 6
		}
	case thenDies:
		p.who.Wait = time.Nanosecond
	}
	if then == thenOld {
		p.who.Now = func() time.Time { return time.Now().Add(-time.Minute) }
	}
	code := p.call(tool, params)
	for range p.what.Again[p.key()] {
		if code == 0 {
			break
		}
		if err := put(p.what.Mend[p.key()]); err != nil {
			fmt.Println(err)
			return 6
		}
		code = p.call(tool, params)
	}
	if code != 0 {
		return code
	}
	return p.after(then, tool, params, ended)
}

func (p *player) after(then, tool string, params map[string]any, ended <-chan os.Signal) int {
	switch then {
	case thenStays, thenDeaf:
		select {}
	case thenWrites, thenOld:
		if err := os.WriteFile(lateFile, nil, 0o644); err != nil {
			fmt.Println(err)
		}
		<-ended
		if err := put([]string{lateFile + "=later", "a.txt=later"}); err != nil {
			fmt.Println(err)
		}
	case thenRepeats:
		return p.call(tool, params)
	case thenAsks:
		p.call("ask_human", map[string]any{"question": "Was it right?", "options": []any{"a", "b"}})
	case thenDies:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return 0
}

// fork starts a writer that outlives this process and returns when it runs.
func (p *player) fork() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "scribble", filepath.Dir(p.project()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return err
}

// scribble is a process that an agent left: it writes when it is ended.
func scribble(root string) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGHUP)
	tell(root, heard{PID: os.Getpid()})
	fmt.Println("ready")
	<-ended
	if err := os.WriteFile(lateFile, []byte(lateContents), 0o644); err != nil {
		return 1
	}
	return 0
}

// heard returns what the test learned of the scripted agents so far.
func (r *rig) heard() []heard {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.root, heardFile))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	var list []heard
	for line := range bytes.Lines(data) {
		var h heard
		if err := json.Unmarshal(line, &h); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// answers returns what a launch was told about its submissions.
func (r *rig) answers(launch orchestrator.Launch) []heard {
	r.t.Helper()
	var list []heard
	for _, h := range r.heard() {
		if h.Launch == launch && h.Tool != "" {
			list = append(list, h)
		}
	}
	return list
}

// player returns where a launch ran.
func (r *rig) player(launch orchestrator.Launch) heard {
	r.t.Helper()
	for _, h := range r.heard() {
		if h.Launch == launch && h.PID > 0 {
			return h
		}
	}
	r.t.Fatalf("%s never ran", launch)
	return heard{}
}

// noneLeft fails if a process of a scripted agent runs.
func (r *rig) noneLeft() {
	r.t.Helper()
	for _, h := range r.heard() {
		if h.PID == 0 {
			continue
		}
		if start, err := process.StartTime(h.PID); err == nil && start == h.Start {
			r.t.Errorf("process %d of launch %q runs", h.PID, h.Launch)
		}
	}
}

// refusals fails unless the coder's only launch was refused so many times, and read at
// least so many of the answers.
func (r *rig) refusals(dir string, want, atLeast int) {
	r.t.Helper()
	refused := 0
	for _, h := range r.answers("2.coder.1.1") {
		if strings.HasPrefix(h.Text, "refused: submit_done was not taken.") {
			refused++
		}
	}
	if n := r.count(dir, orchestrator.EvInputRejected); n != want || refused < atLeast || refused > want {
		r.t.Errorf("%d records of a refusal, want %d; %d answers of it, want %d at least", n, want, refused, atLeast)
	}
	if a := r.state(dir).Agents["coder/1"]; a.Attempt != 1 || a.Retries != 0 {
		r.t.Errorf("the coder was started again: %+v", a)
	}
}
