package docs_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/workflows"
)

var (
	asked = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)
	mia   = ghsync.Account{Login: "mia", ID: 9, Type: "User"}
	eve   = ghsync.Account{Login: "eve", ID: 11, Type: "User"}
	robot = ghsync.Account{Login: "helper[bot]", ID: 12, Type: "Bot"}
)

// started is a request that nothing is against: mia, who may write, has set the label.
func started() gate.Facts {
	repo := ghsync.Repo{Owner: "octo", Name: "widgets"}
	return gate.Facts{
		Repo: repo, RepoID: 1, Issue: 12,
		Record: ghsync.Record{
			Repository: ghsync.Repository{Repo: repo, ID: 1, Private: true, CanPush: true},
			Issue:      ghsync.Issue{Number: 12, Title: "Add retry", Author: eve, Labels: []string{"agentmux"}, CreatedAt: asked.Add(-time.Hour), UpdatedAt: asked},
			Labels:     []ghsync.LabelEvent{{Name: "agentmux", Added: true, At: asked, Actor: mia}}, EditorsKnown: true, ReadAt: asked.Add(time.Minute),
		},
		Own: robot,
		Rules: gate.Rules{
			Bot:  config.Bot{Repos: []string{"octo/widgets"}, Label: "agentmux", MinPermission: "write"},
			Gate: config.Gate{UserHour: 5, RepoRunning: 3, OpenPRs: 10, IssueDay: 5},
		},
		Load: gate.Load{FreeSlot: true, OpenPulls: &gate.Count{}},
		Answers: map[string]gate.Answer{
			"mia": {Permission: ghsync.Permission{Account: mia, Level: ghsync.LevelWrite}}, "eve": {Permission: ghsync.Permission{Account: eve, Level: ghsync.LevelRead}},
		},
	}
}

// history is one in which everything happened.
type history struct{ starts, byUser int }

func (h history) Decided(int, gate.Trigger) bool               { return h == history{} }
func (h history) LabelStarts(int, time.Duration) int           { return h.starts }
func (h history) StartsBy(int64, time.Duration) int            { return h.byUser }
func (history) FirstSeen(int, gate.Trigger) (gate.Texts, bool) { return gate.Texts{}, false }
func byMia(f *gate.Facts) *ghsync.Account                      { return &f.Record.Labels[0].Actor }
func judged(change func(*gate.Facts)) func() gate.Decision {
	return func() gate.Decision {
		f := started()
		change(&f)
		d, _ := gate.Judge(f)
		return d
	}
}

// decisions has an example of each row of the gate, and of each reason of a row that has several. then
// is what a person can do where the gate itself names nothing.
var decisions = []struct {
	row  gate.Row
	of   func() gate.Decision
	then string
}{
	{gate.RowSettling, judged(func(f *gate.Facts) { f.Record.ReadAt = asked }), "wait five seconds"},
	{gate.RowScope, judged(func(f *gate.Facts) { f.Rules.Bot.Repos = nil }), "name it with `--repo` or in `bot.repos`"},
	{gate.RowScope, judged(func(f *gate.Facts) { f.Record.Repository.Archived = true }), "unarchive it"},
	{gate.RowGone, judged(func(f *gate.Facts) { f.RecordErr = &transport.NotFound{} }), "see that the account may read the repository"},
	{gate.RowAbsent, judged(func(f *gate.Facts) { f.Record.Issue.Closed = true }), ""},
	{gate.RowFork, judged(func(f *gate.Facts) {
		f.Record.Repository.Fork, f.Rules.Bot.Repos, f.Rules.Bot.Orgs = true, nil, []string{"octo"}
	}), ""},
	{gate.RowClaimed, judged(func(f *gate.Facts) { f.Claim = &gate.Claim{Host: "h_5f3c9a0b11d2e4f7"} }), "comment commands: they reach that host; see [several hosts](#several-hosts)"},
	{gate.RowDecided, judged(func(f *gate.Facts) { f.History = history{} }), "take the label off and set it again"},
	{gate.RowUnread, judged(func(f *gate.Facts) { f.RecordErr = errors.New("502") }), "nothing: it is asked again"},
	{gate.RowUnknown, judged(func(f *gate.Facts) { f.Record.Labels, f.Tries = nil, gate.Tries{Row: gate.RowUnknown, N: 3} }), ""},
	{gate.RowDeleted, judged(func(f *gate.Facts) { *byMia(f) = ghsync.Account{} }), ""},
	{gate.RowNoPerson, judged(func(f *gate.Facts) { *byMia(f) = robot; f.Own = ghsync.Account{} }), "let a person set the label"},
	{gate.RowOwn, judged(func(f *gate.Facts) { f.Own, f.Rules.Bot.MachineAccount = mia, true }), "set the label as another account, or `bot.machine_account: false`"},
	{gate.RowPermission, judged(func(f *gate.Facts) { *byMia(f) = eve }), ""},
	{gate.RowPermission, judged(func(f *gate.Facts) { f.Rules.Bot.AllowedUsers = []string{"olga"} }), ""},
	{gate.RowWorkflow, judged(func(f *gate.Facts) { relabel(f, "agentmux:fast"); f.Rules.Workflows = workflows.Shipped() }), ""},
	{gate.RowWorkflow, judged(func(f *gate.Facts) { relabel(f, "agentmux:feature", "agentmux:quick") }), ""},
	{gate.RowEdited, judged(func(f *gate.Facts) { f.Record.BodyEdits = []ghsync.Edit{{At: asked.Add(time.Minute), Editor: eve}} }), ""},
	{gate.RowUnsandboxed, judged(func(f *gate.Facts) { f.Record.Repository.Private, f.Rules.Unsandboxed = false, true }), ""},
	{gate.RowIssueDay, judged(func(f *gate.Facts) { f.History = history{starts: 5} }), ""},
	{gate.RowBusy, judged(func(f *gate.Facts) { f.Load.Paused = true }), ""},
	{gate.RowBusy, judged(func(f *gate.Facts) { f.History = history{byUser: 5} }), "wait, or raise `gate.user_hour`"},
	{gate.RowBusy, judged(func(f *gate.Facts) { f.Load.Running = 3 }), "wait, or raise `gate.repo_running`"},
	{gate.RowBusy, judged(func(f *gate.Facts) { f.Load.FreeSlot = false }), "wait, or raise `bot.max_concurrent`"},
	{gate.RowBusy, judged(func(f *gate.Facts) { f.Load.OpenPulls.N = 10 }), ""},
	{gate.RowStart, judged(func(*gate.Facts) {}), ""},
	{gate.RowBase, func() gate.Decision {
		return gate.Slot{Label: "agentmux", Base: document.Problems{{File: ".agentmux/config.yaml", Line: 3, Text: "unknown key"}}}.Judge()
	}, ""},
	{gate.RowBase, func() gate.Decision {
		return gate.Slot{Label: "agentmux", Workflow: "fast", Files: fstest.MapFS{}}.Judge()
	}, ""},
	{gate.RowMachine, func() gate.Decision { return gate.Slot{Machine: []string{"for disk space"}}.Judge() }, "mend what the status comment and `agentmux doctor` name; it begins by itself"},
}

