package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// probed runs doctor and returns its rows by name.
func (r *rig) probed(code int, args ...string) map[string][]doctor.Probe {
	r.t.Helper()
	res := r.expect(code, append([]string{"doctor", "--json"}, args...)...)
	var list []doctor.Probe
	if err := json.Unmarshal([]byte(res.out), &list); err != nil {
		r.t.Fatalf("%v:\n%s%s", err, res.out, res.err)
	}
	rows := map[string][]doctor.Probe{}
	for _, p := range list {
		rows[p.Name] = append(rows[p.Name], p)
	}
	return rows
}

// says fails unless one of the rows is in the state and holds the words.
func says(t *testing.T, rows []doctor.Probe, state string, words ...string) {
	t.Helper()
	for _, p := range rows {
		text := p.Detail + "\n" + p.Hint
		if p.State == state && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			return
		}
	}
	t.Errorf("no row %s with %q in %+v", state, words, rows)
}

// everything is what the program asks of an App.
func everything() map[string]string {
	return map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "metadata": "read", "actions": "read", "checks": "read",
	}
}

// Case 70: each permission that an installation does not grant is named with the place to
// grant it, and a token is made of the others.
func TestGitHub70DoctorNamesEachMissingPermission(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	plain := r.read(config)
	for missing, want := range map[string]struct {
		state string
		code  int
		words []string
	}{
		"contents":      {doctor.Warning, 0, []string{"contents: write", "pushed", "Contents: Read and write"}},
		"issues":        {doctor.Failed, 3, []string{"issues: write", "Issues: Read and write", "accept it where the App is installed"}},
		"pull_requests": {doctor.Failed, 3, []string{"pull_requests: write", "Pull requests: Read and write"}},
		"statuses":      {doctor.Warning, 0, []string{"statuses: write", "Commit statuses: Read and write"}},
		"actions":       {doctor.Warning, 0, []string{"actions: read", "Actions: Read-only"}},
		"checks":        {doctor.Warning, 0, []string{"checks: read", "Checks: Read-only"}},
	} {
		r.write(config, plain)
		perms := everything()
		delete(perms, missing)
		app := r.github.AddApp(fakehub.AppSpec{Slug: "without-" + missing, Permissions: perms, Repos: []string{rigRepo}})
		key := filepath.Join(r.dir, missing+".pem")
		r.write(key, string(app.Key))
		r.write(config, withGitHub(plain, fmt.Sprintf("auth: app, app: {client_id: %s, key_file: %q, installation_id: %d}", app.ClientID, key, app.InstallationID)))
		rows := r.probed(want.code)
		says(t, rows["permissions"], want.state, want.words...)
		says(t, rows["account"], doctor.OK, "as "+app.Login)
		if n := len(rows["permissions"]); n != 1 {
			t.Errorf("%s: %d rows: %+v", missing, n, rows["permissions"])
		}
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
}

func TestDoctorJudgesEveryKindOfToken(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	use := func(token string) { r.setEnv("AGENTMUX_GITHUB_TOKEN", token) }
	t.Run("fine-grained", func(t *testing.T) {
		for missing, words := range map[string][]string{
			"contents": {"Contents: Read and write"}, "issues": {"Issues: Read and write"},
			"pull_requests": {"Pull requests: Read and write"}, "statuses": {"Commit statuses: Read and write"},
		} {
			perms := everything()
			perms[missing] = "read"
			use(r.github.FineGrained(rigBot, perms))
			code := 3
			if missing == "statuses" {
				code = 0
			}
			rows := r.probed(code, "--write")
			row := map[string]string{"contents": "refs", "issues": "label"}[missing]
			if row == "" {
				row = "permissions"
			}
			state := doctor.Failed
			if code == 0 {
				state = doctor.Warning
			}
			says(t, rows[row], state, words...)
		}
		use(r.github.FineGrained(rigBot, map[string]string{"contents": "read", "issues": "read"}))
		says(t, r.probed(3)["permissions"], doctor.Failed, "pull_requests", "edit the token")
	})
	t.Run("classic", func(t *testing.T) {
		use(r.github.Token(rigBot))
		r.github.SetScopes(rigBot, "repo", "workflow")
		rows := r.probed(0)
		says(t, rows["permissions"], doctor.OK, "scopes repo, workflow")
		says(t, rows["permissions"], doctor.Warning, "never needs: workflow")
		r.github.SetScopes(rigBot, "gist")
		says(t, r.probed(3)["permissions"], doctor.Failed, "issues: write", "add the scope repo")
	})
	t.Run("of a job", func(t *testing.T) {
		r.write(filepath.Join(r.dir, "job.yaml"), "version: 2\ngithub: {auth: actions}\n")
		use(r.github.ActionsToken(rigRepo, map[string]string{"contents": "write", "issues": "write", "statuses": "write"}, 0))
		rows := r.probed(3, "--write", "--config", filepath.Join(r.dir, "job.yaml"))
		says(t, rows["permissions"], doctor.Failed, "pull_requests", "permissions: {pull-requests: write}")
		says(t, rows["actions"], doctor.Skipped, "only an admin", "Allow GitHub Actions to create and approve pull requests")
	})
}

// Without --write doctor only reads; with it, it leaves nothing but the label.
func TestDoctorWritesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{unlabel: true})
	rows := r.probed(0)
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
	says(t, rows["label"], doctor.Warning, "no label agentmux", "gh label create agentmux")
	says(t, rows["refs"], doctor.Skipped, "--write")
	rows = r.probed(0, "--write")
	says(t, rows["label"], doctor.OK, "made")
	says(t, rows["refs"], doctor.OK)
	for ref := range r.github.Repo(rigRepo).Refs() {
		if strings.HasPrefix(ref, "refs/agentmux/") {
			t.Errorf("%s was left", ref)
		}
	}
	if pulls := r.github.Repo(rigRepo).Pulls(); len(pulls) != 0 {
		t.Errorf("pull requests: %+v", pulls)
	}
	says(t, r.probed(0, "--write")["label"], doctor.OK, "is there")
	r.github.Repo(rigRepo).RefusePush(fakehub.HiddenRule("refs/agentmux/*"))
	says(t, r.probed(0, "--write")["refs"], doctor.Warning, "hidden ref", "bot.single_host: true")
}

