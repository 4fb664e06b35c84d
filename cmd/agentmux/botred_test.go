package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// redPlaybook says two at first, and mends what a check shows after that.
const redPlaybook = `version: 1
agents:
  - role: coder
    round: 1
    steps:
      - run: {argv: [grep, -q, "> --- FAIL: TestTwo: want TWO", "{session}/04_planning/changes_prompt.md"]}
      - write: {file: a.txt, text: "TWO\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
`

// A required check that fails, alone, leads to one round of the session, which is told what it shows.
func TestBotFollowsARedCheckAlone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	status, hooks, secret := freeAddress(t), freeAddress(t), strings.Repeat("s3cret-", 4)
	r := newRig(t, rigOptions{
		playbook: redPlaybook + strings.TrimPrefix(quickPlaybook, "version: 1\nagents:\n"), unlabel: true,
		config: strings.Replace(botConfig, `status_addr: ""`, fmt.Sprintf("status_addr: %q", status), 1) + "followup: {quiet: 5s}\n",
	})
	r.setEnv("AGENTMUX_WEBHOOK_SECRET", secret)
	repo := r.github.Repo(rigRepo)
	repo.Require("test")
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot", "--webhook", hooks)
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	// Without the webhook the checks of the head would be read again within five minutes.
	r.github.SendHooks(fakehub.HookSpec{URL: "http://" + hooks + "/webhook", Secret: secret})
	pull := repo.Pulls()[0]
	check := repo.AddCheck(pull.HeadSHA, fakehub.CheckSpec{Name: "test", Conclusion: "failure", Summary: "--- FAIL: TestTwo: want TWO"})
	r.eventually("the pull request has the change", func() bool {
		text, _ := repo.File(pull.Head, "a.txt")
		return text == "TWO\n" && r.served(rigRepo)[0].State.Ended() && r.isDone(rigRepo, 1)
	}, b.out.String)
	if _, body := get(status, "/metrics"); !strings.Contains(body, `agentmux_followups_total{outcome="round",repository="acme/widgets"} 1`+"\n") {
		t.Errorf("not one round is counted:\n%s", body)
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	entries := r.served(rigRepo)
	if len(entries) != 1 || len(repo.Pulls()) != 1 {
		t.Fatalf("%d sessions, %d pull requests", len(entries), len(repo.Pulls()))
	}
	r.done(entries[0])
	if commands := r.read(entries[0].Dir + "/commands.jsonl"); strings.Count(commands, fmt.Sprintf("check/%d/", check)) != 1 {
		t.Errorf("the session was not asked once for the check:\n%s", commands)
	}
}