// relabel has mia ask by other labels.
func relabel(f *gate.Facts, names ...string) {
	f.Record.Issue.Labels, f.Record.Labels = names, nil
	for _, name := range names {
		f.Record.Labels = append(f.Record.Labels, ghsync.LabelEvent{Name: name, Added: true, At: asked, Actor: mia})
	}
}

// verdicts are what the page calls decisions.
var verdicts = map[gate.What]string{
	gate.Ignore: "left alone", gate.Later: "asked again", gate.Refuse: "refused", gate.RefuseSilently: "refused without a comment", gate.Queue: "waits", gate.Start: "begins",
}

// The page of operations has each decision of the gate as the gate words it, with what to do.
func TestOperationsPageHasEveryRowOfTheGate(t *testing.T) {
	page := documents(t)["docs/operations.md"]
	seen := map[gate.Row]bool{}
	for _, c := range decisions {
		d := c.of()
		if d.Row != c.row {
			t.Errorf("the example of row %d is of row %d: %s", c.row, d.Row, d)
			continue
		}
		seen[c.row] = true
		line := fmt.Sprintf("| %d `%s` | %s | %s | %s |", d.Row, d.Row, verdicts[d.What], escaped(d.Reason), cmp.Or(c.then, escaped(d.Remedy)))
		if !strings.Contains(page, "\n"+line+"\n") {
			t.Errorf("no line\n%s", line)
		}
		if d.What != gate.Start && c.then == "" && d.Remedy == "" {
			t.Errorf("row %s says nothing to do", d.Row)
		}
	}
	for row := gate.RowSettling; row <= gate.RowMachine; row++ {
		if !seen[row] {
			t.Errorf("row %s has no example", row)
		}
	}
	if last := gate.RowMachine + 1; !strings.HasPrefix(last.String(), "row ") {
		t.Errorf("there is a row %s behind the last one here", last)
	}
}

// escaped is a text in a cell of a table.
func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

var metric = regexp.MustCompile(`describe\("([a-z_]+)", "[^"]+"`)

// Each metric has a line that says what it means to the one who watches.
func TestOperationsPageHasEveryMetric(t *testing.T) {
	page, n := documents(t)["docs/operations.md"], 0
	files, err := fs.Glob(os.DirFS(root), "bot/metrics/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(path.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metric.FindAllStringSubmatch(string(data), -1) {
			if n++; !strings.Contains(page, "| `agentmux_"+m[1]+"`") {
				t.Errorf("no agentmux_%s", m[1])
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d metrics were found", n)
	}
}