func TestDoctorSeesWhatBlocksARun(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{files: map[string]string{
		".github/workflows/ci.yml":   "on: [push, pull_request]\njobs:\n  a:\n    env: {KEY: '${{ secrets.DEPLOY }}'}\n",
		".github/workflows/main.yml": "on: {push: {branches: [main]}}\nenv: {KEY: '${{ secrets.OTHER }}'}\n",
		".gitattributes":             "*.bin filter=lfs\n", "a.bin": "x\n",
	}})
	repo := r.github.Repo(rigRepo)
	repo.SetRules(fakehub.Rule{Branch: "agentmux/*", Type: "pull_request", ID: 1}, fakehub.Rule{Branch: "*", Type: "deletion", ID: 1})
	repo.Commit(fakehub.CommitSpec{Branch: "agentmux", Message: "In the way", Author: "Mia <mia@example.com>", Files: map[string]string{"x": "x\n"}})
	rows := r.probed(3)
	says(t, rows["branch"], doctor.Failed, "named agentmux", "github.branch_prefix")
	says(t, rows["rules"], doctor.Warning, ": pull_request", "bypass list")
	says(t, rows["checks"], doctor.OK, "yes: .github/workflows/ci.yml (push, pull_request)")
	says(t, rows["secrets"], doctor.Warning, ".github/workflows/ci.yml:4 gives the secret DEPLOY", "branches-ignore: ['agentmux/**']")
	if len(rows["secrets"]) != 1 {
		t.Errorf("secrets: %+v", rows["secrets"])
	}
	says(t, rows["base"], doctor.Warning, "0 submodules, 1 LFS file:")
	r.github.Repo(rigRepo).SetRole(rigBot, fakehub.Admin)
	says(t, r.probed(3)["actions"], doctor.OK, "may not open")
	r.github.Repo(rigRepo).SetRole(rigBot, fakehub.Read)
	says(t, r.probed(3)["repository"], doctor.Warning, "may not write")
	r.setEnv("RUNNER_ENVIRONMENT", "self-hosted")
	says(t, r.probed(3)["runner"], doctor.Warning, "ephemeral")
}

