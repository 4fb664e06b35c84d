package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/internal/testfull"
)

// A disk that takes no ticket, no claim and then no record of the decision delays a request. It is
// neither lost nor carried out twice, and nothing has to be started again.
func TestGitHub80ARequestWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig})
	repo := r.github.Repo(rigRepo)
	b := r.background("bot")
	says := func(text string) func() bool { return func() bool { return strings.Contains(b.out.String(), text) } }
	r.eventually("the bot serves", says("an issue that gets the label becomes a session"), b.out.String)
	managed, state := r.managed(rigRepo), filepath.Join(r.dir, "home", ".local", "state", "agentmux")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// What cannot be written to stands for a full disk: tickets lie nowhere, claims have no store, and
	// the journal is never free.
	tickets, claims := filepath.Join(managed, "tickets"), filepath.Join(state, "claims.git")
	must(os.Symlink(filepath.Join(t.TempDir(), "nowhere", "tickets"), tickets))
	repo.Label(1, "agentmux:quick", rigOwner)
	r.eventually("there is no ticket", says("write ticket of issue 1"), b.out.String)
	if len(r.told(rigRepo, 1)) != 0 || !r.hasLabel(rigRepo, 1, "agentmux:quick") {
		t.Errorf("labels %v", repo.Issue(1).Labels)
	}
	must(os.Rename(claims, claims+".away"))
	must(os.Remove(tickets))
	repo.Comment(1, "Soon?", rigOwner) // a change has the issue looked at before its time
	r.eventually("there is no claim", says("claims.git/"), b.out.String)
	if len(r.told(rigRepo, 1)) != 0 || !r.hasLabel(rigRepo, 1, "agentmux:quick") {
		t.Errorf("labels %v", repo.Issue(1).Labels)
	}
	file, err := os.OpenFile(filepath.Join(managed, journal.File), os.O_CREATE|os.O_RDWR, 0o600)
	must(err)
	defer file.Close()
	must(syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	must(os.Rename(claims+".away", claims))
	repo.Comment(1, "Now?", rigOwner)
	r.eventually("nothing is decided", says("a decision is written later"), b.out.String)
	if claimed := r.claimRef(); claimed == "" || len(r.served(rigRepo)) != 0 {
		t.Errorf("claim %q, %d sessions", claimed, len(r.served(rigRepo)))
	}
	must(syscall.Flock(int(file.Fd()), syscall.LOCK_UN))
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	entries := r.served(rigRepo)
	if len(entries) != 1 || len(repo.Pulls()) != 1 {
		t.Fatalf("%d sessions, %d pull requests", len(entries), len(repo.Pulls()))
	}
	r.done(entries[0])
	if n := len(r.told(rigRepo, 1)); n != 3 {
		t.Errorf("%d comments", n)
	}
}
