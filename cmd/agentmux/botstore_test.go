package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// A repository is renamed after a session of it has made its pull request. The next command on the issue continues from
// what the session has integrated, which only its host repository has; an earlier version had one of the new name.
func TestGitHub87ASessionGoesOnAfterARename(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	const again = "version: 1\nagents:\n" + `  - role: coder
    round: 1
    steps:
      - write: {file: a.txt, text: "TWO\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
`
	for name, earlier := range map[string]bool{"the same version": false, "an earlier version": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: again + strings.TrimPrefix(quickPlaybook, "version: 1\nagents:\n"), unlabel: true, config: botConfig + unpaced})
			repo := r.github.Repo(rigRepo)
			repo.Label(1, "agentmux:quick", rigOwner)
			r.expect(0, "bot", "--once")
			pull := repo.Pulls()[0]
			repo.Rename("gadgets")
			if earlier {
				dir := r.managed(rigRepo)
				if err := os.Rename(dir+".git", filepath.Join(filepath.Dir(dir), "gadgets.git")); err != nil {
					t.Fatal(err)
				}
			}
			repo.Comment(1, "/agentmux changes Louder, please.", rigOwner)
			b := r.background("bot", "--repo", "acme/gadgets")
			r.eventually("the change is pushed", func() bool { return repo.Pulls()[0].HeadSHA != pull.HeadSHA && r.isDone(rigRepo, 1) }, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			r.done(r.served(rigRepo)[0])
		})
	}
}
