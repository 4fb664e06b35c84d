package refusal_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/refusal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// A refused command gets one reply, however often it is tried; it names no account and links nothing.
func TestACommandGetsOneReply(t *testing.T) {
	roles := map[string]fakehub.Role{"octo/widgets": fakehub.Write}
	server := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "robo", Roles: roles}, {Login: "mia", Roles: roles}},
	})
	widgets := server.Repo("octo/widgets")
	issue := widgets.AddIssue(fakehub.IssueSpec{Title: "Moves", Author: "mia"})
	teller, _, _ := newTeller(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	said := journal.Command{Issue: issue, Source: "comment/7", Author: "mia", Reason: "there is no command @octo #1 <!-- x -->"}
	for range 2 {
		if err := teller.Reply(ctx, said); err != nil {
			t.Fatal(err)
		}
	}
	got := widgets.Comments(issue)
	if len(got) != 1 || !strings.HasPrefix(got[0].Body, "### agentmux: command refused\n\n") || !strings.Contains(got[0].Body, "`@octo` `#1`") || strings.Contains(got[0].Body, "<!-- x") {
		t.Fatalf("comments %+v", got)
	}
	said.Source = "comment/8"
	if err := teller.Reply(ctx, said); err != nil || len(widgets.Comments(issue)) != 2 {
		t.Errorf("%v, %d comments", err, len(widgets.Comments(issue)))
	}
}

// What a request was asked for by goes, a label of a later second stays.
func TestOffTakesTheLabelsOfARequest(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	roles := map[string]fakehub.Role{"octo/widgets": fakehub.Write}
	server := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}}, Now: func() time.Time { return now },
		Users: []fakehub.UserSpec{{Login: "robo", Roles: roles}, {Login: "mia", Roles: roles}},
	})
	widgets := server.Repo("octo/widgets")
	issue := widgets.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: "mia", Labels: []string{"bug"}})
	teller, _, _ := newTeller(t, server)
	widgets.Label(issue, "agentmux", "mia")
	asked := now
	now = now.Add(time.Second)
	widgets.Label(issue, "agentmux:quick", "mia")
	for range 2 {
		if err := teller.Off(issue, asked)(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := widgets.Issue(issue).Labels; !slices.Equal(got, []string{"bug", "agentmux:quick"}) {
		t.Errorf("labels %q", got)
	}
}

// One refusal of an issue is told in a day, but who asked by a comment gets an answer to each: the receipt says that the
// request was accepted, and it may be refused when it gets its slot.
func TestARefusedRetryIsAnsweredEachTime(t *testing.T) {
	roles := map[string]fakehub.Role{"octo/widgets": fakehub.Write}
	server := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
		Users: []fakehub.UserSpec{{Login: "robo", Roles: roles}, {Login: "mia", Roles: roles}},
	})
	widgets := server.Repo("octo/widgets")
	issue := widgets.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: "mia"})
	teller, _, j := newTeller(t, server)
	refuse := func(at gate.Trigger) {
		t.Helper()
		for _, r := range []journal.Record{
			journal.Command{Source: at.String(), Issue: issue, Verb: "retry", Author: "mia", State: journal.Done},
			journal.Decided{Issue: issue, Trigger: at, Row: gate.RowStart, What: gate.Queue},
		} {
			if _, err := j.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		d := gate.Decision{Row: gate.RowBase, What: gate.Refuse, Reason: "a file is wrong", Remedy: "mend it", Asked: gate.Asked{Trigger: at}}
		if err := teller.Refuse(t.Context(), issue, d); err != nil {
			t.Fatal(err)
		}
		owed := journal.Decided{Issue: issue, Trigger: at, Row: d.Row, What: d.What, Reason: d.Reason, Remedy: d.Remedy}
		if err := teller.CarryOut(t.Context(), owed); err != nil { // as after a kill
			t.Fatal(err)
		}
	}
	for n := range 3 {
		refuse(gate.CommentTrigger(int64(7 + n)))
		if got := widgets.Comments(issue); len(got) != n+1 || !strings.Contains(got[n].Body, "a file is wrong") || !strings.Contains(got[n].Body, "mend it") {
			t.Fatalf("after %d: comments %+v", n+1, got)
		}
	}
	refuse(gate.Trigger{Kind: gate.Label, Name: "agentmux", At: time.Now().Truncate(time.Second), ID: 9})
	if got := widgets.Comments(issue); len(got) != 3 {
		t.Errorf("a label got the comment %q", got[len(got)-1].Body)
	}
}

