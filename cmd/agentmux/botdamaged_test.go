package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A session whose state is damaged while the bot is down keeps its claim, and its agents, at the next start of the bot, which
// names the file and what to type. Once it is repaired, by the command that is named or by hand, the bot continues it; once
// its directory is removed, its issue is told so.
func TestBotKeepsTheClaimOfADamagedSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		damage func(file string) error
		told   string
		repair func(r *rig, file string, whole []byte)
		ends   bool // the session, without a pull request
	}{
		"torn, repaired by the command": {
			func(file string) error { return os.Truncate(file, 40) }, "state.json: unexpected end of JSON input",
			func(r *rig, file string, _ []byte) {
				r.expect(0, "resume", filepath.Base(filepath.Dir(file)), "--from-backup", "--headless")
			}, false,
		},
		"missing, repaired by hand": {
			os.Remove, "state.json is missing",
			func(r *rig, file string, whole []byte) { r.write(file, string(whole)) }, false,
		},
		"torn, removed": {
			func(file string) error { return os.Truncate(file, 40) }, "state.json: unexpected end of JSON input",
			func(r *rig, file string, _ []byte) {
				if err := os.Rename(filepath.Dir(file), filepath.Join(r.dir, "away")); err != nil {
					r.t.Fatal(err)
				}
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := filepath.Join(t.TempDir(), "go")
			r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig + unpaced})
			repo := r.github.Repo(rigRepo)
			r.asked.Add(3) // sessions and starts of the bot
			b := r.background("bot")
			repo.Label(1, "agentmux:quick", rigOwner)
			r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) && r.claimRef() != "" }, b.out.String)
			e := r.served(rigRepo)[0]
			b.exit(syscall.SIGKILL)
			file := filepath.Join(e.Dir, session.StateFile)
			whole, err := os.ReadFile(file)
			if err == nil {
				err = c.damage(file)
			}
			if err != nil {
				t.Fatal(err)
			}
			b = r.background("bot")
			r.eventually("it is told", func() bool {
				told := b.out.String()
				return strings.Contains(told, "the claim of a session that cannot be read is kept") && strings.Contains(told, e.Dir) && strings.Contains(told, c.told)
			}, b.out.String)
			if res := r.expect(1, "status", e.Name); !strings.Contains(res.err, c.told+"; try agentmux resume "+e.Name+" --from-backup") {
				t.Errorf("status: %s", res.err)
			}
			said := repo.Comment(1, "/agentmux status", rigOwner)
			r.eventually("a command waits", func() bool { return strings.Contains(b.out.String(), "a command cannot be judged yet") }, b.out.String)
			if claimed := r.claimRef(); claimed == "" || len(r.served(rigRepo)) != 1 || len(r.told(rigRepo, 1)) != 1 {
				t.Errorf("claim %q; %d sessions; comments %q", claimed, len(r.served(rigRepo)), r.told(rigRepo, 1))
			}
			c.repair(r, file, whole)
			if c.ends {
				r.eventually("its issue is told", func() bool {
					return strings.Contains(r.told(rigRepo, 1)[0], "its files on the machine of the bot are gone") &&
						len(repo.Issue(1).Labels) == 0 && r.claimRef() == ""
				}, b.out.String)
				r.write(gate, "")
				repo.Label(1, "agentmux:quick", rigOwner)
				r.eventually("the next session is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
			} else {
				r.eventually("the command is heard", func() bool { return len(r.reactions(rigRepo, 1, said)) == 2 }, b.out.String)
				r.write(gate, "")
				r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
				r.done(r.served(rigRepo)[0])
			}
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			if entries := r.served(rigRepo); len(entries) != 1 || len(repo.Pulls()) != 1 {
				t.Errorf("%d sessions, %d pull requests", len(entries), len(repo.Pulls()))
			}
		})
	}
}
