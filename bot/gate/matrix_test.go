package gate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
)

// matrix is written by hand: a line for who asks and how, a column for who edited the text after
// that, a cell for the row that decides. 18 starts, and nothing else does.
const matrix = `
                  none   mia  olga   eve  triager  robot  deleted
label/admin         18    18    18    14       14     14       14
label/maintain      18    18    18    14       14     14       14
label/write         18    18    18    14       14     14       14
label/triage        12    12    12    12       12     12       12
label/read          12    12    12    12       12     12       12
label/none          12    12    12    12       12     12       12
label/unread         7     7     7     7        7      7        7
label/bot           10    10    10    10       10     10       10
label/mannequin     10    10    10    10       10     10       10
label/organization  10    10    10    10       10     10       10
label/deleted        9     9     9     9        9      9        9
comment/admin       18    18    18    14       14     14       14
comment/maintain    18    18    18    14       14     14       14
comment/write       18    18    18    14       14     14       14
comment/triage      12    12    12    12       12     12       12
comment/read        12    12    12    12       12     12       12
comment/none        12    12    12    12       12     12       12
comment/unread       7     7     7     7        7      7        7
comment/bot         10    10    10    10       10     10       10
comment/mannequin   10    10    10    10       10     10       10
comment/organization 10   10    10    10       10     10       10
comment/deleted      9     9     9     9        9      9        9
cli/admin           18    18    18    18       18     18       18
cli/maintain        18    18    18    18       18     18       18
cli/write           18    18    18    18       18     18       18
cli/triage          18    18    18    18       18     18       18
cli/read            18    18    18    18       18     18       18
cli/none            18    18    18    18       18     18       18
cli/bot             18    18    18    18       18     18       18
`

// TestSecurity1And3And26OnlyThoseWhoMayStartWork goes through who asks, by what, and who edits.
func TestSecurity1And3And26OnlyThoseWhoMayStartWork(t *testing.T) {
	lines := strings.Split(strings.Trim(matrix, "\n"), "\n")
	editors := strings.Fields(lines[0])
	starts := 0
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		kind, role, _ := strings.Cut(cells[0], "/")
		for i, editor := range editors {
			name := cells[0] + " edited by " + editor
			f := request(t, kind, role, editor)
			d, need := gate.Judge(f)
			if need != (gate.Need{}) {
				t.Fatalf("%s needs %+v", name, need)
			}
			if got := fmt.Sprint(int(d.Row)); got != cells[i+1] {
				t.Errorf("%s: row %s (%s), want %s", name, got, d, cells[i+1])
			}
			if started := d.What == gate.Start; started != (cells[i+1] == "18") {
				t.Errorf("%s: %s", name, d.What)
			}
			if d.What == gate.Start {
				starts++
			}
		}
	}
	if starts != 6*3+7*7 {
		t.Errorf("%d start", starts)
	}
}

// request is one that somebody of a role makes, with an edit of another afterwards.
func request(t *testing.T, kind, role, editor string) gate.Facts {
	t.Helper()
	f := wanted()
	who, answer := ghsync.Account{Login: "asker", ID: 40, Type: "User"}, gate.Answer{}
	switch role {
	case "bot":
		who = ghsync.Account{Login: "asker[bot]", ID: 40, Type: "Bot"}
		answer = may(who, ghsync.LevelAdmin)
	case "mannequin", "organization":
		who.Type = strings.ToUpper(role[:1]) + role[1:]
		answer = may(who, ghsync.LevelAdmin)
	case "deleted":
		who = ghsync.Account{}
	case "unread":
		answer.Err = errors.New("500")
	default:
		level, ok := ghsync.ParseLevel(role)
		if !ok {
			t.Fatalf("no role %s", role)
		}
		answer = may(who, level)
	}
	switch gate.Kind(kind) {
	case gate.Label:
		f.Record.Labels[0].Actor = who
	case gate.Comment:
		byComment(who)(&f)
	case gate.CLI:
		atTerminal(&f)
		f.Ask.By, f.Ask.Level = who, answer.Permission.Level
		return edited(f, editor)
	default:
		t.Fatalf("no kind %s", kind)
	}
	f.Answers = map[string]gate.Answer{
		"asker": answer, "asker[bot]": answer, "mia": may(mia, ghsync.LevelWrite), "olga": may(olga, ghsync.LevelAdmin), "eve": may(eve, ghsync.LevelRead),
		"triager": may(ghsync.Account{Login: "triager", ID: 41}, ghsync.LevelTriage), "helper[bot]": may(robot, ghsync.LevelAdmin),
	}
	return edited(f, editor)
}

func edited(f gate.Facts, editor string) gate.Facts {
	by := map[string]ghsync.Account{"mia": mia, "olga": olga, "eve": eve, "triager": {Login: "triager", ID: 41, Type: "User"}, "robot": robot, "deleted": {}}
	if editor != "none" {
		edit(by[editor], time.Second)(&f)
	}
	return f
}
