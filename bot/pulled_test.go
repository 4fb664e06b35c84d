package bot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// pull opens a pull request from a branch of its own, as an account.
func (r *rig) pull(login, branch, body string) (number int) {
	r.Helper()
	r.repo.Commit(fakehub.CommitSpec{Branch: branch, Message: branch, Author: "Robo <robo@example.com>", Files: map[string]string{branch + ".txt": "two\n"}})
	data, err := json.Marshal(map[string]any{"title": "Say two", "head": branch, "base": "main", "body": body})
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.server.API()+"repos/"+widgets+"/pulls", bytes.NewReader(data))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.server.Token(login))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct{ Number int }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Number == 0 {
		r.Fatalf("%s: %v", resp.Status, err)
	}
	return made.Number
}

// A command on the pull request of a session that another machine had is for the issue of that session: it is
// answered, and another try begins there. What is written on other pull requests is not for the bot.
func TestACommandOnThePullRequestOfAnotherMachine(t *testing.T) {
	r := newRig(t)
	issue := r.repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: mia})
	text := func(session string) string {
		return fmt.Sprintf("## Summary\n\nCloses #%d\n<!-- agentmux session=%s kind=status seq=58 -->", issue, session)
	}
	ours := r.pull(robo, "agentmux/issue-1-say-two", text("20261121-100436-issue-1-say-two-0123456789abcdef"))
	unmarked := r.pull(mia, "two", fmt.Sprintf("Closes #%d", issue))
	forged := r.pull(mia, "three", text("s"))
	changes := r.repo.Comment(ours, "/agentmux changes say three", mia)
	others := []int64{r.repo.Comment(unmarked, "/agentmux changes say three", mia), r.repo.Comment(forged, "/agentmux retry", mia)}
	retry := r.repo.Comment(ours, "/agentmux retry", mia) // it is judged last
	answers := map[int64][]string{}
	r.serveUntil(func() bool {
		for _, number := range []int{ours, unmarked, forged} {
			for _, c := range r.repo.Comments(number) {
				answers[c.ID] = c.Reactions
			}
		}
		return slices.Contains(answers[retry], robo+" +1") && slices.Contains(r.repo.Issue(issue).Labels, "agentmux:queued")
	})
	if got := answers[changes]; !slices.Equal(got, []string{robo + " -1"}) {
		t.Errorf("changes: %q", got)
	}
	for _, id := range others {
		if got := answers[id]; len(got) > 0 {
			t.Errorf("on another pull request: %q", got)
		}
	}
}
