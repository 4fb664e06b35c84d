package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// What GitHub dates is as old as GitHub's clock says. On a machine that is more than a day ahead a command is
// carried out, and a comment whose answer was lost is found again, and not made twice.
func TestBotTellsTheTimeByTheServer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	const ahead = 30 * time.Hour
	r := newRig(t, rigOptions{unlabel: true, config: botConfig, github: fakehub.Options{
		Now: func() time.Time { return time.Now().Add(-ahead) },
	}})
	repo := r.github.Repo(rigRepo)
	r.write(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED"), "")
	r.github.Inject(fakehub.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Times: 1, Drop: fakehub.AfterApplying})
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the request waits", func() bool {
		return r.hasLabel(rigRepo, 1, "agentmux:queued") && !r.hasLabel(rigRepo, 1, "agentmux:quick")
	}, b.out.String)
	r.said(b, 1, "/agentmux stop", "+1")
	r.eventually("the ticket is dropped", func() bool {
		return len(repo.Issue(1).Labels) == 0 && repo.Refs()["refs/agentmux/claims/1"] == ""
	}, b.out.String)
	if told := r.told(rigRepo, 1); len(told) != 1 || !strings.Contains(told[0], "`@"+rigOwner+"` stopped it") {
		t.Errorf("comments %q", told)
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}
