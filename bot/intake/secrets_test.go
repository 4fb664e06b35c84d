package intake_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/intake"
)

// secret is that of the hooks, made for this run.
var secret = rand.Text()

// All that is wrong with the secrets is said at once, with the line and what to do, and without a
// part of a secret.
func TestSecurity22SecretsAreCheckedAtOnce(t *testing.T) {
	const good, good2, short = "0123456789abcdef", "fedcba9876543210-", "shorty-secret"
	for name, c := range map[string]struct {
		text     string
		mode     os.FileMode
		variable string
		want     []string // the secrets
		problems []string // what each one says
	}{
		"one line":                 {text: good + "\n", want: []string{good}},
		"without a last newline":   {text: good, want: []string{good}},
		"two lines":                {text: good + "\n" + good2 + "\n", mode: 0o400, want: []string{good, good2}},
		"sixteen characters":       {text: "äöüäöüäöüäöüäöüä", want: []string{"äöüäöüäöüäöüäöüä"}},
		"readable by its group":    {text: good, mode: 0o640, want: []string{good}},
		"fifteen characters":       {text: good[1:], problems: []string{"FILE:1: the secret has 15 characters"}},
		"empty":                    {text: "", problems: []string{"FILE is empty"}},
		"an empty line":            {text: "\n", problems: []string{"FILE:1: the secret has 0 characters"}},
		"a blank line behind":      {text: good + "\n\n", problems: []string{"FILE:2: the secret has 0 characters"}},
		"readable by all":          {text: good, mode: 0o644, problems: []string{"FILE has mode 0644, and others may not read it: chmod 600"}},
		"writable by its group":    {text: good, mode: 0o620, problems: []string{"mode 0620"}},
		"CRLF":                     {text: good + "\r\n" + good2 + "\r\n", problems: []string{"FILE:1: the line ends with a carriage return: sed", "FILE:2: the line ends with a carriage return: sed"}},
		"three lines":              {text: good + "\n" + good2 + "\n" + good + "\n", problems: []string{"FILE has 3 lines, at most 2 are secrets: remove line 3"}},
		"a space":                  {text: good + " \n", problems: []string{"FILE:1: the secret begins or ends with a space"}},
		"a byte order mark":        {text: "\xef\xbb\xbf" + good, problems: []string{"FILE:1: the secret has characters that are not text"}},
		"a control character":      {text: good + "\x07", problems: []string{"FILE:1: the secret has characters that are not text"}},
		"not UTF-8":                {text: good + "\xff", problems: []string{"FILE:1: the secret has characters that are not text"}},
		"large":                    {text: strings.Repeat("x", 5000), problems: []string{"FILE has 5000 bytes"}},
		"variable":                 {variable: good, want: []string{good}},
		"a short variable":         {variable: short, problems: []string{"AGENTMUX_WEBHOOK_SECRET: the secret has 13 characters"}},
		"file and variable":        {text: good, variable: good2, problems: []string{"bot.webhook_secret_file and AGENTMUX_WEBHOOK_SECRET are both set"}},
		"neither":                  {},
		"all of it":                {text: short + "\r\n" + good + "\n" + short + "\n", mode: 0o666, variable: "x", problems: []string{"both set", "mode 0666", "3 lines", "FILE:1: the line ends", "FILE:1: the secret has 13", "FILE:3: the secret has 13"}},
		"a file that is not there": {text: "-", problems: []string{"bot.webhook_secret_file: open FILE: no such file"}},
		"a directory":              {text: "/", problems: []string{"FILE is not a file"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret")
			switch {
			case c.text == "/":
				path = t.TempDir()
			case c.text == "-":
			case c.text != "" || name == "empty":
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				if c.mode != 0 {
					if err := os.Chmod(path, c.mode); err != nil {
						t.Fatal(err)
					}
				}
			default:
				path = ""
			}
			secrets, err := intake.Secrets(path, c.variable)
			var got []string
			for _, s := range secrets {
				got = append(got, s.Reveal())
			}
			if !slices.Equal(got, c.want) || (err == nil) != (c.problems == nil) {
				t.Fatalf("%d secrets, %v", len(secrets), err)
			}
			if err == nil {
				return
			}
			var all *intake.SecretsError
			if !errors.As(err, &all) || len(all.Problems) != len(c.problems) {
				t.Fatalf("%d problems, want %d:\n%v", len(all.Problems), len(c.problems), err)
			}
			for i, want := range c.problems {
				if want = strings.ReplaceAll(want, "FILE", path); !strings.Contains(all.Problems[i], want) {
					t.Errorf("problem %q, want %q", all.Problems[i], want)
				}
			}
			for _, secret := range []string{good, good2, short} {
				if strings.Contains(fmt.Sprintf("%v %+v", err, secrets), secret) {
					t.Errorf("a secret is shown: %v", err)
				}
			}
		})
	}
}
