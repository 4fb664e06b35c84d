package fakehub_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

const (
	doneStatus = "### agentmux: done in 3 min\n| planning | done | |\n| fixing | done | |\n| reviewing | done | |\n"
	shownWhole = `{"intents":{"status":{}},"issue":1,"shown_seq":5,"label":"done","status_comment_id":STATUS}`
)

func TestCheckComparesSessionsWithTheirFiles(t *testing.T) {
	const records = `{"seq":1,"type":"phase_entered","data":{"phase":"planning"}}
{"seq":2,"type":"event","data":{"event":"review_failed"}}
{"seq":3,"type":"phase_entered","data":{"phase":"fixing"}}
{"seq":4,"type":"phase_entered","data":{"phase":"reviewing"}}
{"seq":5,"type":"done","data":{}}
{"seq":6,"type":"cut_off","data":{}}
`
	for name, tc := range map[string]struct {
		kind   string // of a comment that is made, with its seq and part
		text   string
		mirror string // mirror_state.json before it
		label  string
		want   string // rule; empty: no problem
	}{
		"as it should be":      {"verdict seq=2", "x", `{"intents":{"2":{}}}`, "", ""},
		"a part":               {"verdict seq=2 part=2/3", "x", `{"intents":{"2/2":{}}}`, "", ""},
		"without an intent":    {"verdict seq=2", "x", `{"intents":{"4":{}}}`, "", "I5"},
		"without a memory":     {"final seq=5", "x", `{}`, "", "I5"},
		"no record":            {"final seq=6", "x", `{"intents":{"6":{}}}`, "", "I3"},
		"another record":       {"final seq=2", "x", `{"intents":{"2":{}}}`, "", "I3"},
		"a verdict of a phase": {"verdict seq=4", "x", `{"intents":{"4":{}}}`, "", "I3"},
		"the phases":           {"status seq=5", "| planning | done | |\n| **reviewing** | |\n\n| later | | |\n", `{"intents":{"status":{}}}`, "", ""},
		"phases out of order":  {"status seq=5", "| fixing | done | |\n| planning | done | |\n", `{"intents":{"status":{}}}`, "", "I3"},
		"a phase line":         {"status seq=3 part=phase", "x", `{"intents":{"3":{}}}`, "", ""},
		"no phase line":        {"status seq=2 part=phase", "x", `{"intents":{"2":{}}}`, "", "I3"},
		"its label":            {"final seq=5", "x", `{"intents":{"5":{}},"issue":1,"shown_seq":5,"label":"done"}`, "agentmux:done", ""},
		"another label":        {"final seq=5", "x", `{"intents":{"5":{}},"issue":1,"shown_seq":5,"label":"done"}`, "agentmux:running", "I9"},
		"no label":             {"final seq=5", "x", `{"intents":{"5":{}},"issue":1,"shown_seq":5,"label":"done"}`, "bug", "I9"},
		"not shown so far":     {"final seq=5", "x", `{"intents":{"5":{}},"issue":1,"shown_seq":4,"label":"running"}`, "agentmux:running", ""},
		"the status":           {"status seq=5", doneStatus, shownWhole, "agentmux:done", ""},
		"another outcome":      {"status seq=5", strings.Replace(doneStatus, "done in", "failed after", 1), shownWhole, "agentmux:done", "I4"},
		"still at work":        {"status seq=5", strings.Replace(doneStatus, "done in 3 min", "reviewing", 1), shownWhole, "agentmux:done", "I4"},
		"the last phase lacks": {"status seq=5", strings.Replace(doneStatus, "| reviewing | done | |\n", "", 1), shownWhole, "agentmux:done", "I4"},
		"no status at all":     {"status seq=5", "x", shownWhole, "agentmux:done", "I4"},
		"behind, not shown":    {"status seq=5", "### agentmux: reviewing\n", strings.Replace(shownWhole, `"shown_seq":5`, `"shown_seq":4`, 1), "agentmux:done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := broken(t)
			n := s.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "bot"})
			root := t.TempDir()
			dir := filepath.Join(root, "20261121-x")
			s.Sessions(root)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, data := range map[string]string{
				"events.jsonl": records, "mirror_state.json": strings.Replace(tc.mirror, "STATUS", "0", 1), "state.json": `{"seq":5,"outcome":"done","pending_effects":[]}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tc.label != "" {
				s.Repo(widgets).Label(n, tc.label, "bot")
			}
			kind, rest, _ := strings.Cut(tc.kind, " ")
			body := fmt.Sprintf("%s\n<!-- agentmux session=20261121-x kind=%s %s -->", tc.text, kind, rest)
			made := as(t, s, "bot").want(201, "POST", fmt.Sprintf("/repos/octo/widgets/issues/%d/comments", n), map[string]string{"body": body})
			shown := strings.Replace(tc.mirror, "STATUS", fmt.Sprint(made.get("id")), 1)
			if err := os.WriteFile(filepath.Join(dir, "mirror_state.json"), []byte(shown), 0o600); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(s.Problems(), "\n")
			if tc.want == "" && got != "" || tc.want != "" && (!strings.HasPrefix(got, tc.want+":") || strings.Contains(got, "\n")) {
				t.Errorf("problems %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPushesAndPullRequestsOfSessionsHaveTheirEffects(t *testing.T) {
	s := broken(t)
	clone := checkout(t, s, "bot", "work")
	root := t.TempDir()
	dir := filepath.Join(root, "20261121-x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	state := func(text string) {
		t.Helper()
		for file, data := range map[string]string{"events.jsonl": "", "state.json": text} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Sessions(root)
	r := s.Repo(widgets)
	r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m\n\nAgentmux-Session: 20261121-x\n", Files: map[string]string{"a": "x"}})
	open := func(head string) {
		t.Helper()
		as(t, s, "bot").want(201, "POST", "/repos/octo/widgets/pulls", map[string]any{
			"title": "t", "head": head, "base": "main", "body": "x\n<!-- agentmux session=20261121-x kind=status seq=1 -->",
		})
	}
	state(`{"pending_effects":[{"type":"ensure_pr"}]}`)
	open("fix")
	if got := s.Problems(); len(got) != 0 {
		t.Fatalf("problems %q", got)
	}
	r.CloseIssue(r.Pulls()[0].Number, "bot")
	state(`{"pending_effects":[{"type":"ensure_push"}]}`)
	open("fix")
	if got := strings.Join(s.Problems(), "\n"); !strings.HasPrefix(got, "I5: POST /repos/{owner}/{repo}/pulls") {
		t.Errorf("problems %q", got)
	}
	before := len(s.Problems())
	push := func() []string {
		t.Helper()
		mustGit(t, clone, "commit", "-q", "--allow-empty", "-m", "m\n\nAgentmux-Session: 20261121-x")
		mustGit(t, clone, "push", "-q", "origin", "HEAD:refs/heads/fix")
		return s.Problems()
	}
	mustGit(t, clone, "fetch", "-q", "origin", "fix")
	mustGit(t, clone, "reset", "-q", "--hard", "FETCH_HEAD")
	if got := push(); len(got) != before {
		t.Fatalf("problems of a push with its effect: %q", got)
	}
	state(`{"pending_effects":[{"type":"ensure_pr"}]}`)
	if got := strings.Join(push(), "\n"); !strings.Contains(got, "I5: PUSH of 20261121-x") {
		t.Errorf("problems %q", got)
	}
}
