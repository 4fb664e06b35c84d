package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/internal/agent"
)

// A program is judged as at the start of a run: one whose help names some of the flags is refused, with what to do, and
// one with a help of its own is not.
func TestAProviderIsJudgedByItsHelp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prog")
	p := agent.Provider{Name: "prog", Command: file, Proven: true, Versions: []string{"1.0"}, HelpArgs: []string{"--help"}, Flags: []string{"--model", "--json"}}
	for name, c := range map[string]struct {
		help  string
		flags []string
		state string
		hint  string
	}{
		"all":                 {"--model --json", p.Flags, doctor.OK, ""},
		"some":                {"--model", p.Flags, doctor.Failed, "install version 1.0, or, for a wrapper that passes them on, set \"providers: {prog: {flags: []}}\""},
		"a help of its own":   {"see the manual", p.Flags, doctor.OK, ""},
		"some, but not asked": {"--model", nil, doctor.OK, ""},
	} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\ncase $1 in --version) echo 1.0 ;; *) echo ' "+c.help+"' ;; esac\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		p.Flags = c.flags
		if got := doctor.Provider(t.Context(), p, "coder", "/usr/bin:/bin"); got.State != c.state || !strings.Contains(got.Hint, c.hint) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
