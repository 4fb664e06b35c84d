package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A session keeps the text it began with; that the issue says something else now is one
// line of the status, and no line any more when the old text is back.
func TestGitHub46EditedIssueIsOneLine(t *testing.T) {
	for deaf, next := range map[bool]string{false: "/agentmux retry", true: "agentmux issue octo/widgets#12 --new"} {
		t.Run(fmt.Sprintf("deaf %t", deaf), func(t *testing.T) {
			st := newStage(t)
			body, other := "Please.", "Please, and more."
			st.repo.EditIssue(12, "read", nil, &body)
			snapshot, err := ghsync.ParseSnapshot(st.files["issue_snapshot.json"])
			if err != nil {
				t.Fatal(err)
			}
			snapshot.Raw.Title, snapshot.Raw.Body = sha("Add retry"), sha(body)
			data, err := snapshot.Encode()
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, st.session.Path(session.SnapshotFile), data)
			o := st.options()
			o.Deaf, o.Pace.Labels = deaf, time.Nanosecond
			m := st.mirror(o)
			st.play(st.script[0])
			shown := func() string {
				st.finish(m)
				st.finish(m) // what the first look found
				return st.repo.Comments(12)[0].Body
			}
			shown()
			if got := shown(); strings.Contains(got, "Text edited") {
				t.Errorf("edited:\n%s", got)
			}
			st.repo.EditIssue(12, "read", nil, &other)
			edits := len(st.server.Log())
			got := shown()
			if strings.Count(got, "Text edited, seen at 10:05; this session works from `9f2c41d07a3b`; `"+next+"` takes the new text\n") != 1 {
				t.Errorf("status:\n%s", got)
			}
			st.finish(st.mirror(o)) // a restart does not forget it
			if later := shown(); later != got || len(st.server.Log()) != edits+1 {
				t.Errorf("%d writes, status:\n%s", len(st.server.Log())-edits, later)
			}
			st.repo.EditIssue(12, "read", nil, &body)
			if got := shown(); strings.Contains(got, "Text edited") {
				t.Errorf("edited back:\n%s", got)
			}
		})
	}
}

func sha(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// A person who removes the label of a session that is under way finds it there again; one who removes
// the label of an end has removed it, also for the next host.
func TestGitHub42ALabelThatAPersonRemoves(t *testing.T) {
	st := newStage(t)
	o := st.options()
	o.Pace.Labels = time.Nanosecond
	m := st.mirror(o)
	st.play(st.script[0])
	st.finish(m)
	has := func(name string) bool { return slices.Contains(st.repo.Issue(12).Labels, name) }
	st.repo.Unlabel(12, "agentmux:running", "write")
	st.finish(m)
	st.finish(m)
	if !has("agentmux:running") {
		t.Errorf("under way: labels %v", st.repo.Issue(12).Labels)
	}
	st.play(`10:20 1 failed {"reason":"agent","cause":"the agent failed","next":"agentmux resume x"}`)
	st.finish(m)
	if !has("agentmux:failed") || has("agentmux:running") {
		t.Fatalf("at the end: labels %v", st.repo.Issue(12).Labels)
	}
	st.repo.Unlabel(12, "agentmux:failed", "write")
	st.finish(m)
	st.finish(st.mirror(o))
	if has("agentmux:failed") || has("agentmux:running") {
		t.Errorf("after the end: labels %v", st.repo.Issue(12).Labels)
	}
}
