package orphan_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
)

// A host that judged a request, and whose claim is made only after the session of another host has ended, finds the
// request served. What it decided before, and what it has from another host, has no label any more either.
func TestGitHub36AServedRequestDoesNotBeginOnceMore(t *testing.T) {
	w := newWorld(t)
	client := clientOf(t, w.Server)
	repo := w.Repo(widgets)
	issue := repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: "bot", Labels: []string{"agentmux:quick"}})
	j, err := journal.Open(t.TempDir(), journal.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	record, err := client.Record(t.Context(), ghsync.Repo{Owner: "octo", Name: "widgets"}, issue)
	if err != nil {
		t.Fatal(err)
	}
	at := gate.LabelTrigger(record.Labels[0])
	asked := ticket.Ticket{Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, Issue: issue, Trigger: at}
	own := ghsync.Account{Login: "robo", ID: 4711}
	is := func(what string, tk ticket.Ticket, want bool) {
		t.Helper()
		if served, err := orphan.Served(t.Context(), client, j, tk, "agentmux", own); served != want || err != nil {
			t.Errorf("%s: served %t, %v", what, served, err)
		}
	}
	is("with its label", asked, false)
	repo.Unlabel(issue, "agentmux:quick", "bot")
	is("without its label", asked, true)
	if record, err = client.Record(t.Context(), asked.Repo, issue); err != nil {
		t.Fatal(err)
	}
	own.ID = record.Labels[len(record.Labels)-1].Actor.ID
	is("with a label that this account dropped because it was set again", asked, false)
	repo.Label(issue, "agentmux:done", "bot")
	is("with the state label of a host", asked, true)
	taken, followed, command := asked, asked, asked
	taken.Taken, followed.Former, command.Trigger = true, &ticket.Former{}, gate.CommentTrigger(7)
	for what, tk := range map[string]ticket.Ticket{"of another host": taken, "after another session": followed, "by a command": command} {
		is(what, tk, false)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if served, err := orphan.Served(ended, client, j, asked, "agentmux", own); served || err == nil {
		t.Errorf("at the end of the bot: served %t, %v", served, err)
	}
	if _, err := j.Append(journal.Decided{Issue: issue, Trigger: at, Row: gate.RowStart, What: gate.Queue}); err != nil {
		t.Fatal(err)
	}
	is("decided here", asked, false)
}

// A request in the queue of another host has ended when its claim is not there any more: who judged it meanwhile
// does not begin it.
func TestARequestWhoseClaimWasGivenBackIsNotTaken(t *testing.T) {
	w := newWorld(t)
	alive := w.desk(claim.NewHostID())
	want := claim.Want{Issue: 12, Session: orchestrator.PublicID(name, identity), Trigger: trigger, State: claim.Queued}
	held, err := alive.Take(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	w.room = true
	l, _ := w.lookout()
	l.Look(t.Context())
	w.since += 2 * time.Minute
	l.Look(t.Context())
	_, left, err := l.Holder(t.Context(), 12)
	if left == nil || err != nil {
		t.Fatalf("left %+v, %v", left, err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if held, err := l.Take(t.Context(), want, left); !errors.As(err, new(*claim.TakenError)) {
		t.Fatalf("held %+v, %v", held, err)
	}
	if _, err := l.Take(t.Context(), want, nil); err != nil {
		t.Errorf("asked for once more: %v", err)
	}
}

// A host takes off a label that was set again beside the claim of another host. That one serves the request all the
// same, also if the two have different accounts, and if all of it happened within a second. A label that a person took
// off was withdrawn, whoever had set it, and how often.
func TestARequestWhoseLabelAnotherAccountDroppedIsServedHere(t *testing.T) {
	second := time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)
	server := fakehub.Start(t, fakehub.Options{
		Now:   func() time.Time { return second },
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "bot", Roles: map[string]fakehub.Role{widgets: fakehub.Write}}},
	})
	client := clientOf(t, server)
	j, err := journal.Open(t.TempDir(), journal.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	repo := server.Repo(widgets)
	const own, other, mia = "bot", "robo-2[bot]", "mia"
	for login, kind := range map[string]string{other: "Bot", mia: "", "olga": ""} {
		server.AddUser(fakehub.UserSpec{Login: login, Type: kind, Roles: map[string]fakehub.Role{widgets: fakehub.Write}})
	}
	for name, c := range map[string]struct {
		events string // <account><+ or -><label>; the request is the first label that mia sets
		served bool
	}{
		"set again, and dropped by another account":       {"mia+agentmux mia+agentmux:quick robo-2[bot]-agentmux:quick robo-2[bot]-agentmux", false},
		"the same one set again":                          {"mia+agentmux mia-agentmux mia+agentmux robo-2[bot]-agentmux", false},
		"dropped by this account":                         {"mia+agentmux bot-agentmux", false},
		"dropped after an earlier session of that second": {"robo-2[bot]+agentmux:done mia+agentmux mia+agentmux:quick robo-2[bot]-agentmux:quick robo-2[bot]-agentmux", false},
		"served by another account":                       {"mia+agentmux robo-2[bot]+agentmux:running robo-2[bot]-agentmux", true},
		"set again, and served by another account":        {"mia+agentmux mia+agentmux:quick robo-2[bot]+agentmux:done robo-2[bot]-agentmux:quick robo-2[bot]-agentmux", true},
		"withdrawn":               {"mia+agentmux mia-agentmux", true},
		"set again and withdrawn": {"mia+agentmux mia+agentmux:quick mia-agentmux:quick mia-agentmux", true},
		"set again, and withdrawn by a third person": {"mia+agentmux mia+agentmux:quick olga-agentmux:quick olga-agentmux", true},
		"the same one set again, and withdrawn":      {"mia+agentmux mia-agentmux mia+agentmux olga-agentmux", true},
		"taken off by another account, and set once": {"mia+agentmux robo-2[bot]-agentmux", true},
	} {
		t.Run(name, func(t *testing.T) {
			issue := repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: mia})
			for _, e := range strings.Fields(c.events) {
				who, label, added := strings.Cut(e, "+")
				if added {
					repo.Label(issue, label, who)
					continue
				}
				i := strings.LastIndex(e, "-")
				repo.Unlabel(issue, e[i+1:], e[:i])
			}
			asked := ticket.Ticket{
				Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, Issue: issue,
				Trigger: gate.Trigger{Kind: gate.Label, Name: "agentmux", At: second, ID: server.UserID(mia)},
			}
			served, err := orphan.Served(t.Context(), client, j, asked, "agentmux", ghsync.Account{Login: own, ID: server.UserID(own)})
			if served != c.served || err != nil {
				t.Errorf("served %t, %v", served, err)
			}
		})
	}
}

// clientOf returns a client of the account bot that waits for nothing.
func clientOf(t *testing.T, server *fakehub.Server) *ghsync.Client {
	t.Helper()
	client, err := ghsync.New(transport.Options{
		APIURL: server.API(), GraphQLURL: server.GraphQL(), ServerURL: server.URL(), Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(server.Token("bot")), transport.Addresses{API: server.API(), GraphQL: server.GraphQL(), Server: server.URL()}),
		Limits: transport.Limits{WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