func TestDoctorSeesAWrongClock(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{github: fakehub.Options{Now: func() time.Time { return time.Now().Add(-3 * time.Minute) }}})
	says(t, r.probed(3)["clock"], doctor.Failed, "3m", "apart", "NTP")
}

// A server of one's own says its version and names no limits.
func TestDoctorAtAServerOfOnesOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{github: fakehub.Options{Enterprise: true, NoGraphQL: true}})
	rows := r.probed(0, "--write")
	says(t, rows["github"], doctor.OK, "version 3.14.0", "no limits named")
	says(t, rows["account"], doctor.OK, "as "+rigBot)
}

func TestDoctorWithoutAnything(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	for _, c := range []struct {
		name, row, state string
		breaks           func()
		words            []string
	}{
		{"no network", "github", doctor.Failed, func() {
			r.setEnv("GITHUB_API_URL", "http://127.0.0.1:9/")
			r.setEnv("GITHUB_GRAPHQL_URL", "http://127.0.0.1:9/graphql")
		}, []string{"connection refused", "github.host"}},
		{"wrong token", "github", doctor.Failed, func() {
			r.setEnv("GITHUB_API_URL", r.github.API())
			r.setEnv("GITHUB_GRAPHQL_URL", r.github.GraphQL())
			r.setEnv("AGENTMUX_GITHUB_TOKEN", "ghp_"+strings.Repeat("0", 36))
		}, []string{"refused the token", "gh auth login"}},
		{"short token", "github", doctor.Failed, func() { r.setEnv("AGENTMUX_GITHUB_TOKEN", "abc") }, []string{"AGENTMUX_GITHUB_TOKEN is too short to be one of GitHub\nset", "or GH_ENTERPRISE_TOKEN, or run gh auth login"}},
		{"no token", "github", doctor.Warning, func() { r.setEnv("AGENTMUX_GITHUB_TOKEN", "") }, []string{"no token", "gh auth login"}},
		{"no branch", "clone", doctor.OK, func() { r.git(r.clone, "checkout", "--quiet", "--detach") }, []string{"widgets at a detached HEAD"}},
		{"one role", "copilot", doctor.Failed, func() {
			file := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
			r.write(file, r.read(file)+"roles: {planner: {provider: copilot}}\n")
		}, []string{"copilot is not in PATH, wanted for 1 role\n"}},
		{"no remote", "clone", doctor.Warning, func() { r.git(r.clone, "remote", "remove", "origin") }, []string{"no remote named origin", "git remote add"}},
		{"no tmux", "tmux", doctor.Failed, func() { r.setEnv("PATH", r.pathWithout("tmux")) }, []string{"not installed", "install tmux"}},
		{"an unwritable state home", "state", doctor.Failed, func() {
			r.write(filepath.Join(r.dir, "file"), "")
			r.setEnv("XDG_STATE_HOME", filepath.Join(r.dir, "file"))
		}, []string{"XDG_STATE_HOME"}},
		{"a broken configuration", "config", doctor.Failed, func() {
			r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nlimit: {}\n")
		}, []string{"config.yaml:2: limit", "agentmux config check"}},
	} {
		c.breaks()
		res := r.agentmux("doctor", "--json")
		var rows []doctor.Probe
		if err := json.Unmarshal([]byte(res.out), &rows); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, res.err)
		}
		var named []doctor.Probe
		for _, p := range rows {
			if p.Name == c.row {
				named = append(named, p)
			}
		}
		says(t, named, c.state, c.words...)
	}
}

