package mirror_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
)

// largeReview is a valid review of about 200 KB.
func largeReview(t *testing.T) []byte {
	t.Helper()
	var findings []map[string]string
	for i := range 100 {
		findings = append(findings, map[string]string{
			"location": fmt.Sprintf("file%d.go:1", i), "severity": "low",
			"issue": strings.Repeat("this is wrong ", 80), "recommendation": strings.Repeat("do it right ", 80),
		})
	}
	data, err := json.Marshal(map[string]any{"verdict": "fail", "summary": "```go\n" + strings.Repeat("x := 1\n", 200) + "```", "findings": findings})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func playLargeReview(t *testing.T, mode mirror.CommentMode) (sc *scene, comments []string) {
	t.Helper()
	sc = newScene(t, map[string][]byte{"blob/logic": largeReview(t)})
	sink := &paper{}
	m := sc.mirror(mirror.Options{Server: serverOf(sink), Mode: mode})
	sc.play(`10:06 1 phase_entered {"phase":"reviewing","kind":"review","reason":"start"}`)
	sc.play(`10:06 1 review_started {"iteration":0,"roles":["reviewer_logic"],"tree":"a41df31c0ffee"}`)
	sc.play(`10:44 1 artifact_accepted {"artifact":"review_reviewer_logic.yaml","sha256":"$blob:logic","role":"reviewer_logic"}`)
	sc.play(`10:44 1 verdict {"role":"reviewer_logic","iteration":0,"verdict":"fail","tree":"a41df31c0ffee","findings":100,"path":"07_review/review_0_reviewer_logic.md"}`)
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf(`10:44 1 command_applied {"name":"say","actor":"octo-dev","source":"issue","source_id":"comment/%d","reason":""}`, i))
	}
	lines = append(lines, `10:45 1 fix_round {"iteration":1,"cap":3}`, `10:45 1 event {"event":"review_failed","label":"fix needed"}`)
	for visit := 2; visit < 150; visit++ {
		lines = append(lines, fmt.Sprintf(`10:46 %d phase_entered {"phase":"fixing","kind":"fix","reason":"failed"}`, visit))
	}
	sc.play(lines...)
	sc.finish(m)
	for _, part := range strings.Split(sink.String(), "=== ")[1:] {
		if strings.HasPrefix(part, "new comment") {
			_, body, _ := strings.Cut(part, "\n")
			comments = append(comments, body)
		}
	}
	return sc, comments
}

func TestGitHub48LargeVerdictIsAtMostThreeComments(t *testing.T) {
	t.Parallel()
	_, comments := playLargeReview(t, mirror.Timeline)
	if len(comments) != 4 {
		t.Fatalf("%d comments, want the status and three parts", len(comments))
	}
	checkLargeStatus(t, comments[0])
	for i, body := range comments {
		if n := markdown.Units(body); n > 65_536 {
			t.Errorf("comment %d has %d units", i, n)
		}
		marker, ok := ghsync.ParseMarker(body)
		if !ok {
			t.Fatalf("comment %d has no marker", i)
		}
		if want := fmt.Sprintf("%d/3", i); i > 0 && (marker.Part != want || marker.Kind != ghsync.KindVerdict) {
			t.Errorf("comment %d: %+v", i, marker)
		}
	}
	if !strings.HasPrefix(comments[2], "| # | Severity |") {
		t.Errorf("the second part begins with %q", comments[2][:80])
	}
	if !strings.Contains(comments[3], "[cut: the whole text is in `07_review/review_0_reviewer_logic.md`]") {
		t.Error("the cut is not named")
	}
}

func TestLargeStatusDropsItsFoldsThenOldRows(t *testing.T) {
	t.Parallel()
	_, comments := playLargeReview(t, mirror.Quiet)
	checkLargeStatus(t, comments[0])
}

func checkLargeStatus(t *testing.T, status string) {
	t.Helper()
	if n := markdown.Units(status); n > 60_200 {
		t.Errorf("the status has %d units", n)
	}
	for _, want := range []string{"### agentmux: fixing", "earlier | done", "| **fixing** | running |", "attach:"} {
		if !strings.Contains(status, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
