package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// A token that is revoked while agents work stops nothing: what is owed waits, /healthz says why, and the
// next token in the file has all of it caught up without a restart.
func TestGitHub85ARevokedTokenIsReplacedUnderTheBot(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate, address := filepath.Join(t.TempDir(), "go"), freeAddress(t)
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true,
		config: strings.Replace(botConfig, `status_addr: ""`, `status_addr: "`+address+`"`, 1) + unpaced})
	repo, file := r.github.Repo(rigRepo), filepath.Join(r.dir, "token")
	r.write(file, r.github.Token(rigBot)+"\n")
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	r.setEnv("AGENTMUX_GITHUB_TOKEN_FILE", file)
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) && r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
	health := func(want int, says string) func() bool {
		return func() bool {
			code, body := get(address, "/healthz")
			return code == want && strings.Contains(body, says)
		}
	}
	r.eventually("the bot is well", health(200, ""), b.out.String)
	fresh := r.github.Revoke(r.github.Token(rigBot))
	r.eventually("the bot says that GitHub refuses the account", health(503, "is refused by GitHub since"), b.out.String)
	r.write(gate, "")
	r.eventually("the work is handed in, and what follows is owed", func() bool {
		s := r.served(rigRepo)[0].State
		return len(s.Pending) > 0 && s.Completion.Commit != ""
	}, b.out.String)
	if n := len(repo.Pulls()); n != 0 {
		t.Errorf("%d pull requests by a token that is revoked", n)
	}
	next := file + ".next"
	r.write(next, fresh+"\n")
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
	r.eventually("all is caught up", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
	r.eventually("the bot is well again", health(200, ""), b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	r.done(r.served(rigRepo)[0])
	if n := len(r.told(rigRepo, 1)); n != 3 {
		t.Errorf("%d comments: %q", n, r.told(rigRepo, 1))
	}
}
