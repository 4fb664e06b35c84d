package mirror_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// BenchmarkMirrorLatency measures from a record on disk to its comment on the issue. The
// pauses between writes are left out: this is what the program adds to them.
func BenchmarkMirrorLatency(b *testing.B) {
	server := fakehub.Start(b, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: botLogin, Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	})
	repo := server.Repo(widgets)
	for range 12 {
		repo.AddIssue(fakehub.IssueSpec{Title: "Add retry", Author: botLogin})
	}
	client, err := ghsync.New(transport.Options{
		APIURL: server.API(), GraphQLURL: server.GraphQL(), ServerURL: server.URL(),
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(server.Token(botLogin)), transport.Addresses{API: server.API(), GraphQL: server.GraphQL(), Server: server.URL()}),
		Limits: transport.Limits{ReadsPerSecond: 1e6, WriteEvery: time.Nanosecond, ContentPerMinute: 1e6, ContentPerHour: 1e6},
	})
	if err != nil {
		b.Fatal(err)
	}
	sc := newScene(b, nil)
	m := sc.mirror(mirror.Options{Server: mirror.On(client), RepoID: repo.ID()})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
	await := func(comments int) {
		for deadline := time.Now().Add(time.Minute); len(repo.Comments(12)) < comments; time.Sleep(100 * time.Microsecond) {
			if time.Now().After(deadline) {
				b.Fatalf("%d comments, want %d; %v", len(repo.Comments(12)), comments, m.LastError())
			}
		}
	}
	m.Wake()
	await(1)
	var elapsed []time.Duration
	n := 1
	for b.Loop() {
		n++
		began := time.Now()
		sc.play(fmt.Sprintf(`10:07 1 question_asked {"id":"q%d","role":"planner","task":"","text":"Which?","options":["a","b"]}`, n))
		m.Wake()
		await(n)
		elapsed = append(elapsed, time.Since(began))
	}
	slices.Sort(elapsed)
	b.ReportMetric(float64(elapsed[len(elapsed)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(elapsed[len(elapsed)*99/100].Microseconds())/1000, "p99-ms")
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
