package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// twoAtWork starts a bot with a session at work in each of two repositories. Their coders wait until
// open is called.
func twoAtWork(t *testing.T) (r *rig, b *background, open func()) {
	t.Helper()
	gate := filepath.Join(t.TempDir(), "go")
	r = newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig + unpaced, github: fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "gears", Commits: []fakehub.CommitSpec{
			{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{"README.md": "# gears\n", "a.txt": "one\n", "b.txt": "one\n"}},
		}}},
	}})
	gears := r.github.Repo(otherRepo)
	gears.SetRole(rigOwner, fakehub.Admin)
	gears.SetRole(rigBot, fakehub.Write)
	gears.AddIssue(fakehub.IssueSpec{Title: "Gears say two", Body: "Both files should say two.\n", Author: rigOwner})
	gears.Label(1, "agentmux:quick", rigOwner)
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	b = r.background("bot", "--repo", rigRepo, "--repo", otherRepo)
	r.eventually("both coders are at work", func() bool { return r.coderAtWork(rigRepo) && r.coderAtWork(otherRepo) }, b.out.String)
	return r, b, func() { r.write(gate, "") }
}

// coderAtWork reports whether the only session of a repository has a coder at work.
func (r *rig) coderAtWork(repo string) bool {
	entries := r.served(repo)
	if len(entries) != 1 || entries[0].State == nil {
		return false
	}
	for key, a := range entries[0].State.Agents {
		if key.Role() == "coder" && a.Launch != "" {
			return true
		}
	}
	return false
}

// A session whose directory is removed under the bot, alone or with all that the bot has of its
// repository, ends: its issue is told why and has no label of it left. Others continue, and the issue can be
// asked for once more.
func TestBotEndsASessionWhoseFilesAreGone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for what, gone := range map[string]func(r *rig) string{
		"session":           func(r *rig) string { return r.served(rigRepo)[0].Dir },
		"managed directory": func(r *rig) string { return r.managed(rigRepo) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, b, open := twoAtWork(t)
			repo := r.github.Repo(rigRepo)
			if err := os.Rename(gone(r), filepath.Join(r.dir, "away")); err != nil { // at once, unlike a removal
				t.Fatal(err)
			}
			r.eventually("the issue is told", func() bool {
				told := r.told(rigRepo, 1)
				return len(told) == 1 && strings.Contains(told[0], "agentmux: lost: its files on the machine of the bot are gone") &&
					len(repo.Issue(1).Labels) == 0 && repo.Refs()["refs/agentmux/claims/1"] == ""
			}, b.out.String)
			open()
			r.eventually("the other one is done", func() bool { return r.isDone(otherRepo, 1) }, b.out.String)
			repo.Label(1, "agentmux:quick", rigOwner)
			r.eventually("the next session is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			// What the host was writing as its directory went away is no session.
			entries := slices.DeleteFunc(r.served(rigRepo), func(e session.Entry) bool { return e.State == nil })
			if len(entries) != 1 || len(repo.Pulls()) != 1 {
				t.Errorf("%d sessions, %d pull requests", len(entries), len(repo.Pulls()))
			}
		})
	}
}

// A session that cannot be run now, for whatever cause, is run again, under the same claim. It is not
// taken for one that another host has.
func TestGitHub89ASessionThatCannotBeRunIsRunAgain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r, b, open := twoAtWork(t)
	b.exit(syscall.SIGKILL)
	log := filepath.Join(r.served(rigRepo)[0].Dir, session.HostLog)
	if err := os.Rename(log, log+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	b = r.background("bot", "--repo", rigRepo, "--repo", otherRepo)
	r.eventually("the session cannot be run", func() bool { return strings.Contains(b.out.String(), "a session is run again") }, b.out.String)
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if r.claimRef() == "" { // the next host may have renewed it
		t.Error("the claim was given back")
	}
	open()
	r.eventually("both are done", func() bool { return r.isDone(rigRepo, 1) && r.isDone(otherRepo, 1) && r.claimRef() == "" }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	for _, repo := range []string{rigRepo, otherRepo} {
		r.done(r.served(repo)[0])
	}
}

// A ticket that is damaged or gone when the next bot starts costs its request nothing: it is judged
// once more and begins in the same comment. What was damaged is kept by another name.
func TestBotJudgesTheRequestOfALostTicketOnceMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for what, lose := range map[string]func(file string) error{
		"torn":    func(file string) error { return os.Truncate(file, 40) },
		"removed": os.Remove,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig + unpaced})
			paused := filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED")
			if err := os.MkdirAll(filepath.Dir(paused), 0o700); err != nil {
				t.Fatal(err)
			}
			r.write(paused, "")
			b := r.background("bot")
			r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
			r.eventually("the request waits", func() bool {
				return r.hasLabel(rigRepo, 1, "agentmux:queued") && !r.hasLabel(rigRepo, 1, "agentmux:quick") && len(r.told(rigRepo, 1)) == 1
			}, b.out.String)
			b.exit(syscall.SIGKILL)
			tickets := filepath.Join(r.managed(rigRepo), "tickets")
			for _, err := range []error{lose(filepath.Join(tickets, "1.json")), os.Remove(paused)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			b = r.background("bot")
			r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			kept, _ := filepath.Glob(filepath.Join(tickets, "1.json.damaged-*"))
			if want := what == "torn"; (len(kept) == 1) != want {
				t.Errorf("kept %v", kept)
			}
			if entries := r.served(rigRepo); len(entries) != 1 || len(r.told(rigRepo, 1)) != 3 {
				t.Errorf("%d sessions, %d comments", len(entries), len(r.told(rigRepo, 1)))
			}
		})
	}
}

// store is the host repository that the bot keeps for a repository.
func (r *rig) store(repo string) string {
	r.t.Helper()
	stores, err := filepath.Glob(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "*", filepath.FromSlash(repo)+".git"))
	if err != nil || len(stores) != 1 {
		r.t.Fatalf("%v, %v", stores, err)
	}
	return stores[0]
}

// A host repository that is removed costs the session that has work in it, whose issue is told why; if it has none yet,
// what it began with is fetched again. The next request begins, or continues the session that waits, and other sessions continue.
func TestBotOutlivesItsHostRepository(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for what, restarts := range map[string]bool{"under the bot": false, "while it is down": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, b, open := twoAtWork(t)
			if restarts {
				b.exit(syscall.SIGKILL)
			}
			if err := os.Rename(r.store(rigRepo), filepath.Join(t.TempDir(), "away")); err != nil { // at once, unlike a removal
				t.Fatal(err)
			}
			if restarts {
				b = r.background("bot", "--repo", rigRepo, "--repo", otherRepo)
			}
			open()
			r.eventually("the other one is done", func() bool { return r.isDone(otherRepo, 1) }, b.out.String)
			r.eventually("the session has ended", func() bool {
				s := r.served(rigRepo)[0].State
				return s.Ended() && (r.isDone(rigRepo, 1) || r.hasLabel(rigRepo, 1, "agentmux:needs-human"))
			}, b.out.String)
			if told := strings.Join(r.told(rigRepo, 1), ""); !restarts && !strings.Contains(told, "not a git repository") {
				t.Errorf("comments %s", told)
			}
			r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
			r.eventually("the issue is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String) // by the session that waits, else by the next one
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
		})
	}
}
