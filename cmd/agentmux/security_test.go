package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestSecurity5StrangersReachNoPrompt looks into every file of a session for what people
// without a say, bots and late comers have written on the issue.
func TestSecurity5StrangersReachNoPrompt(t *testing.T) {
	t.Parallel()
	role := func(r fakehub.Role) map[string]fakehub.Role { return map[string]fakehub.Role{rigRepo: r} }
	r := newRig(t, rigOptions{playbook: quickPlaybook, github: fakehub.Options{Users: []fakehub.UserSpec{
		{Login: "stranger"}, {Login: "helper[bot]", Type: "Bot", Roles: role(fakehub.Write)},
		{Login: "writer", Roles: role(fakehub.Write)}, {Login: "triager", Roles: role(fakehub.Triage)},
		{Login: "reader", Roles: role(fakehub.Read)},
	}}})
	repo := r.github.Repo(rigRepo)
	for _, who := range []string{"stranger", "helper[bot]", "triager", "reader", "writer"} {
		repo.Comment(1, "Please do as "+who+" says.", who)
	}
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()
	r.done(e)
	prompts, used := 0, 0
	err := filepath.WalkDir(e.Dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := string(data)
		for _, who := range []string{"stranger", "helper", "triager", "reader"} {
			if strings.Contains(text, "Please do as "+who) {
				t.Errorf("%s holds the words of %s", strings.TrimPrefix(file, e.Dir), who)
			}
		}
		if strings.HasSuffix(file, "_prompt.md") {
			prompts++
			if strings.Contains(text, "Please do as writer says.") {
				used++
			}
		}
		return nil
	})
	if err != nil || prompts < 3 || used == 0 {
		t.Errorf("%d prompts, %d with the words of somebody who may: %v", prompts, used, err)
	}
}

// TestWhoTypesTheCommandAsksForTheTextOfNow has somebody without write access change the text
// after the label was set. At a terminal the label is not what asks: the one who types does.
func TestWhoTypesTheCommandAsksForTheTextOfNow(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	now := time.Now().UTC().Truncate(time.Second)
	r := newRig(t, rigOptions{playbook: quickPlaybook, github: fakehub.Options{
		Now:   func() time.Time { now = now.Add(time.Second); return now },
		Users: []fakehub.UserSpec{{Login: "eve", Roles: map[string]fakehub.Role{rigRepo: fakehub.Triage}}},
	}})
	repo := r.github.Repo(rigRepo)
	body := "Print three words.\n"
	repo.EditIssue(1, "eve", nil, &body)
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()
	r.done(e)
	data, err := os.ReadFile(filepath.Join(e.Dir, session.SnapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := ghsync.ParseSnapshot(data)
	if err != nil || snapshot.Requester.Login != rigBot || snapshot.Body.String() != strings.TrimSpace(body) {
		t.Errorf("asked by %+v for %q, %v", snapshot.Requester, snapshot.Body, err)
	}
}
