package gate_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/redact"
)

func refusal(d gate.Decision) string {
	return gate.Refusal(d, markdown.New("https://github.com", nil), redact.New()).String()
}

// What keeps a session from its checkpoint is told with both ways to start over: that of the bot and that of a terminal.
func TestARefusedCheckpointNamesBothWaysToStartOver(t *testing.T) {
	if d := gate.Checkpoint("", 12); d.What != gate.Start || d.Refused() {
		t.Errorf("one that is good: %+v", d)
	}
	d := gate.Checkpoint("the checkpoint of s is refused: it is not one", 12)
	got := refusal(d)
	for _, want := range []string{"Cause: the checkpoint of s is refused: it is not one.", "Next: set the label again to start over, or agentmux issue 12 --new in a clone."} {
		if !d.Refused() || !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestGitHub19ARefusalSaysWhyAndWhatToDo(t *testing.T) {
	f := wanted()
	f.Record.Labels[0].Actor = eve
	d, _ := gate.Judge(f)
	const want = `### agentmux: not started

Cause: eve has read permission, and write is needed.

Asked for by ` + "`eve`" + ` at 2026-11-21 10:04 UTC.

Next: a person with write permission can set the label agentmux again.

<!-- agentmux session=refused-`
	text := refusal(d)
	marker, marked := ghsync.ParseMarker(text)
	if !strings.HasPrefix(text, want) || !marked || marker != gate.RefusalMarker(d.Asked.Trigger) || marker.Kind != ghsync.KindFinal || marker.Seq != 0 || len(marker.Session) != len("refused-0123456789ab") {
		t.Errorf("%s\nmarker %+v", text, marker)
	}
	f.Record.Labels[0] = label("agentmux", eve, 1e9)
	if e, _ := gate.Judge(f); gate.RefusalMarker(e.Asked.Trigger) == marker {
		t.Error("two triggers have one marker")
	}
}

// What others write, in a label or in a file of the base commit, has no mention, reference, picture or marker.
func TestARefusalIsInert(t *testing.T) {
	f := wanted()
	selecting("agentmux:@all fixes #7 <!-- agentmux")(&f)
	d, _ := gate.Judge(f)
	base := gate.Slot{Base: document.Problems{{File: ".agentmux/workflows/a.yaml", Line: 1, Text: "no phase \"@all ![x](https://evil.example) #7\""}}, Label: "agentmux"}.Judge()
	for name, text := range map[string]string{"label": refusal(d), "base": refusal(base)} {
		for line := range strings.Lines(text) {
			outside := ""
			for i, part := range strings.Split(line, "`") {
				if i%2 == 0 {
					outside += part
				}
			}
			if strings.ContainsAny(outside, "@") || strings.Contains(outside, "#7") || strings.Contains(outside, "](") || strings.Contains(outside, "<!--") && !strings.HasPrefix(line, "<!-- agentmux session=refused-") {
				t.Errorf("%s: %q", name, line)
			}
		}
		if n := strings.Count(text, "<!-- agentmux session="); n != 1 {
			t.Errorf("%s has %d markers:\n%s", name, n, text)
		}
	}
}

// A configuration with many problems does not make a comment that GitHub refuses.
func TestALongRefusalIsCut(t *testing.T) {
	var bad document.Problems
	for range 500 {
		bad = append(bad, document.Problem{File: "a.yaml", Line: 3, Text: strings.Repeat("word ", 1000)})
	}
	d := gate.Slot{Base: bad, Label: "agentmux"}.Judge()
	text := refusal(d)
	if len(text) > 20_000 || !strings.Contains(text, "a.yaml:3") || !strings.Contains(text, "and 480 more") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
	if !strings.Contains(text, "Next: correct it on the base branch, then set the label agentmux again.") {
		t.Errorf("%s", text[len(text)-300:])
	}
}

// A label of a workflow that there is not is told which labels there are, those of the base branch, too. What is wrong with the
// base branch is told first.
func TestGitHub25AnUnknownWorkflowIsToldTheLabelsThereAre(t *testing.T) {
	base := fstest.MapFS{".agentmux/workflows/docs.yaml": {}, ".agentmux/workflows/Not A Label.yaml": {}}
	s := gate.Slot{Label: "bot", Workflow: "nosuch", Files: base}
	d := s.Judge()
	text := refusal(d)
	if d.Row != gate.RowBase || d.What != gate.Refuse {
		t.Errorf("row %s, %s", d.Row, d.What)
	}
	for _, says := range []string{`no workflow "nosuch"`, ".agentmux/workflows of the base branch", "Next: set one of the labels bot:feature, bot:quick, bot:docs, or bot alone for the default workflow."} {
		if !strings.Contains(text, says) {
			t.Errorf("does not say %q:\n%s", says, text)
		}
	}
	s.Base = document.Problems{{File: "a.yaml", Line: 3, Text: "unknown key"}}
	if d := s.Judge(); d.Row != gate.RowBase || d.Remedy != "correct it on the base branch, then set the label bot:nosuch again" {
		t.Errorf("row %s: %s", d.Row, d.Remedy)
	}
	for _, known := range []string{"docs", "quick", ""} {
		if d := (gate.Slot{Label: "bot", Workflow: known, Files: base}).Judge(); d.What != gate.Start {
			t.Errorf("%q: %s", known, d)
		}
	}
}

func TestSecurity25RefusalsAreFew(t *testing.T) {
	for _, c := range []struct {
		ofIssue, ofRepo int
		want            bool
	}{{0, 0, true}, {0, 9, true}, {1, 1, false}, {0, 10, false}, {5, 50, false}} {
		if got := gate.MayComment(c.ofIssue, c.ofRepo); got != c.want {
			t.Errorf("after %d on the issue and %d in the repository: %t", c.ofIssue, c.ofRepo, got)
		}
	}
}
