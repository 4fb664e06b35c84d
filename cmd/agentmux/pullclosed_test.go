package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// others opens fifty pull requests of a person, as many as the list that a bot reads has.
func (w *reviewed) others() {
	w.t.Helper()
	for n := range 50 {
		w.repo.Commit(fakehub.CommitSpec{Branch: fmt.Sprint("other-", n), Message: "Other", Files: map[string]string{"other.txt": "other\n"}})
		body := fmt.Sprintf(`{"title":"Other","head":"other-%d","base":"main"}`, n)
		req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, strings.TrimSuffix(w.github.API(), "/")+"/repos/"+rigRepo+"/pulls", strings.NewReader(body))
		if err != nil {
			w.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+w.github.Token(rigOwner))
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusCreated {
			w.t.Fatalf("%+v, %v", resp, err)
		}
		resp.Body.Close()
	}
}

// A pull request that was merged while the bot was down, or behind the end of the list that it reads, is closed for it: its
// session takes no changes.
func TestAPullRequestThatWasMergedUnseenTakesNoChanges(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct{ down, behind bool }{
		"few are open":             {true, false},
		"fifty others are open":    {true, true},
		"behind fifty others, now": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newReviewed(t)
			b := w.bot
			w.asked.Add(3) // what two bots poll
			if c.down {
				if code := b.exit(syscall.SIGTERM); code != 0 {
					t.Fatalf("exit %d\n%s", code, b.out.String())
				}
			}
			if c.behind {
				w.others()
			}
			w.repo.Merge(w.pull.Number, rigOwner)
			if c.down {
				w.elders()
				b = w.background("bot")
			}
			w.eventually("its workspaces are removed", func() bool { return strings.Contains(b.out.String(), "workspaces and homes") }, b.out.String)
			w.repo.Comment(1, "/agentmux changes Say three.", rigOwner)
			w.eventually("the command is refused", func() bool {
				return strings.Contains(strings.Join(w.told(rigRepo, 1), ""), "its pull request is not open") && w.says("two")
			}, func() string { return b.out.String() + fmt.Sprint(w.told(rigRepo, 1)) })
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			for _, request := range w.github.Calls() {
				if n, single := strings.CutPrefix(request.Path, "/repos/"+rigRepo+"/pulls/"); single && request.Actor == rigBot && n != "2" && !strings.HasPrefix(n, "2/") {
					t.Errorf("a pull request of a person was read: %s", request.Path)
				}
			}
		})
	}
}
