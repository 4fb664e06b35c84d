package bot_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// A ticket that a newer version wrote is left to that one with all that belongs to it: the label it asks by, its claim and
// its file. A bot of this version begins nothing for its issue, and the newer one takes the ticket up.
func TestATicketOfANewerVersionIsLeftToIt(t *testing.T) {
	r := newBegun(t, func(string, int) {})
	r.server.Inject(fakehub.Fault{Route: "POST /repos/{owner}/{repo}/issues/{number}/comments", Status: 422}) // it is killed before it tells
	r.ask(1)
	first := r.bot(false)
	var file string
	r.serveWith(first, func() bool {
		if all := project.ListManaged(first.Host.StateHome); len(all) > 0 {
			file = filepath.Join(all[0].Dir, "tickets", "1.json")
		}
		_, err := os.Stat(file)
		return err == nil && r.server.Hits() > 0
	})
	r.server.Heal()
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(written, []byte(`"version":1`), []byte(`"version":2`), 1)
	if err := os.WriteFile(file, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(until func() bool) {
		t.Helper()
		b, err := bot.New(first.Options)
		if err != nil {
			t.Fatal(err)
		}
		r.serveWith(b, until)
	}
	claim := func() string { return r.repo.Refs()["refs/agentmux/claims/1"] }
	claimed, before, over := claim(), r.readings(), time.Now().Add(20*time.Second)
	asked := false
	serve(func() bool {
		if r.readings() > before && !asked { // its next reading comes after what it made of this one
			asked = true
			r.repo.Comment(1, "Soon?", mia)
		}
		return r.readings() > before+1 || time.Now().After(over)
	})
	now, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(now, newer) || claim() != claimed || claimed == "" {
		t.Errorf("ticket %s, claim %q, before %q, %v", now, claim(), claimed, err)
	}
	if on := r.repo.Issue(1).Labels; !slices.Equal(on, []string{"agentmux"}) || r.taken("1") > 0 {
		t.Errorf("labels %q, begun %d times", on, r.taken("1"))
	}
	if err := os.WriteFile(file, written, 0o600); err != nil {
		t.Fatal(err)
	}
	over = time.Now().Add(time.Minute)
	serve(func() bool { return r.taken("1") > 0 || time.Now().After(over) })
	if r.taken("1") == 0 {
		t.Error("the version that wrote it lost it")
	}
}

// A session that a newer version made, whose agents may be at work, is left to that one with the claim of its issue: another
// host would begin once more beside them. A bot of this version takes off no label and answers no command there, and the
// newer one takes the session up.
func TestASessionOfANewerVersionIsLeftToIt(t *testing.T) {
	r := newBegun(t, func(string, int) {})
	r.ask(1)
	first := r.bot(false)
	claim := func() string { return r.repo.Refs()["refs/agentmux/claims/1"] }
	var file string
	r.serveWith(first, func() bool {
		if all := project.ListManaged(first.Host.StateHome); len(all) > 0 {
			found, _ := filepath.Glob(filepath.Join(all[0].Dir, ".agentmux", ".sessions", "*", "state.json"))
			file = strings.Join(found, "")
		}
		return r.taken("1") > 0 && file != "" && claim() != ""
	})
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := []byte(`{"schema_version": 99}`)
	if err := os.WriteFile(file, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	var log lockedText
	serve := func(until func() bool) {
		t.Helper()
		o := first.Options
		o.Log = slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), &log), nil))
		b, err := bot.New(o)
		if err != nil {
			t.Fatal(err)
		}
		r.serveWith(b, until)
	}
	r.repo.Label(1, "agentmux", mia)
	stop := r.repo.Comment(1, "/agentmux stop", mia)
	r.pass(10 * time.Second)
	claimed, before, begun, over := claim(), r.readings(), r.taken("1"), time.Now().Add(20*time.Second)
	asked := false
	serve(func() bool {
		if r.readings() > before && !asked { // its next reading comes after what it made of this one
			asked = true
			r.repo.Comment(1, "Soon?", mia)
		}
		waits := strings.Contains(log.String(), `msg="a command cannot be judged yet"`)
		return r.readings() > before+1 && waits || time.Now().After(over)
	})
	if time.Now().After(over) {
		t.Error("the label or the command was not looked at")
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, newer) || claim() != claimed || claimed == "" || r.taken("1") != begun {
		t.Errorf("state %s, claim %q, before %q, begun %d times, %v", now, claim(), claimed, r.taken("1"), err)
	}
	answered := slices.ContainsFunc(r.repo.Comments(1), func(c fakehub.CommentView) bool { return c.ID == stop && len(c.Reactions) > 0 })
	if on := r.repo.Issue(1).Labels; !slices.Contains(on, "agentmux") || answered {
		t.Errorf("labels %q, a receipt: %t", on, answered)
	}
	if err := os.WriteFile(file, written, 0o600); err != nil {
		t.Fatal(err)
	}
	over = time.Now().Add(time.Minute)
	serve(func() bool { return r.taken("1") > begun || time.Now().After(over) })
	if r.taken("1") == begun || claim() == "" {
		t.Errorf("the version that made it lost it: claim %q", claim())
	}
}

// lockedText is written by one goroutine and read by another.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
