package mirror_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGitHub47MirrorWrites plays each script and compares everything written in each mode. A
// script's archive holds the files of the session (issue_snapshot.json, blob/NAME), the
// script, and one file per mode with what is expected. All four kinds are among them in
// each mode, but that a quiet one folds verdicts into the status.
func TestGitHub47MirrorWrites(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	kinds := map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, files := archive(t, path)
			for _, mode := range []mirror.CommentMode{mirror.Timeline, mirror.Every, mirror.Quiet} {
				want, ok := files["want/"+string(mode)]
				if !ok {
					t.Errorf("nothing is expected of the mode %s", mode)
				}
				for _, m := range anyKind.FindAllSubmatch(want, -1) {
					kinds[string(mode)+" "+string(m[1])] = true
				}
			}
			for i := range a.Files {
				mode, ok := strings.CutPrefix(a.Files[i].Name, "want/")
				if !ok {
					continue
				}
				t.Run(mode, func(t *testing.T) {
					got := written(t, files, mirror.CommentMode(mode))
					if *update {
						a.Files[i].Data = []byte(got)
						return
					}
					if want := string(a.Files[i].Data); got != want {
						t.Errorf("written:\n%s\nwant:\n%s", got, want)
					}
				})
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if len(kinds) != 3*4-1 || kinds["quiet verdict"] {
		t.Errorf("kinds in modes: %q", slices.Sorted(maps.Keys(kinds)))
	}
}

var anyKind = regexp.MustCompile(`(?m)^<!-- agentmux session=\S+ kind=(\w+) `)

func written(t *testing.T, files map[string][]byte, mode mirror.CommentMode) string {
	t.Helper()
	sc := newScene(t, files)
	sink := &paper{}
	notes := strings.Split(strings.TrimSpace(string(files["notes"])), "\n")
	m := sc.mirror(mirror.Options{Mode: mode, Server: serverOf(sink), Notes: func() []string {
		if notes[0] == "" {
			return nil
		}
		return notes
	}})
	for line := range strings.Lines(string(files["script"])) {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "sync":
			sc.finish(m)
			sink.note("\n")
		default:
			sc.play(line)
		}
	}
	sc.finish(m)
	return sink.String()
}

