package main

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/internal/testfull"
)

// An archived repository is read-only, so that no agent starts for it. A run that keeps its work in
// the clone does.
func TestAnArchivedRepositoryIsNamedBeforeTheRun(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.github.Repo(rigRepo).Archive(true)
	for _, args := range [][]string{{"issue", "1", "--dry-run"}, {"issue", "1", "--headless"}} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			if res := r.expect(2, args...); !strings.Contains(res.err, "acme/widgets is archived") || !strings.Contains(res.err, "unarchive it") {
				t.Errorf("%q: %s", args, res.err)
			}
		})
	}
	if all := r.sessions(); len(all) != 0 {
		t.Errorf("sessions %+v", all)
	}
	file := r.dir + "/home/.config/agentmux/config.yaml"
	r.write(file, withGitHub(r.read(file), "push: false"))
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	r.git(r.clone, "rev-parse", "--verify", r.session().State.FeatureBranch)
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
}

// The token of a workflow, or one that a step of it makes from an App, has no account with a role
// in the repository: the server does not say whether it may write.
func TestATokenOfAnInstallationIsEnough(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.useInstallation(map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "metadata": "read",
	})
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	r.done(r.session())
	if pulls := r.github.Repo(rigRepo).Pulls(); len(pulls) != 1 || pulls[0].Draft {
		t.Errorf("pull requests %+v", pulls)
	}
}

// The end of a run says that the pull request is still a draft, and whose turn it is.
func TestADraftAtTheEndIsSaid(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, github: fakehub.Options{Enterprise: true, NoGraphQL: true}})
	res := r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	const turn = "review the pull request, a draft, and make it ready for review there"
	comments := r.github.Repo(rigRepo).Comments(1)
	for where, text := range map[string]string{
		"the terminal": res.err, "status": r.expect(0, "status").out, "the last comment": comments[len(comments)-1].Body,
	} {
		if !strings.Contains(text, turn) {
			t.Errorf("%s does not say it:\n%s", where, text)
		}
	}
}

// useInstallation makes a token that an App made the account of the rig, as others hand it over.
func (r *rig) useInstallation(permissions map[string]string) {
	r.t.Helper()
	app := r.github.AddApp(fakehub.AppSpec{Slug: "mux", Repos: []string{rigRepo}, Permissions: permissions})
	r.write(r.dir+"/app.pem", string(app.Key))
	source, err := installation.New(installation.Options{
		APIURL: r.github.API(), ClientID: app.ClientID, KeyFile: r.dir + "/app.pem", Repo: "acme/widgets",
	})
	if err != nil {
		r.t.Fatal(err)
	}
	token, err := source.Token(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.setEnv("AGENTMUX_GITHUB_TOKEN", token.Reveal())
}
