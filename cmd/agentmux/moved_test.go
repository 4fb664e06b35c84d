package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// laterPlaybook is quickPlaybook with a coder that finds the work done, and hands it in.
var laterPlaybook = strings.Replace(quickPlaybook, coderWrites, "", 1)

// coderWrites is the step in which the coder of quickPlaybook does its work.
const coderWrites = "      - write: {file: a.txt, text: \"two\\n\"}\n"

// workSaved waits until what the coder wrote is on the server.
func (r *rig) workSaved(e session.Entry, b *background) {
	r.t.Helper()
	r.eventually("the work is on the server", func() bool {
		_, m, _ := r.saved(e)
		return slices.ContainsFunc(slices.Collect(maps.Values(m.Work)), func(w checkpoint.Work) bool { return len(w.Changed) > 0 })
	}, b.out.String)
}

// oneResult fails unless the session, which moved that often and is on this machine now, has one branch, one pull
// request and one status comment.
func (r *rig) oneResult(e session.Entry, moves int) {
	r.t.Helper()
	r.done(e)
	repo := r.github.Repo(rigRepo)
	var branches []string
	for ref := range repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/") {
			branches = append(branches, ref)
		}
	}
	if len(branches) != 2 || len(repo.Pulls()) != 1 {
		r.t.Errorf("branches %v, %d pull requests", branches, len(repo.Pulls()))
	}
	status := 0
	for _, body := range r.told(rigRepo, 1) {
		if strings.Contains(body, "### agentmux: ") {
			status++
		}
	}
	if status != 1 || r.claimRef() != "" {
		r.t.Errorf("%d status comments, claim at %q", status, r.claimRef())
	}
	records := 0
	for _, record := range r.recordsOf(e) {
		if record.Type == orchestrator.EvMoved {
			records++
		}
	}
	if records != moves {
		r.t.Errorf("%d records of the move", records)
	}
}

func (r *rig) recordsOf(e session.Entry) []orchestrator.Event {
	r.t.Helper()
	s, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	records, _, err := s.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	return records
}

// Row R7, case 68: a host is killed while its agent works. Another machine continues from the checkpoint: what the agent
// wrote and did not hand in is there.
func TestProtocolR7AnotherMachineContinues(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	r.saveOften()
	b := r.background(append([]string{"issue", "1"}, quickRun...)...)
	e := r.atWork("coder")
	r.workSaved(e, b)
	b.exit(syscall.SIGKILL)
	other := r.elsewhere(rigOptions{playbook: laterPlaybook})
	r.asJob("a_77_1")
	run := append([]string{"issue", "1"}, quickRun...)
	other.expect(4, run...)
	res := other.expect(0, append(run, "--take")...)
	moved := other.session()
	other.oneResult(moved, 1)
	if moved.Name != e.Name || moved.State.Identity != e.State.Identity || moved.State.FeatureBranch != e.State.FeatureBranch {
		t.Errorf("%s on %s\n%s%s", moved.Name, moved.State.FeatureBranch, res.out, res.err)
	}
	repo := r.github.Repo(rigRepo)
	if text := r.git(repo.Dir(), "show", moved.State.FeatureBranch+":a.txt"); text != "two" {
		t.Errorf("a.txt holds %q", text)
	}
	if told := r.told(rigRepo, 1); !strings.Contains(told[0], "Moved from `a_77_1`") && !strings.Contains(told[0], "Moved from `h_") {
		t.Errorf("the comment does not say the move: %s", told[0])
	}
	prompts, err := filepath.Glob(filepath.Join(moved.Dir, "*", "coder_prompt_1.md"))
	if err != nil || len(prompts) != 1 || !strings.Contains(r.read(prompts[0]), "An agent before you began this work on another machine") {
		t.Errorf("the coder is not told of the work in its workspace, by %v, %v", prompts, err)
	}
	// The directory here was overtaken: it is left alone until a person takes what the other machine made of it.
	res = r.expect(4, "resume", e.Name, "--headless")
	if !strings.Contains(res.err, "went on elsewhere") || !strings.Contains(res.err, "--from-checkpoint") {
		t.Errorf("%s", res.err)
	}
}

// parkedByAPush returns a session that waits because its push was refused, which it is not any more.
func (r *rig) parkedByAPush() session.Entry {
	r.t.Helper()
	repo := r.github.Repo(rigRepo)
	repo.RefusePush(fakehub.HiddenRule("refs/heads/agentmux/*"))
	r.parked(r.quick(3), orchestrator.ReasonPushRejected, "hidden ref")
	repo.AllowPush()
	return r.session()
}

// A session that waits for a person holds no claim. Another machine that is asked for the issue continues that one, and begins no
// second one.
func TestProtocolR7AnotherMachineContinuesWhatWaits(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	e := r.parkedByAPush()
	other := r.elsewhere(rigOptions{playbook: laterPlaybook})
	if res := other.expect(2, "resume", "#1", "--headless"); !strings.Contains(res.err, "agentmux resume '#1' --from-checkpoint") {
		t.Errorf("%s", res.err)
	}
	other.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	r.asked.Add(1) // GitHub counts what both machines ask
	moved := other.session()
	other.oneResult(moved, 1)
	if moved.Name != e.Name || moved.State.Identity != e.State.Identity {
		t.Errorf("%s of %s, and %s before", moved.Name, moved.State.Identity, e.Name)
	}
}

