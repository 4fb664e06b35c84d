package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

const (
	approvalFile = "08_completion/approval.json"
	changesFile  = "08_completion/changes.md"
)

// atGate brings an attended session to its completion gate.
func atGate(t *testing.T) (*world, *host) {
	t.Helper()
	w := newWorld(t, "quick", func(st *orchestrator.State) { st.Interactive = true })
	h := w.start(engine.Options{})
	w.gate()
	return w, h
}

func (w *world) gate() *orchestrator.State {
	w.t.Helper()
	return w.until("at the gate", func(st *orchestrator.State) bool { return st.Gate != nil && len(st.Pending) == 0 })
}

// yes is an approval.json of what the open gate shows, with more keys.
func (w *world) yes(more string) string {
	return fmt.Sprintf(`{"action":"approve","of":"%s"%s}`, w.state().GateDigest()[:12], more)
}

func (w *world) stays(why string) {
	w.t.Helper()
	w.pass(10 * time.Second)
	if st := w.state(); st.Gate == nil || st.Ended() {
		w.t.Fatalf("%s: gate %v, phase %s", why, st.Gate, st.Phase)
	}
}

func (w *world) rejected(tool string) (n int) {
	for _, e := range w.events(orchestrator.EvInputRejected) {
		if e.Data.(orchestrator.InputRejectedRecord).Tool == tool {
			n++
		}
	}
	return n
}

// K6: the files that answer the completion gate.
func TestProtocolK6FilesAtTheGate(t *testing.T) {
	t.Run("approved", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w, h := atGate(t)
			w.write(approvalFile, w.yes(`,"exclude_files":["tmp/x"],"commit_message":"feat: mine","by":"ann"`))
			st := h.wait()
			if st.Outcome != "done" || !slices.Equal(st.Completion.Exclude, []string{"tmp/x"}) || st.Completion.Message != "feat: mine" {
				t.Errorf("ended %s, %+v", st.Outcome, st.Completion)
			}
			closed := w.events(orchestrator.EvGateClosed)[0].Data.(orchestrator.GateClosedRecord)
			if closed.Actor != "ann" || closed.Source != "file" || !strings.Contains(closed.Origin, "approval.json, written at ") {
				t.Errorf("closed by %v", closed)
			}
		})
	})
	broken := map[string]string{
		"bad JSON": `{"action":`, "another action": `{"action":"merge"}`, "wrong type": `{"action":"approve","exclude_files":7}`,
		"no digest": `{"action":"approve"}`, "another digest": `{"action":"approve","of":"0123456789ab"}`,
		"mistyped key": `{"action":"approve","exclude_file":["secret.txt"]}`, "NUL": "\x00",
	}
	t.Run("broken", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w, h := atGate(t)
			rejected := 0
			for name, text := range broken {
				times := 1
				if name == "bad JSON" || !testing.Short() {
					times = 2 // the same mistake again is another one
				}
				for range times {
					w.write(approvalFile, text)
					w.stays(name)
					if rejected++; w.rejected("approval.json") != rejected {
						t.Errorf("%s: %d rejections, want %d", name, w.rejected("approval.json"), rejected)
					}
					if _, err := os.Stat(w.s.Path(approvalFile)); err == nil {
						t.Errorf("%s: the bad file was not moved aside", name)
					}
				}
			}
			if kept, _ := filepath.Glob(w.s.Path("08_completion", "approval.stale-*.json")); len(kept) != rejected {
				t.Errorf("kept aside: %v", kept)
			}
			w.write(approvalFile, w.yes(""))
			if st := h.wait(); st.Outcome != "done" {
				t.Errorf("ended %s", st.Outcome)
			}
		})
	})
	t.Run("both: changes win", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w, _ := atGate(t)
			w.play = idle
			w.write(approvalFile, w.yes(""))
			w.write(changesFile, "Also log it.\n")
			st := w.until("planning again", func(st *orchestrator.State) bool { return st.Phase == "planning" && len(st.Pending) == 0 })
			if strings.TrimSpace(string(st.ChangeRequest)) != "Also log it." || st.ChangeRound != 1 {
				t.Errorf("change request %q, round %d", st.ChangeRequest, st.ChangeRound)
			}
			for _, file := range []string{changesFile, approvalFile} {
				if _, err := os.Stat(w.s.Path(file)); err == nil {
					t.Errorf("%s is still there", file)
				}
			}
		})
	})
	t.Run("changes that name their gate", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			w, _ := atGate(t)
			w.play = idle
			w.write(changesFile, "of: "+w.state().GateDigest()[:12]+"\nAlso log it.\n")
			st := w.until("planning again", func(st *orchestrator.State) bool { return st.Phase == "planning" })
			if strings.TrimSpace(string(st.ChangeRequest)) != "Also log it." {
				t.Errorf("change request %q", st.ChangeRequest)
			}
		})
	})
}

