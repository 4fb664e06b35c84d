package request_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

func TestParseRef(t *testing.T) {
	const server = "https://github.com"
	for name, c := range map[string]struct{ arg, want string }{
		"a number":                         {"42", "42"},
		"a number with #":                  {"#42", "42"},
		"with its repository":              {"octo/widgets#42", "octo/widgets 42"},
		"an address":                       {"https://github.com/octo/widgets/issues/42", "octo/widgets 42"},
		"zero":                             {"0", "is not an issue"},
		"a name without an owner":          {"widgets#42", "is not a repository"},
		"an address on another server":     {"https://example.com/octo/widgets/issues/42", "is not on"},
		"the address of a pull request":    {"https://github.com/octo/widgets/pull/42", "is a pull request"},
		"an address without a number":      {"https://github.com/octo/widgets/issues/x", "is not an issue number"},
		"an address of something else":     {"https://github.com/octo/widgets/wiki/42", "is not an issue; expected"},
		"an address that cannot be parsed": {"http://%zz", "is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			ref, err := request.ParseRef(c.arg, server)
			if err != nil {
				if !errors.As(err, new(*request.Error)) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			got := "42"
			if ref.Repo != nil {
				got = ref.Repo.String() + " 42"
			}
			if got != c.want || ref.Number != 42 {
				t.Errorf("%s, %d, want %s", got, ref.Number, c.want)
			}
		})
	}
}

func TestTheRepositoryOfAnIssue(t *testing.T) {
	own := ghsync.Repo{Owner: "octo", Name: "widgets"}
	if repo, err := (request.Ref{Repo: &ghsync.Repo{Owner: "Octo", Name: "Widgets"}, Number: 1}).In(own); err != nil || repo != own {
		t.Errorf("%v, %v", repo, err)
	}
	if _, err := (request.Ref{Repo: &ghsync.Repo{Owner: "mia", Name: "widgets"}, Number: 1}).In(own); err == nil {
		t.Error("an issue of another repository was taken")
	}
}

func TestReadText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "feature.md")
	if err := os.WriteFile(file, []byte("Say two.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(file), "feature.txt")
	if err := os.WriteFile(other, []byte("Say two.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, arg, text, title, fails string }{
		{"a file", file, "Say two.\n", "feature", ""},
		{"words", "Say two", "Say two", "Say two", ""},
		{"a file of another kind", other, "", "", "feature.txt is a file, and a request is read from an .md file alone"},
		{"its name in words", other + ".", other + ".", other + ".", ""},
		{"the standard input", "-", "", "", "not read from the standard input"},
		{"a directory", filepath.Dir(file), "", "", "is a directory"},
		{"no such file", file + ".md", "", "", "no such file"},
		{"not UTF-8", "a\xff", "", "", "not UTF-8 text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, title, err := request.ReadText(c.arg)
			if c.fails != "" {
				if !errors.As(err, new(*request.Error)) || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, want %s", err, c.fails)
				}
				return
			}
			if err != nil || text != c.text || title != c.title {
				t.Errorf("%q, %q, %v", text, title, err)
			}
		})
	}
}

func TestWhatAnOldSessionMeans(t *testing.T) {
	for _, c := range []struct {
		name          string
		phase         string
		outcome       orchestrator.Optional
		running, owes bool
		want          request.Old
	}{
		{"done", orchestrator.PhaseDone, orchestrator.OutcomeDone, false, false, request.Finished},
		{"done, its host still there", orchestrator.PhaseDone, orchestrator.OutcomeDone, true, true, request.Ending},
		{"done and owing", orchestrator.PhaseDone, orchestrator.OutcomeDone, false, true, request.Owing},
		{"at work", "reviewing", "", true, false, request.Running},
		{"interrupted", "reviewing", "", false, false, request.Unfinished},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := session.Entry{Running: c.running, State: &orchestrator.State{}}
			e.State.Phase, e.State.Outcome = c.phase, c.outcome
			if got := request.Means(e, func() bool { return c.owes }); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
