package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Case 74: an App may not comment on an issue that is locked, before its session or during it. The session runs all the
// same: no comment is tried twice, and what would stand on the issue stands on the pull request.
func TestGitHub74ABotWorksOnALockedIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, before := range map[string]bool{"before": true, "during": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := filepath.Join(t.TempDir(), "go")
			r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig})
			r.useApp(map[string]string{
				"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "checks": "read", "metadata": "read",
			})
			repo := r.github.Repo(rigRepo)
			repo.Lock(1, before)
			repo.Label(1, "agentmux:quick", rigOwner)
			b := r.background("bot")
			r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) && r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
			repo.Lock(1, true)
			r.write(gate, "")
			r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			r.done(r.served(rigRepo)[0])
			r.silentOn(1, before)
		})
	}
}

// silentOn holds what follows from the lock of an issue: no comment is tried there twice, and what would stand there stands
// on the pull request, the status if the issue was locked before the session.
func (r *rig) silentOn(issue int, before bool) {
	r.t.Helper()
	repo, tried := r.github.Repo(rigRepo), 0
	for _, c := range r.github.Calls() {
		if c.Method == http.MethodPost && strings.HasSuffix(c.Path, fmt.Sprintf("/issues/%d/comments", issue)) && c.Status == http.StatusForbidden {
			tried++
		}
	}
	if tried > 1 {
		r.t.Errorf("%d comments tried on the locked issue", tried)
	}
	var kinds []string
	for _, c := range repo.Comments(repo.Pulls()[0].Number) {
		m, _ := ghsync.ParseMarker(c.Body)
		kinds = append(kinds, m.Kind)
	}
	if before && !slices.Contains(kinds, ghsync.KindStatus) || !slices.Contains(kinds, ghsync.KindFinal) {
		r.t.Errorf("on the pull request: %q", kinds)
	}
}

// Case 74: a command in a comment, which people with write permission can still write, and a person at a terminal start
// the session of a locked issue as a label does. The comment gets no receipt.
func TestGitHub74OtherWaysToAskForALockedIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	app := everything()
	t.Run("a comment", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig})
		r.useApp(app)
		file := r.ownConfig()
		r.write(file, strings.Replace(r.read(file), "defaults: {", "defaults: {workflow: quick, ", 1))
		repo := r.github.Repo(rigRepo)
		repo.Lock(1, true)
		asked := repo.Comment(1, "/agentmux retry", rigOwner)
		b := r.background("bot")
		r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
		if code := b.exit(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d\n%s", code, b.out.String())
		}
		r.done(r.served(rigRepo)[0])
		r.silentOn(1, true)
		if got := r.reactions(rigRepo, 1, asked); len(got) > 0 {
			t.Errorf("receipts %q", got)
		}
	})
	t.Run("a command line", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{playbook: quickPlaybook})
		r.useApp(app)
		r.github.Repo(rigRepo).Lock(1, true)
		r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
		r.done(r.session())
		r.silentOn(1, true)
		if !r.isDone(rigRepo, 1) {
			t.Error("the issue has no label of the end")
		}
	})
}

// Case 45: of the comments before a label those of a private member with write permission are in the prompts. One by
// somebody without a role, and one that is edited after the label, are counted and in no file of the session.
func TestGitHub45ABotUsesTheCommentsOfThoseWhoMaySteer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	later := &atomic.Int64{}
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig, github: fakehub.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(later.Load()-60) * time.Second) },
		Users: []fakehub.UserSpec{
			{Login: "quiet", Member: "private", Roles: map[string]fakehub.Role{rigRepo: fakehub.Write}}, {Login: "stranger"},
		},
	}})
	repo := r.github.Repo(rigRepo)
	repo.Comment(1, "Mind the quagga.", "quiet")
	repo.Comment(1, "Mind the aurochs.", "stranger")
	edited := repo.Comment(1, "Mind the dodo.", "quiet")
	later.Add(2)
	repo.Label(1, "agentmux:quick", rigOwner)
	later.Add(2)
	repo.EditComment(edited, "Mind the moa.", "quiet")
	b := r.background("bot")
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	e := r.served(rigRepo)[0]
	r.done(e)
	var snap ghsync.Snapshot
	if err := json.Unmarshal([]byte(r.read(filepath.Join(e.Dir, session.SnapshotFile))), &snap); err != nil {
		t.Fatal(err)
	}
	if c := snap.Report.Comments; c.Used != 1 || c.Author != 1 || c.Late != 1 {
		t.Errorf("counts %+v", c)
	}
	found := map[string]bool{}
	err := filepath.WalkDir(e.Dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		for _, word := range []string{"quagga", "aurochs", "dodo", "moa."} {
			if strings.Contains(string(text), "the "+word) {
				found[word+" in prompts"] = found[word+" in prompts"] || strings.HasSuffix(file, "_prompt.md")
				found[word] = true
			}
		}
		return err
	})
	if err != nil || !found["quagga in prompts"] || found["aurochs"] || found["dodo"] || found["moa."] {
		t.Errorf("%v, %v", found, err)
	}
}
