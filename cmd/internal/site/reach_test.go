package site_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// town is a machine with a bot that has two repositories, a clone of one of them, a clone of
// neither, and a directory outside of any clone.
type town struct {
	*testing.T
	home                  string // state home
	clone, other, outside string
	widgets, gears        string // managed projects
}

func newTown(t *testing.T) *town {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", dir)
	w := &town{T: t, home: site.StateHome(), clone: filepath.Join(dir, "clone"), other: filepath.Join(dir, "other"), outside: filepath.Join(dir, "outside")}
	for _, at := range []struct{ dir, origin string }{
		{w.clone, "https://github.com/acme/widgets.git"}, {w.other, "https://github.com/acme/else.git"}, {w.outside, ""},
	} {
		if err := os.MkdirAll(at.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if at.origin == "" {
			continue
		}
		for _, args := range [][]string{{"init", "--quiet"}, {"remote", "add", "origin", at.origin}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = at.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v\n%s", args, err, out)
			}
		}
	}
	w.widgets, w.gears = w.managed("github.com", "acme/widgets"), w.managed("github.com", "acme/gears")
	return w
}

func (w *town) managed(server, name string, later ...string) string {
	w.Helper()
	dir := filepath.Join(w.home, server, filepath.FromSlash(name))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.Fatal(err)
	}
	for _, n := range append([]string{name}, later...) {
		owner, repo, _ := strings.Cut(n, "/")
		if _, err := project.NoteName(dir, 7, ghsync.Repo{Owner: owner, Name: repo}); err != nil {
			w.Fatal(err)
		}
	}
	return dir
}

// has makes a session of an issue in a project. Those that are made later are newer.
func (w *town) has(dir, name, repo string, issue int) {
	w.Helper()
	_, data, problems := workflows.Load("quick", nil)
	if err := problems.Err(); err != nil {
		w.Fatal(err)
	}
	made, _ := filepath.Glob(filepath.Join(session.Dir(dir), "*"))
	s, err := session.Create(session.CreateSpec{
		Project: dir, Now: time.Date(2026, 11, 21, 10, len(made), 0, 0, time.UTC), Name: name, Source: name, Request: "Say two.", Definition: data,
		State: orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseSHA: "abc", IssueNumber: issue, Repo: orchestrator.Optional(repo)},
	})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *town) find(at string, arg string, can func(session.Entry) bool) (string, error) {
	f := &site.Finder{Console: console.New(console.Streams{}, func() *redact.Redactor { return redact.New() }), Project: at}
	var args []string
	if arg != "" {
		args = []string{arg}
	}
	e, err := f.Find(w.Context(), args, can)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(w.home, e.Dir)
	if err == nil && !strings.HasPrefix(rel, "..") {
		return strings.Join(slices.DeleteFunc(strings.Split(rel, "/"), func(s string) bool { return strings.HasPrefix(s, ".") }), "/"), nil
	}
	return filepath.Base(w.clone) + "/" + e.Name, err
}