// K6: a changes.md that asks for nothing does not stand in the way of an approval; one that
// is broken is recorded.
func TestProtocolK6ABrokenAnswerHoldsNoOtherUp(t *testing.T) {
	for name, put := range map[string]struct {
		make    func(*world, string)
		records int
	}{
		"blank":          {func(w *world, file string) { w.write(changesFile, " \n") }, 0},
		"empty":          {func(w *world, file string) { w.write(changesFile, "") }, 0},
		"not UTF-8":      {func(w *world, file string) { w.write(changesFile, "log \xff\xfe it") }, 1},
		"NUL":            {func(w *world, file string) { w.write(changesFile, "log \x00 it") }, 1},
		"too long":       {func(w *world, file string) { w.write(changesFile, strings.Repeat("x", 2<<20)) }, 1},
		"another gate's": {func(w *world, file string) { w.write(changesFile, "of: 0123456789ab\nlog it") }, 1},
		"nothing asked":  {func(w *world, file string) { w.write(changesFile, "of: "+w.state().GateDigest()+"\n") }, 1},
		"a directory":    {func(w *world, file string) { must(w.t, os.Mkdir(file, 0o700)) }, 1},
		"a link":         {func(w *world, file string) { must(w.t, os.Symlink("/etc/hostname", file)) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, h := atGate(t)
				put.make(w, w.s.Path(changesFile))
				w.write(approvalFile, w.yes(""))
				if st := h.wait(); st.Outcome != "done" {
					t.Errorf("ended %s", st.Outcome)
				}
				if got := w.rejected("changes.md"); got != put.records {
					t.Errorf("%d records, want %d", got, put.records)
				}
			})
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What answered a gate, and what the program itself wrote then, is no answer to the gate that
// opens after the output gate found something, also not when the host was killed in between.
func TestSecurity19TheGateOpensWithoutItsOldAnswer(t *testing.T) {
	for name, again := range map[string]func(*world){
		"resume": func(w *world) { w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}}) },
		"resume, another host": func(w *world) {
			h := w.start(engine.Options{Start: orchestrator.Start{Mode: orchestrator.StartResume}})
			w.gate()
			h.stop()
			w.start(engine.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, h := atGate(t)
				w.findings = []string{"secret in a.go:3"}
				first := w.yes(`,"by":"ann"`)
				w.write(approvalFile, first)
				if st := h.wait(); st.OutcomeReason != orchestrator.ReasonOutputGate {
					t.Fatalf("ended %s %s", st.Outcome, st.OutcomeReason)
				}
				own, err := os.ReadFile(w.s.Path(approvalFile))
				must(t, err)
				if !strings.Contains(string(own), `"of":"`) {
					t.Errorf("the file does not say what was approved: %s", own)
				}
				again(w)
				w.stays("the file of the program")
				w.write(approvalFile, string(own))
				w.stays("the file of the program, copied")
				w.write(approvalFile, first)
				w.stays("the first answer again")
				w.write(approvalFile, w.yes(""))
				w.until("approved", func(st *orchestrator.State) bool { return st.Phase == orchestrator.PhaseDone })
			})
		})
	}
}
