package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// shownTheSame fails unless a mirror that knows only the session's records writes the same on an
// empty GitHub as on the session's: the same comments, in the same order, and the same labels.
func (r *rig) shownTheSame(e session.Entry) {
	r.t.Helper()
	repo := r.github.Repo(rigRepo)
	if len(repo.Comments(1)) == 0 {
		return // not shown on its issue
	}
	github := fakehub.Start(r.t, fakehub.Options{
		Users: []fakehub.UserSpec{
			{Login: rigOwner, Roles: map[string]fakehub.Role{rigRepo: fakehub.Admin}},
			{Login: rigBot, Roles: map[string]fakehub.Role{rigRepo: fakehub.Write}},
		},
		Repos: []fakehub.RepoSpec{{Owner: "acme", Name: "widgets", Source: repo.Dir()}},
	})
	empty := github.Repo(rigRepo)
	empty.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: rigOwner, Labels: []string{"agentmux"}})
	client := r.client(github, rigBot)
	for _, pull := range repo.Pulls() {
		made, err := (&ghsync.PullRequest{Client: client}).Ensure(r.t.Context(), ghsync.PullRequestSpec{
			Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, Branch: pull.Head, Base: pull.Base, Title: pull.Title, Body: markdown.Finish(redact.New(), "x"),
		})
		if err != nil || made.Number != pull.Number {
			r.t.Fatalf("pull request %d: %+v, %v", pull.Number, made, err)
		}
	}
	r.rebuildMirror(e, client, empty.ID())
	for _, number := range []int{1, e.State.Completion.PRNumber} {
		if number == 0 {
			continue
		}
		if got, want := commentsOn(empty, number), commentsOn(repo, number); got != want {
			r.t.Errorf("rebuilt on #%d:\n%s\nby the session:\n%s", number, got, want)
		}
	}
	if got, want := strings.Join(empty.Issue(1).Labels, " "), strings.Join(repo.Issue(1).Labels, " "); got != want {
		r.t.Errorf("labels rebuilt %q, by the session %q", got, want)
	}
}

// client acts as an account and does not wait between requests.
func (r *rig) client(github *fakehub.Server, login string) *ghsync.Client {
	r.t.Helper()
	c, err := ghsync.New(transport.Options{
		APIURL: github.API(), GraphQLURL: github.GraphQL(), ServerURL: github.URL(), Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(github.Token(login)), transport.Addresses{API: github.API(), GraphQL: github.GraphQL(), Server: github.URL()}),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// rebuildMirror shows a copy of the session that has no memory of what was shown.
func (r *rig) rebuildMirror(e session.Entry, client *ghsync.Client, repoID int64) {
	r.t.Helper()
	project := r.t.TempDir()
	dir := filepath.Join(session.Dir(project), filepath.Base(e.Dir))
	for _, name := range []string{session.EventsFile, session.StateFile, session.SnapshotFile} {
		if data, err := os.ReadFile(filepath.Join(e.Dir, name)); err == nil {
			r.write(filepath.Join(dir, name), string(data))
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "blobs"), os.DirFS(filepath.Join(e.Dir, "blobs"))); err != nil {
		r.t.Fatal(err)
	}
	m, err := mirror.New(mirror.Options{
		Server: mirror.On(client), Dir: dir, Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, RepoID: repoID, Issue: 1, Deaf: true,
		Pace: mirror.Pace{Look: time.Millisecond, Again: time.Millisecond, Backoff: time.Millisecond, Scan: time.Millisecond},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), runLimit)
	defer cancel()
	if err := m.Finish(ctx); err != nil {
		r.t.Fatalf("rebuild: %v; %v", err, m.LastError())
	}
}

// statusSeq is up to where the status was read when it was last edited: records after
// which it would say the same need no edit.
var statusSeq = regexp.MustCompile(`kind=status seq=\d+`)

// commentsOn is what a comment thread says, without when the status was last edited.
func commentsOn(repo *fakehub.Repo, number int) string {
	var all []string
	for _, c := range repo.Comments(number) {
		all = append(all, c.Body)
	}
	return statusSeq.ReplaceAllString(strings.Join(all, "\n====\n"), "kind=status")
}

// What a session showed on its issue follows from its records alone.
func TestGitHub53ARebuiltMirrorShowsTheSame(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	r.expect(0, "issue", "1", "--headless")
	e := r.session()
	r.done(e)
	r.shownTheSame(e)
}