// Whatever a person types for a session means the same one from everywhere, or an error says what
// to type.
func TestSessionsOfTheBotAreFoundFromAnywhere(t *testing.T) {
	w := newTown(t)
	w.has(w.clone, "own", "acme/widgets", 1)
	w.has(w.clone, "own-three", "acme/widgets", 3)
	w.has(w.widgets, "b-issue-1-old", "acme/widgets", 1)
	w.has(w.widgets, "b-issue-1-new", "acme/widgets", 1)
	w.has(w.widgets, "b-issue-2", "acme/widgets", 2)
	w.has(w.widgets, "twin", "acme/widgets", 3)
	w.has(w.gears, "g-issue-1", "acme/gears", 1)
	w.has(w.gears, "twin", "acme/gears", 9)
	moved := w.managed("ghe.example_8443", "acme/old", "acme/renamed")
	w.has(moved, "m-issue-5", "acme/old", 5)
	if err := ticket.Of(w.widgets).Write(ticket.Ticket{
		Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, RepoID: 7, Issue: 8, Session: "b-issue-8", Identity: session.NewIdentity(),
		Trigger:  gate.LabelTrigger(ghsync.LabelEvent{Name: "agentmux", Added: true, At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}),
		Snapshot: &ghsync.Snapshot{Issue: 8},
	}); err != nil {
		t.Fatal(err)
	}
	const widgets, gears = "github.com/acme/widgets/", "github.com/acme/gears/"
	only := func(names ...string) func(session.Entry) bool {
		return func(e session.Entry) bool { return slices.Contains(names, e.Name) }
	}
	for name, c := range map[string]struct {
		at, arg string
		can     func(session.Entry) bool
		want    string // what is found; with a ? what the error says
	}{
		"own by name":                           {w.clone, "own", nil, "clone/own"},
		"own by prefix":                         {w.clone, "own-t", nil, "clone/own-three"},
		"the bot's by name":                     {w.clone, "b-issue-2", nil, widgets + "b-issue-2"},
		"the bot's by prefix":                   {w.clone, "b-issue-1-o", nil, widgets + "b-issue-1-old"},
		"a prefix of two":                       {w.clone, "b-issue-1", nil, `?"b-issue-1" fits several sessions, name one of b-issue-1-new, b-issue-1-old`},
		"a prefix of two, of which one fits":    {w.clone, "b-issue-1", only("b-issue-1-old"), widgets + "b-issue-1-old"},
		"own first to look at":                  {w.clone, "1", nil, "clone/own"},
		"own alone fits":                        {w.clone, "#1", only("own"), "clone/own"},
		"the bot's alone fits":                  {w.clone, "#1", only("b-issue-1-new"), widgets + "b-issue-1-new"},
		"both fit":                              {w.clone, "#3", only("own-three", "twin"), `?"#3" fits several sessions, name one of own-three, twin`},
		"an issue of the bot alone":             {w.clone, "2", only("b-issue-2"), widgets + "b-issue-2"},
		"one that does not fit":                 {w.clone, "2", only(), widgets + "b-issue-2"},
		"none fits":                             {w.clone, "1", only(), `?none of the 3 sessions that "1" means fits this command; agentmux sessions --all lists them`},
		"nothing named, own":                    {w.clone, "", only("own"), "clone/own"},
		"nothing named, the bot's":              {w.clone, "", only("b-issue-2"), widgets + "b-issue-2"},
		"nothing named, both":                   {w.clone, "", only("own", "b-issue-2"), "?several sessions fit, name one of own, b-issue-2"},
		"the newest of an issue":                {w.other, "acme/widgets#1", nil, widgets + "b-issue-1-new"},
		"in capitals":                           {w.outside, "Acme/Widgets#1", nil, widgets + "b-issue-1-new"},
		"the newest that fits":                  {w.other, "acme/widgets#1", only("b-issue-1-old"), widgets + "b-issue-1-old"},
		"the newest, in the clone":              {w.clone, "acme/widgets#1", nil, widgets + "b-issue-1-new"},
		"own by repository":                     {w.clone, "acme/widgets#1", only("own"), "clone/own"},
		"another repository from a clone":       {w.clone, "acme/gears#1", nil, gears + "g-issue-1"},
		"by a former name":                      {w.other, "acme/old#5", nil, "ghe.example_8443/acme/old/m-issue-5"},
		"by a later name":                       {w.other, "acme/renamed#5", nil, "ghe.example_8443/acme/old/m-issue-5"},
		"a whole name from another clone":       {w.other, "g-issue-1", nil, gears + "g-issue-1"},
		"the beginning of one is not enough":    {w.other, "g-issue", nil, `?no session "g-issue"; agentmux sessions --all lists them`},
		"an issue is one of the clone":          {w.other, "1", nil, `?no session "1"; agentmux sessions --all lists them`},
		"nothing named in another clone":        {w.other, "", nil, "?no sessions here; agentmux issue N"},
		"outside, by prefix":                    {w.outside, "g-", nil, gears + "g-issue-1"},
		"outside, an issue of one":              {w.outside, "#5", nil, "ghe.example_8443/acme/old/m-issue-5"},
		"outside, an issue of several":          {w.outside, "1", only("g-issue-1", "b-issue-1-new"), `?"1" fits several sessions, name one of g-issue-1, b-issue-1-new`},
		"outside, nothing named":                {w.outside, "", only("g-issue-1"), gears + "g-issue-1"},
		"one name twice":                        {w.other, "twin", nil, "?" + filepath.Join(session.Dir(w.gears), "twin")},
		"one name twice, one of it near":        {w.clone, "twin", nil, widgets + "twin"},
		"by directory":                          {w.other, filepath.Join(session.Dir(w.gears), "twin"), nil, gears + "twin"},
		"no such issue":                         {w.clone, "acme/widgets#77", nil, `?no session "acme/widgets#77"; agentmux sessions --all lists them`},
		"no such repository":                    {w.clone, "acme/nothing#1", nil, `?no session "acme/nothing#1"`},
		"one that is queued":                    {w.other, "acme/widgets#8", nil, "?acme/widgets#8 has no session yet: it waits for agentmux bot, which does not serve acme/widgets now; agentmux sessions --all"},
		"one that is queued, by its number":     {w.clone, "8", nil, "?acme/widgets#8 has no session yet"},
		"queued in a repository, from another":  {w.other, "8", nil, `?no session "8"`},
		"a number too large to be one of issue": {w.clone, "acme/widgets#99999999999999999999", nil, "?no session"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.find(c.at, c.arg, c.can)
			if says, isError := strings.CutPrefix(c.want, "?"); isError {
				if code, text := exit.Explain(err); code != exit.BadUsage || !strings.Contains(text, says) {
					t.Errorf("found %q, exit %d, says %q, want %q", got, code, text, says)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("found %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// A ticket of a session whose files are gone knows neither who asked for it nor when.
func TestATicketOfALostSessionSaysWhatItWaitsFor(t *testing.T) {
	w := newTown(t)
	made := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	if err := ticket.Of(w.widgets).Write(ticket.Ticket{
		Repo: ghsync.Repo{Owner: "acme", Name: "widgets"}, RepoID: 7, Issue: 8, Session: "b-issue-8", Identity: session.NewIdentity(), Made: made,
		Trigger:  gate.LabelTrigger(ghsync.LabelEvent{Name: "agentmux", Added: true, At: made}),
		Snapshot: &ghsync.Snapshot{Issue: 8}, Taken: true, Lost: true, Dropped: "its files are gone",
	}); err != nil {
		t.Fatal(err)
	}
	q, err := site.QueueOf([]project.Managed{{Dir: w.widgets, Server: "github.com", Names: []string{"acme/widgets"}}})
	if err != nil || len(q.Tickets) != 1 {
		t.Fatalf("%+v, %v", q, err)
	}
	var out bytes.Buffer
	f := &site.Finder{Console: console.New(console.Streams{Out: &out, Err: &out}, func() *redact.Redactor { return redact.New() })}
	show.PrintEverything(f, nil, q, made.Add(time.Minute))
	if got := out.String(); !strings.Contains(got, "acme/widgets#8            1m0s  to have its issue told why it is dropped") {
		t.Errorf("the listing says:\n%s", got)
	}
}

// Without a bot on the machine nothing is different, and git is not asked.
func TestWithoutABotOnlyTheProjectIsSearched(t *testing.T) {
	w := newTown(t)
	if err := os.RemoveAll(w.home); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	w.has(w.clone, "own", "acme/widgets", 1)
	if got, err := w.find(w.clone, "acme/widgets#1", nil); got != "clone/own" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_, err := w.find(w.clone, "2", nil)
	var none *session.NotFoundError
	if !errors.As(err, &none) || !strings.HasSuffix(err.Error(), "; agentmux sessions lists them") {
		t.Errorf("%v", err)
	}
}
