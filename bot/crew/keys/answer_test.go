package keys_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

const dialog = "Run ls?\n> yes\n  no"

// paneWith returns a pane whose program shows the dialog until it has taken that many lines.
func paneWith(t *testing.T, takes string, above ...string) keys.Pane {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server, err := tmux.New(tmux.Options{Socket: filepath.Join(dir, "s"), Tags: []string{"@t"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.KillServer(context.Background()) })
	program := `printf '` + strings.Join(above, "") + `\nRun ls?\n> yes\n  no\n'; for i in ` + takes + `; do read line; done; printf '\033[2J\033[Hpermitted\n'; exec cat`
	all, err := server.Ensure(t.Context(), tmux.SessionSpec{Name: "s", Window: tmux.WindowSpec{
		Name: "w", Dir: dir, Command: []string{"/bin/sh", "-c", program}, Options: map[string]string{"@t": "yes"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := keys.Pane{
		Server: server, ID: all[0].ID, Dir: t.TempDir(), Clean: strings.Clone, Now: time.Now,
		Provider: agent.Provider{Dialogs: []agent.Menu{{Text: "Run", Choices: []agent.Choice{{Label: "yes", Keys: []string{"Enter"}}, {Label: "no", Keys: []string{"Escape"}}}}}},
	}
	for {
		if _, shown, err := p.Look(t.Context()); err != nil {
			t.Fatal(err)
		} else if strings.HasSuffix(shown, "no") {
			return p
		}
	}
}

// An answer is pressed at the dialog that it is about, and only there, and at most three times, also by the next host.
func TestProtocolP14AnAnswerIsPressedAtItsDialogAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes  string
		text   string // of the question
		before int    // tries of an earlier host
		want   string
		tried  int
	}{
		"at once":             {"1", dialog, 0, orchestrator.DeliverySent, 1},
		"a key is lost":       {"1 2", dialog, 0, orchestrator.DeliverySent, 2},
		"another call tried":  {"1", dialog, 1, orchestrator.DeliveryIndeterminate, 1},
		"every key is lost":   {"1 2 3 4 5", dialog, 0, orchestrator.DeliveryIndeterminate, 3},
		"it was tried before": {"1", dialog, 3, orchestrator.DeliveryIndeterminate, 3},
		"another dialog":      {"1", "Run rm?\n> yes\n  no", 0, orchestrator.DeliveryRefused, 0},
		"another choice":      {"1", "Run ls?\n  yes\n> no", 0, orchestrator.DeliveryRefused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := paneWith(t, c.takes)
			var d keys.Dialogs
			if c.before > 0 {
				if err := d.Try(p.Dir, "d1", c.before); err != nil {
					t.Fatal(err)
				}
			}
			got, err := p.Answer(t.Context(), &d, orchestrator.Question{ID: "d1", Text: c.text, Answer: "yes"})
			if tried := d.Tried(p.Dir, "d1"); err != nil || got != c.want || tried != c.tried {
				t.Errorf("%q, %d tries, %v; want %q, %d", got, tried, err, c.want, c.tried)
			}
		})
	}
}

// What does not fit on the screen, or into a question, is said to be above, and makes a difference all the same.
func TestALongDialogSaysThatItIsLonger(t *testing.T) {
	t.Parallel()
	look := func(above string) string {
		p := paneWith(t, "1", above)
		_, shown, err := p.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return shown
	}
	if got := look(""); got != dialog {
		t.Errorf("all of it: %q", got)
	}
	if got := look(strings.Repeat(`\n`, 200)); !strings.HasPrefix(got, "more above: attach\nRun ls?") {
		t.Errorf("above the screen: %q", got)
	}
	wide := strings.Repeat("x ", 3000)
	a, b := look("rm "+wide), look("ls "+wide)
	if n := len([]rune(a)); n > orchestrator.MaxEventText || !strings.HasPrefix(a, "more above: attach (") || !strings.HasSuffix(a, dialog) || a == b {
		t.Errorf("%d characters, the same %v: %q", n, a == b, a)
	}
}

// The same dialog once more is a second request, which the answer to the first does not permit.
func TestProtocolP14AnAnswerPermitsOneRequest(t *testing.T) {
	t.Parallel()
	p := paneWith(t, "1; do read line; done; printf '\\033[2J\\033[Hat work'; sleep 0.4; printf '\\033[2J\\033[H\\nRun ls?\\n> yes\\n  no\\n'; for i in 1")
	var d keys.Dialogs
	got, err := p.Answer(t.Context(), &d, orchestrator.Question{ID: "d1", Text: dialog, Answer: "yes"})
	if tried := d.Tried(p.Dir, "d1"); err != nil || got != orchestrator.DeliverySent || tried != 1 {
		t.Fatalf("%q, %d tries, %v", got, tried, err)
	}
	if got, err = p.Answer(t.Context(), &d, orchestrator.Question{ID: "d1", Text: dialog, Answer: "yes"}); got == orchestrator.DeliveryRefused || err != nil || d.Tried(p.Dir, "d1") != 1 {
		t.Errorf("%q, %d tries, %v", got, d.Tried(p.Dir, "d1"), err)
	}
}

// A screen that moves is asked about once more when it is quiet.
func TestAQuestionStaysWhileTheScreenMoves(t *testing.T) {
	t.Parallel()
	p := paneWith(t, "1")
	q := &orchestrator.Question{ID: "d1", Text: "Run ls? 12:01", Options: []string{"yes"}}
	for silence, want := range map[time.Duration]string{0: q.Text, time.Minute: dialog} {
		out := &orchestrator.AgentReport{Silence: orchestrator.Duration(silence)}
		if !p.Asks(t.Context(), &keys.Dialogs{}, q, out) || out.Dialog != want {
			t.Errorf("quiet for %v: %q", silence, out.Dialog)
		}
	}
}