// A gate's comment shows what is asked: how much changes, why, and the digest that names it;
// what answered it is in the status. Names of files are inert.
func TestAGateShowsWhatItAsksAbout(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	digest := strings.Repeat("0a1b2c3d", 8)
	m := sc.mirror(mirror.Options{Server: serverOf(sink), Deaf: true, Changes: func(of string) []string {
		if of != digest {
			t.Errorf("asked about %s", of)
		}
		return append([]string{"33 files changed, +40 -2"}, slices.Repeat([]string{"docs/@mia`#3.md +1 -0"}, 33)...)
	}})
	sc.play(`10:06 1 phase_entered {"phase":"completing","kind":"complete"}`)
	sc.play(`10:07 1 gate_opened {"gate":"completion","digest":"` + digest + `","reason":"output_gate","findings":["workflow in .github/workflows/x.yml: @mia"]}`)
	sc.finish(m)
	got := sink.String()
	for _, want := range []string{
		"33 files changed, +40 -2:", "- and 3 more", "Digest `0a1b2c3d0a1b`", "`agentmux diff octo/widgets#12` shows all of it",
		"It is open because the output gate found", "- workflow in .github/workflows/x.yml: `@mia`",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	sc.play(`10:08 1 gate_closed {"gate":"completion","action":"approve","actor":"mia","source":"cli","pid":812,"digest":"` + digest + `"}`)
	sc.play(`10:09 1 done {"outcome":"done","seconds":60}`)
	sc.finish(m)
	if got := sink.String(); !strings.Contains(got, "Result: approved by mia, by command, pid 812") {
		t.Errorf("it does not say what approved:\n%s", got)
	}
}

// A gate's comment names each held path once: in the list of files, or behind it what that does not
// reach; and what the output gate would block later.
func TestAGateNamesWhatItHolds(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	m := sc.mirror(mirror.Options{Server: serverOf(sink), Changes: func(string) []string {
		return append([]string{"33 files changed, +40 -2", "CODEOWNERS +1 -0 (held: maintain permission approves it)"}, slices.Repeat([]string{"docs/a.md +1 -0"}, 32)...)
	}})
	sc.play(`10:06 1 phase_entered {"phase":"completing","kind":"complete"}`)
	sc.play(`10:07 1 gate_opened {"gate":"completion","digest":"` + strings.Repeat("0a1b2c3d", 8) + `","reason":"review_passed","held":["CODEOWNERS","z/AGENTS.md","more than 100 changed files"],"findings":["path.blocked: x.yml"]}`)
	sc.finish(m)
	got := sink.String()
	for want, times := range map[string]int{
		"CODEOWNERS": 1, "Held, too: maintain permission approves it.\n- `z/AGENTS.md`\n- `more than 100 changed files`\n": 1, "The output gate blocks:\n- path.blocked: x.yml": 1,
	} {
		if n := strings.Count(got, want); n != times {
			t.Errorf("%q is said %d times:\n%s", want, n, got)
		}
	}
}

// Where comments are read while the session runs, its questions ask for one, and its end does not.
func TestAnEndAsksForNoCommentWhereNoneIsReadAfterIt(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	m := sc.mirror(mirror.Options{Server: serverOf(sink), DeafAfter: true})
	sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan"}`)
	sc.play(`10:07 1 question_asked {"id":"q1","kind":"ask","role":"planner","text":"Which?"}`)
	sc.finish(m)
	if got := sink.String(); !strings.Contains(got, "Reply: `/agentmux answer q1 <number or text>`") {
		t.Errorf("written:\n%s", got)
	}
	sc.play(`10:51 1 needs_human {"reason":"question","text":"q1 was not answered","next":"answer it"}`)
	sc.finish(m)
	if got := sink.String(); strings.Contains(got, "`/agentmux resume`") || !strings.Contains(got, "Go on: `agentmux resume 20261121-100512-issue-12-add-retry`.") {
		t.Errorf("written:\n%s", got)
	}
}

// Where comments are not read, no text asks for one.
func TestAnEndAsksForNoCommentWhereNoneIsRead(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	m := sc.mirror(mirror.Options{Server: serverOf(sink), Deaf: true})
	sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan"}`)
	sc.play(`10:51 1 done {"outcome":"needs_human","seconds":60}`)
	sc.finish(m)
	got := sink.String()
	if strings.Contains(got, "/agentmux ") || !strings.Contains(got, "`agentmux resume 20261121-100512-issue-12-add-retry --changes TEXT` goes on.") {
		t.Errorf("written:\n%s", got)
	}
}

// What the output gate does not let into a checkpoint ends with the runner of its job. What the job asks says that it waits, and its
// end asks for the one command that another job can carry out.
func TestWhatEndsWithItsRunnerAsksForAnotherTry(t *testing.T) {
	for name, of := range map[string]mirror.Options{"a job": {Fleeting: true}, "a machine that stays": {}} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, nil)
			sink := &paper{}
			of.Server = serverOf(sink)
			m := sc.mirror(of)
			sc.play(`10:06 1 phase_entered {"phase":"completing","kind":"complete"}`)
			sc.play(`10:06 1 checkpoint_saved {"ref":"r","sha":"c","stays":"secret.aws-key: a.txt line 1"}`)
			sc.play(`10:07 1 gate_opened {"gate":"completion","digest":"` + strings.Repeat("0a1b2c3d", 8) + `","reason":"review_passed","findings":["secret.aws-key: a.txt line 1"]}`)
			sc.finish(m)
			got := sink.String()
			if !strings.Contains(got, "Reply: `/agentmux approve`") || strings.Contains(got, "keeps its runner") != of.Fleeting {
				t.Errorf("the gate says:\n%s", got)
			}
			sc.play(`10:51 1 needs_human {"reason":"output_gate","text":"the output gate found it","next":"resume to scan again, or say what to change"}`)
			sc.finish(m)
			got = strings.TrimPrefix(sink.String(), got)
			if once := strings.Count(got, "`/agentmux retry` begins once more"); of.Fleeting != (once == 2) || of.Fleeting == strings.Contains(got, "`/agentmux resume`") {
				t.Errorf("the end says:\n%s", got)
			}
			if of.Fleeting != strings.Contains(got, "on the runner of this job alone, and is lost with it: secret.aws-key: a.txt line 1.") {
				t.Errorf("the end does not say why:\n%s", got)
			}
		})
	}
}