// The output for scripts keeps its names and fields.
func TestDoctorsJSONIsStable(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	want := []string{
		"account", "actions", "base", "branch", "checks", "clock", "clone", "config", "disk", "drafts", "files", "git", "github", "issues", "label",
		"permissions", "refs", "repository", "rules", "runtime", "sandbox", "script", "secrets", "sessions", "state", "tmux", "workflows",
	}
	rows := r.probed(0)
	delete(rows, "processes") // where the system is another one
	if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, want) {
		t.Errorf("rows %q\nwant %q", got, want)
	}
	for _, open := range []string{"the environment of other processes", "the sockets of tmux", "at, cron, systemd", "the network"} {
		says(t, rows["sandbox"], doctor.Warning, open)
	}
	var raw []map[string]any
	if err := json.Unmarshal([]byte(r.expect(0, "doctor", "--json").out), &raw); err != nil {
		t.Fatal(err)
	}
	for _, row := range raw {
		for key := range row {
			if !slices.Contains([]string{"name", "state", "detail", "hint"}, key) {
				t.Errorf("field %q", key)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(r.clone, ".agentmux")); err == nil {
		t.Error("doctor wrote into the clone")
	}
}

// A hint names another step than the command that gives it, and what cannot be looked at
// for want of git is not blamed on the clone.
func TestDoctorDoesNotSendToItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.setEnv("GITHUB_API_URL", "http://127.0.0.1:9/")
	r.setEnv("GITHUB_GRAPHQL_URL", "http://127.0.0.1:9/graphql")
	if row := r.probed(3)["github"][0]; row.Hint != "is the network up, and github.host right?" {
		t.Errorf("%+v", row)
	}
	r.setEnv("PATH", r.pathWithout("git"))
	rows := r.probed(3)
	says(t, rows["git"], doctor.Failed, "git is not installed", "install git 2.38")
	says(t, rows["clone"], doctor.Skipped, "git has to work first")
}

// In a clone of a fork the issues are elsewhere.
func TestDoctorNamesWhatAForkIsOf(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	if err := r.github.AddRepo(fakehub.RepoSpec{Owner: rigBot, Name: "widgets", ForkOf: rigRepo}); err != nil {
		t.Fatal(err)
	}
	r.git(r.clone, "remote", "set-url", "origin", r.github.CloneURL(rigBot+"/widgets"))
	says(t, r.probed(0)["repository"], doctor.OK, "may write, fork of acme/widgets", "agentmux issue N --repo acme/widgets")
}

// Without a commit on the server, a fetch does not help.
func TestDoctorOfARepositoryWithoutCommits(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	full := r.clone
	r.clone = filepath.Join(r.dir, "new")
	r.git(r.dir, "init", "-q", r.clone)
	r.git(r.clone, "remote", "add", "origin", r.github.CloneURL(rigRepo))
	says(t, r.probed(3)["base"], doctor.Failed, "this clone has no commit yet\ngit pull origin main brings those of the server")
	r.github.Repo(rigRepo).DeleteBranch("main")
	says(t, r.probed(3)["base"], doctor.Failed, "the repository has no commit yet\nmake a first one and push it: git commit, then git push origin m")
	r.clone = full
	says(t, r.probed(3)["base"], doctor.Failed, "the repository has no commit yet on the server\npush a first one: git push origin main")
}

// What keeps our branches from being made in the clone is told before a run needs one.
func TestDoctorSeesWhatIsInTheWayOfBranches(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	r.git(r.clone, "branch", "agentmux")
	says(t, r.probed(3)["clone"], doctor.Failed, "a branch is named agentmux, so none can be named agentmux/...", "git branch -m agentmux NEW-NAME")
	r.git(r.clone, "branch", "-m", "agentmux", "mine")
	if rows := r.probed(0)["clone"]; len(rows) != 1 {
		t.Errorf("%+v", rows)
	}
	lock := filepath.Join(r.clone, ".git", "refs", "heads", "agentmux", "x.lock")
	r.write(lock, "")
	if rows := r.probed(0)["clone"]; len(rows) != 1 {
		t.Errorf("of a git that may live: %+v", rows)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	says(t, r.probed(3)["clone"], doctor.Failed, "branch agentmux/x is locked by "+lock, "remove that file")
}