// newTeller returns a teller of octo/widgets, its account and its journal.
func newTeller(t *testing.T, server *fakehub.Server) (*refusal.Teller, ghsync.Account, *journal.Journal) {
	t.Helper()
	client, err := ghsync.New(transport.Options{
		APIURL: server.API(), GraphQLURL: server.GraphQL(), ServerURL: server.URL(), Pause: time.Millisecond,
		Token:  transport.StaticToken(transport.ModeToken, redact.NewSecret(server.Token("robo")), transport.Addresses{API: server.API(), GraphQL: server.GraphQL(), Server: server.URL()}),
		Limits: transport.Limits{WriteEvery: time.Nanosecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	own, err := client.Viewer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.TempDir(), journal.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	teller := refusal.New(refusal.Options{
		Client: client, Repo: func() ghsync.Repo { return ghsync.Repo{Owner: "octo", Name: "widgets"} }, Own: own, Journal: j, Label: "agentmux", Redactor: redact.New(), Now: time.Now,
	})
	return teller, own, j
}

// A request is refused on its issue alone. One that was transferred has the number of another issue, or the same.
func TestARefusalOfATransferredIssueTouchesNoOther(t *testing.T) {
	t.Run("another number", func(t *testing.T) { refuseTransferred(t, 1) })
	t.Run("the same number", func(t *testing.T) { refuseTransferred(t, 0) })
}

// refuseTransferred refuses an issue that went where there were so many issues.
func refuseTransferred(t *testing.T, there int) {
	roles := map[string]fakehub.Role{"octo/widgets": fakehub.Write, "octo/gadgets": fakehub.Write}
	server := fakehub.Start(t, fakehub.Options{
		Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}, {Owner: "octo", Name: "gadgets"}},
		Users: []fakehub.UserSpec{{Login: "robo", Roles: roles}, {Login: "mia", Roles: roles}},
	})
	widgets, gadgets := server.Repo("octo/widgets"), server.Repo("octo/gadgets")
	for range there {
		gadgets.AddIssue(fakehub.IssueSpec{Title: "There", Author: "mia"})
	}
	moved := widgets.AddIssue(fakehub.IssueSpec{Title: "Moves", Author: "mia", Labels: []string{"agentmux"}})
	other := widgets.AddIssue(fakehub.IssueSpec{Title: "Stays", Author: "mia", Labels: []string{"agentmux"}})
	number := widgets.Transfer(moved, "octo/gadgets")
	if number != moved+there {
		t.Fatalf("it is number %d there, want %d", number, moved+there)
	}
	gadgets.Label(number, "agentmux", "mia") // GitHub keeps labels that are there, too
	teller, own, j := newTeller(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	at := ghsync.LabelEvent{Name: "agentmux", Added: true, At: time.Now(), Actor: own}
	for _, what := range []gate.What{gate.Refuse, gate.RefuseSilently} {
		d := gate.Decision{Row: gate.RowPermission, What: what, Reason: "mia has read permission", Asked: gate.Asked{Trigger: gate.LabelTrigger(at)}}
		if err := teller.Refuse(ctx, moved, d); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		at.At = at.At.Add(time.Minute)
	}
	if labels := widgets.Issue(other).Labels; !slices.Contains(labels, "agentmux") || len(widgets.Comments(other)) > 0 {
		t.Errorf("another issue has the labels %v and %d comments", labels, len(widgets.Comments(other)))
	}
	if labels := gadgets.Issue(number).Labels; !slices.Contains(labels, "agentmux") || len(gadgets.Comments(number)) > 0 {
		t.Errorf("where it is, it has the labels %v and %d comments", labels, len(gadgets.Comments(number)))
	}
	if owed := j.Owed(); len(owed) > 0 {
		t.Errorf("still owed: %+v", owed)
	}
}

// A refusal whose label could not be taken off is carried out later. A label that was set again meanwhile is another
// request, which is judged.
func TestARefusalThatIsCarriedOutLaterTakesNoOtherRequest(t *testing.T) {
	for name, again := range map[string]bool{"the refused request": false, "one that came since": true} {
		t.Run(name, func(t *testing.T) {
			roles := map[string]fakehub.Role{"octo/widgets": fakehub.Write}
			clock := time.Now()
			server := fakehub.Start(t, fakehub.Options{
				Now:   func() time.Time { return clock },
				Repos: []fakehub.RepoSpec{{Owner: "octo", Name: "widgets"}},
				Users: []fakehub.UserSpec{{Login: "robo", Roles: roles}, {Login: "mia", Roles: roles}},
			})
			repo := server.Repo("octo/widgets")
			issue := repo.AddIssue(fakehub.IssueSpec{Title: "Say two", Author: "mia"})
			repo.Label(issue, "agentmux", "mia")
			repo.Label(issue, "agentmux:quick", "mia")
			teller, _, j := newTeller(t, server)
			mia := ghsync.Account{Login: "mia", ID: server.UserID("mia"), Type: "User"}
			trigger := func(name string) gate.Trigger {
				return gate.LabelTrigger(ghsync.LabelEvent{Name: name, Added: true, At: clock, Actor: mia})
			}
			d := gate.Decision{Row: gate.RowPermission, What: gate.Refuse, Reason: "mia has read permission", Asked: gate.Asked{Trigger: trigger("agentmux:quick"), With: []gate.Trigger{trigger("agentmux")}}}
			server.Inject(fakehub.Fault{Route: "DELETE /repos/{owner}/{repo}/issues/{number}/labels/{name}", Status: 422})
			if err := teller.Refuse(t.Context(), issue, d); err == nil {
				t.Fatal("the labels went")
			}
			server.Heal()
			clock = clock.Add(time.Minute)
			if again {
				repo.Unlabel(issue, "agentmux", "mia")
				repo.Label(issue, "agentmux", "mia")
			}
			for _, owed := range j.Owed() {
				if err := teller.CarryOut(t.Context(), owed); err != nil {
					t.Error(err)
				}
			}
			want := []string{}
			if again {
				want = append(want, "agentmux")
			}
			if on := repo.Issue(issue).Labels; !slices.Equal(on, want) || len(repo.Comments(issue)) != 1 || len(j.Owed()) > 0 {
				t.Errorf("labels %q, want %q; %d comments; owed %v", on, want, len(repo.Comments(issue)), j.Owed())
			}
		})
	}
}
