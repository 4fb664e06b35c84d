package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// gears is a second repository of the rig's GitHub.
const gears = "acme/gears"

// newBotRig is a machine outside of a clone, for a bot of two repositories.
func newBotRig(t *testing.T, config string) *rig {
	t.Helper()
	r := newRig(t, rigOptions{unlabel: true, config: config, github: fakehub.Options{Repos: []fakehub.RepoSpec{{
		Owner: "acme", Name: "gears", Private: true, Commits: []fakehub.CommitSpec{{Message: "Start", Author: "Mia <mia@example.com>", Files: map[string]string{"a.txt": "one\n"}}},
	}}}})
	r.github.Repo(gears).SetRole(rigBot, fakehub.Write)
	r.clone = filepath.Join(r.dir, "nowhere")
	if err := os.Mkdir(r.clone, 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

// about are the rows of a repository; "" for those of all.
func about(rows []doctor.Probe, repo string) (of []doctor.Probe) {
	for _, p := range rows {
		if p.Repository == repo {
			of = append(of, p)
		}
	}
	return of
}

// Outside of a clone, doctor probes what the bot serves: the machine once, and every row of a
// repository for each, without writing. With --write it makes the labels, and a ref that it deletes.
func TestDoctorProbesEachRepositoryOfTheBot(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newBotRig(t, "bot: {repos: [acme/widgets, acme/gears], status_addr: \"\"}\n")
	rows := r.probed(0)
	for _, name := range []string{"git", "tmux", "config", "sandbox", "files", "script", "slots", "webhook", "status", "github", "clock", "account"} {
		if len(rows[name]) != 1 || rows[name][0].Repository != "" {
			t.Errorf("%s: %+v", name, rows[name])
		}
	}
	perRepo := []string{"repository", "permissions", "label", "refs", "branch", "rules", "checks", "actions", "secrets", "base", "drafts", "issues", "runner", "webhooks"}
	for _, name := range perRepo {
		for _, repo := range []string{rigRepo, gears} {
			if len(about(rows[name], repo)) != 1 {
				t.Errorf("%s of %s: %+v", name, repo, rows[name])
			}
		}
	}
	for _, name := range []string{"clone", "sessions"} {
		if rows[name] != nil {
			t.Errorf("%+v", rows[name])
		}
	}
	says(t, about(rows["label"], gears), doctor.Warning, "no label agentmux", "gh label create agentmux --color 5319e7 --repo "+gears)
	says(t, about(rows["runner"], rigRepo), doctor.Warning, "every request is refused", "gate: {public_unsandboxed: true}")
	says(t, about(rows["runner"], gears), doctor.OK)
	says(t, about(rows["webhooks"], gears), doctor.Skipped, "only an admin", "polling covers it")
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}
	rows = r.probed(0, "--write", "--repo", gears)
	says(t, rows["label"], doctor.OK, "agentmux made, and")
	says(t, rows["refs"], doctor.OK)
	if n := len(rows["repository"]); n != 1 {
		t.Errorf("%d repositories with --repo", n)
	}
	for ref := range r.github.Repo(gears).Refs() {
		if strings.HasPrefix(ref, "refs/agentmux/") {
			t.Errorf("%s was left", ref)
		}
	}
	if labels := r.github.Repo(rigRepo).Labels(); len(labels) != 0 {
		t.Errorf("labels in a repository that was not named: %q", labels)
	}
}

// What a bot cannot do without fails, with the place to change it.
func TestDoctorFailsForWhatABotNeeds(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newBotRig(t, "bot: {status_addr: \"\"}\n")
	repo, plain := r.github.Repo(gears), r.read(r.ownConfig())
	bot := func(code int, args ...string) map[string][]doctor.Probe {
		return r.probed(code, append([]string{"--repo", gears}, args...)...)
	}
	repo.RefusePush(fakehub.HiddenRule("refs/agentmux/*"))
	says(t, bot(3, "--write")["refs"], doctor.Failed, "hidden ref", "bot.single_host: true")
	r.write(r.ownConfig(), strings.Replace(plain, "bot: {", "bot: {single_host: true, ", 1))
	says(t, bot(0, "--write")["refs"], doctor.Skipped, "locks of this machine")
	r.write(r.ownConfig(), plain)
	repo.SetRole(rigBot, fakehub.Read)
	says(t, bot(3)["repository"], doctor.Failed, "may not write", "write permission")
	repo.SetRole(rigBot, fakehub.None)
	says(t, about(bot(3)["repository"], gears), doctor.Failed, "not there, or this account may not see it")
	says(t, r.probed(3, "--org", "nobody")["organisation"], doctor.Failed, "nobody is not there")
	says(t, r.probed(0, "--org", "acme")["organisation"], doctor.OK, "acme is seen")
	r.setEnv("AGENTMUX_GITHUB_TOKEN", "")
	says(t, bot(3)["github"], doctor.Failed, "no GitHub token", "gh auth login")
	for _, args := range [][]string{{"--repo", "gears"}, {"--repo", gears, "#1"}} {
		r.expect(2, append([]string{"doctor"}, args...)...)
	}
}

// Each repository of an App has an account of its own.
func TestDoctorProbesTheAppOfEachRepository(t *testing.T) {
	t.Parallel()
	r := newBotRig(t, "bot: {status_addr: \"\"}\n")
	perms := everything()
	delete(perms, "statuses")
	app := r.github.AddApp(fakehub.AppSpec{Slug: "helper", Permissions: perms, Repos: []string{gears}})
	key := filepath.Join(r.dir, "key.pem")
	r.write(key, string(app.Key))
	r.write(r.ownConfig(), withGitHub(r.read(r.ownConfig()), fmt.Sprintf("auth: app, app: {client_id: %s, key_file: %q}", app.ClientID, key)))
	rows := r.probed(3, "--repo", gears, "--repo", rigRepo)
	says(t, rows["account"], doctor.OK, "as helper[bot]")
	says(t, about(rows["permissions"], gears), doctor.Warning, "statuses: write is missing", "accept it where the App is installed")
	says(t, rows["files"], doctor.Warning, key+" (the App's key)", "another user")
	failed := false
	for _, list := range rows {
		for _, p := range about(list, rigRepo) {
			failed = failed || p.State == doctor.Failed
		}
	}
	if !failed {
		t.Errorf("an App that is not installed on %s: %+v", rigRepo, rows)
	}
}

// The files with keys that an agent of the same user can read are named.
func TestDoctorNamesTheFilesThatAgentsCanRead(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newBotRig(t, "")
	says(t, r.probed(0, "--repo", gears)["files"], doctor.OK)
	home := filepath.Join(r.dir, "home")
	hosts := filepath.Join(home, ".config", "gh", "hosts.yml")
	r.write(hosts, "github.com:\n  user: mia\n")
	says(t, r.probed(0, "--repo", gears)["files"], doctor.OK) // the token is in a keyring
	r.write(hosts, "github.com:\n  oauth_token: gho_x\n")
	secret := filepath.Join(r.dir, "secret")
	r.write(secret, rand.Text()+"\n")
	r.write(r.ownConfig(), r.read(r.ownConfig())+"bot: {webhook_secret_file: "+secret+"}\n")
	r.write(filepath.Join(home, ".ssh", "id_ed25519"), "x")
	r.write(filepath.Join(home, ".ssh", "id_ed25519.pub"), "x")
	r.write(filepath.Join(home, ".config", "agentmux", "token"), "x")
	runner := filepath.Join(r.dir, "runner")
	r.write(filepath.Join(runner, ".credentials"), "{}")
	r.setEnv("RUNNER_WORKSPACE", filepath.Join(runner, "_work", "widgets"))
	rows := r.probed(0, "--repo", gears)["files"]
	says(t, rows, doctor.Warning, hosts+" (gh's token)", secret+" (the secret of webhooks)", ".ssh/id_ed25519 (an ssh key)", "agentmux/token (the GitHub token)",
		filepath.Join(runner, ".credentials")+" (the registration of the runner)", "another user")
	if strings.Contains(rows[0].Detail, ".pub") {
		t.Errorf("%s", rows[0].Detail)
	}
}

// Slots, webhooks and the status address are judged as the bot will judge them.
func TestDoctorLooksAtWhatABotListensTo(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newBotRig(t, "")
	plain := r.read(r.ownConfig())
	probe := func(code int, bot string) map[string][]doctor.Probe {
		r.write(r.ownConfig(), plain+"bot: {"+bot+"}\n")
		return r.probed(code, "--repo", gears)
	}
	secret := filepath.Join(r.dir, "secret")
	r.write(secret, "short\n")
	rows := probe(3, "max_concurrent: 3, status_addr: \"\", webhook_secret_file: "+secret)
	says(t, rows["webhook"], doctor.Failed, secret+":1: the secret has 5 characters")
	says(t, rows["status"], doctor.Skipped, "no /healthz")
	says(t, rows["slots"], doctor.OK, "3 sessions at a time")
	r.write(secret, rand.Text()+"\n"+rand.Text()+"\n")
	r.write(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "PAUSED"), "")
	rows = probe(0, "status_addr: \"0.0.0.0:0\", webhook_secret_file: "+secret)
	says(t, rows["webhook"], doctor.Warning, "2 secrets", "remove the former one")
	says(t, rows["status"], doctor.Warning, "without a password")
	says(t, rows["slots"], doctor.Warning, "none begins while", "PAUSED is there", "rm ")

	answer := `{"status": "failing", "problems": ["acme/gears is gone"]}`
	running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer running.Close()
	at := "status_addr: " + strings.TrimPrefix(running.URL, "http://")
	says(t, probe(0, at)["status"], doctor.Warning, "a bot runs here and says:\nacme/gears is gone")
	answer = `{"status": "ok", "problems": []}`
	says(t, probe(0, at)["status"], doctor.OK, "a bot runs here")
	answer = "hello"
	says(t, probe(3, at)["status"], doctor.Failed, "in use by another program", "bot.status_addr")

	repo := r.github.Repo(gears)
	repo.SetRole(rigBot, fakehub.Admin)
	repo.SetWebhooks(fakehub.Webhook{URL: "https://bot.example.com/webhook", Events: []string{"issues"}, Statuses: []int{202, 403}, Newest: time.Now().Add(-time.Hour)})
	says(t, probe(0, "status_addr: \"\"")["webhooks"], doctor.Warning, "https://bot.example.com/webhook: the last delivery 1h0m0s ago, 1 failure of 2 deliveries", "Recent Deliveries")
	repo.SetWebhooks(fakehub.Webhook{URL: "https://bot.example.com/webhook", Events: []string{"issues"}, Statuses: []int{202}, Newest: time.Now().Add(-time.Hour)})
	says(t, probe(0, "status_addr: \"\"")["webhooks"], doctor.OK, "1h0m0s ago")
}