// Row R8: with --from-checkpoint the directory that was overtaken is put aside, and its work is kept.
func TestProtocolR8AnOvertakenDirectoryIsPutAside(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	r.saveOften()
	run := append([]string{"issue", "1"}, quickRun...)
	b := r.background(run...)
	e := r.atWork("coder")
	r.workSaved(e, b)
	b.exit(syscall.SIGKILL)
	r.asJob("a_78_1")
	// Another machine takes the session, and is killed, too.
	other := r.elsewhere(rigOptions{playbook: heldPlaybook})
	b = other.background(append(run, "--take")...)
	moved := other.atWork("coder")
	other.eventually("the other machine has saved it", func() bool {
		note, err := claim.ReadNote(moved.Dir)
		_, m, _ := r.saved(moved)
		return err == nil && m.Host == note.Host.String()
	}, b.out.String)
	b.exit(syscall.SIGKILL)
	r.asJob("a_79_1")
	if res := r.expect(4, "resume", e.Name, "--headless", "--take"); !strings.Contains(res.err, "went on elsewhere") {
		t.Errorf("%s", res.err)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), laterPlaybook)
	r.expect(0, "resume", e.Name, "--headless", "--from-checkpoint")
	r.oneResult(r.session(), 2)
	aside := e.Dir + ".overtaken-1"
	if err := session.CheckDir(aside).Err(); err != nil {
		t.Errorf("put aside: %v", err)
	}
	stores, err := filepath.Glob(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "*", "acme", "widgets.git"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores %v, %v", stores, err)
	}
	kept := r.git(stores[0], "for-each-ref", "--format=%(refname)", "refs/agentmux/preserved")
	// It is listed before it is removed, and the work that stays is named.
	res := r.expect(0, "clean", "--force")
	if _, err := os.Lstat(aside); err == nil || kept == "" || !strings.Contains(res.out, filepath.Base(aside)+"  overtaken  ") || !strings.Contains(res.err, "git fetch "+stores[0]+" "+kept) ||
		r.git(stores[0], "for-each-ref", "--format=%(refname)", kept) != kept {
		t.Errorf("work kept at %q\n%s%s", kept, res.out, res.err)
	}
}

// Row R7: a bot continues the session of a bot on another machine that is gone, from its checkpoint, without a person.
func TestProtocolR7ABotContinuesASessionOfAnother(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	o := rigOptions{playbook: heldPlaybook, unlabel: true, config: botConfig}
	r := newRig(t, o)
	r.saveOften()
	repo := r.github.Repo(rigRepo)
	b := r.background("bot")
	repo.Label(1, "agentmux:quick", rigOwner)
	var e session.Entry
	r.eventually("the work is on the server", func() bool {
		entries := r.served(rigRepo)
		if len(entries) != 1 || entries[0].State == nil {
			return false
		}
		e = entries[0]
		_, m, _ := r.saved(e)
		return slices.ContainsFunc(slices.Collect(maps.Values(m.Work)), func(w checkpoint.Work) bool { return len(w.Changed) > 0 })
	}, b.out.String)
	b.exit(syscall.SIGKILL)
	r.asJob("a_80_1")

	o.playbook = laterPlaybook
	other := r.elsewhere(o)
	b = other.background("bot")
	other.eventually("the request is carried out", func() bool { return other.isDone(rigRepo, 1) && len(other.claims()) == 0 }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	entries := other.served(rigRepo)
	if len(entries) != 1 || entries[0].State.Identity != e.State.Identity {
		t.Fatalf("sessions %+v", entries)
	}
	other.oneResult(entries[0], 1)
	if text := r.git(repo.Dir(), "show", entries[0].State.FeatureBranch+":a.txt"); text != "two" {
		t.Errorf("a.txt holds %q", text)
	}
}

// Row R7: what a person wants changed of a session that ended on one machine gets to its branch from another one, which
// never had the commits of that branch.
func TestProtocolR7ChangesFromAnotherMachineGetToItsBranch(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.quick(0)
	e := r.session()
	j := asRunner(r.elsewhere(rigOptions{playbook: strings.ReplaceAll(quickPlaybook, `"two\n"`, `"three\n"`), config: botConfig}))
	repo := r.github.Repo(rigRepo)
	repo.Comment(1, "/agentmux changes say three", rigOwner)
	j.event("issue_comment", commentEvent("/agentmux changes say three"))
	ran := j.expect(0, "issue", "1", "--headless")
	branches := slices.DeleteFunc(branchesOf(repo), func(ref string) bool { return !strings.HasPrefix(ref, "refs/heads/") })
	if got := j.result(); got.Session == "" || len(repo.Pulls()) != 1 || len(branches) != 2 {
		t.Errorf("result %+v, %d pull requests, %q\n%s", got, len(repo.Pulls()), branches, ran.out)
	}
	if text, _ := repo.File(e.State.FeatureBranch, "a.txt"); text != "three\n" {
		t.Errorf("a.txt holds %q", text)
	}

	// A bot, which never had that pull request, hears what is said there.
	r.asked.Add(2) // further rounds, of two other machines
	third := r.elsewhere(rigOptions{playbook: strings.ReplaceAll(quickPlaybook, `"two\n"`, `"four\n"`), config: botConfig})
	id := repo.Comment(repo.Pulls()[0].Number, "/agentmux changes say four", rigOwner)
	b := third.background("bot")
	third.eventually("the command has its receipt", func() bool {
		return slices.Contains(third.reactions(rigRepo, repo.Pulls()[0].Number, id), rigBot+" +1")
	}, b.out.String)
	third.eventually("the change is on the branch", func() bool {
		text, _ := repo.File(e.State.FeatureBranch, "a.txt")
		return text == "four\n" && third.isDone(rigRepo, 1)
	}, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 || len(repo.Pulls()) != 1 || len(third.served(rigRepo)) != 1 {
		t.Errorf("exit %d, %d pull requests, %d sessions\n%s", code, len(repo.Pulls()), len(third.served(rigRepo)), b.out.String())
	}
}
