package account_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// An App that is removed, or whose installation is suspended, is away until that has ended. What
// it owes is possible again then, also where it is another installation.
func TestGitHub85TheAppIsAwayForTwoHours(t *testing.T) {
	for name, how := range map[string]struct{ away, back func(*office) }{
		"suspended": {
			func(o *office) { o.server.SetInstallation(o.app, true, false) },
			func(o *office) { o.server.SetInstallation(o.app, false, false) },
		},
		"removed": {
			func(o *office) { o.server.SetInstallation(o.app, false, true) },
			func(o *office) { o.server.Install(o.app, "octo/widgets") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			issue := o.server.Repo("octo/widgets").AddIssue(fakehub.IssueSpec{Title: "t", Author: "robot"})
			b := o.mustOpen(o.asApp(), account.Tokens{})
			a, other := o.of(b, widgets), o.of(b, rockets)
			how.away(o)
			since := o.now()
			for range 120 {
				// A creating call with a refused token is asked to come again once.
				if err := o.comments(a.Client, widgets, issue); !transport.IsAway(err) && !isToken(err) {
					t.Fatalf("after %s: %v", o.now().Sub(since), err)
				}
				if _, later := transport.Later(o.comments(a.Client, widgets, issue)); !later {
					t.Fatal("what is owed is given up")
				}
				if err := o.reads(other, rockets); err != nil {
					t.Fatalf("the other installation: %v", err)
				}
				o.later(time.Minute)
			}
			if !transport.IsAway(a.Away()) || other.Away() != nil {
				t.Errorf("the account is away: %v, the other one: %v", a.Away(), other.Away())
			}
			absent := b.Absent()
			if len(absent) != 1 || absent[0].Where != "octo/widgets" || !absent[0].Since.Equal(since) || !transport.IsAway(absent[0].Err) {
				t.Errorf("absent: %+v", absent)
			}
			if n := o.logged("GitHub refuses the account"); n != 12 {
				t.Errorf("the log says so %d times in two hours", n)
			}
			if _, err := b.For(t.Context(), gadgets); !transport.IsAway(err) {
				t.Errorf("a repository that is opened meanwhile: %v", err)
			}
			how.back(o)
			o.later(2 * time.Minute)
			if err := o.comments(a.Client, widgets, issue); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if got := len(o.server.Repo("octo/widgets").Comments(issue)); got != 1 || a.Away() != nil || len(b.Absent()) != 0 || o.logged("accepts the account again") != 1 {
				t.Errorf("%d comments, absent %+v:\n%s", got, b.Absent(), o.log.String())
			}
		})
	}
}

func isToken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "with a new token")
}

// A token file that is replaced, and gh that is logged in once more, are read again when the
// server refuses the old token, and only then: the call that met the refusal succeeds.
func TestGitHub85AnExpiredTokenIsReadAgain(t *testing.T) {
	for name, make := range map[string]func(o *office, file string) account.Tokens{
		"file": func(_ *office, file string) account.Tokens { return account.Tokens{File: file} },
		"gh": func(_ *office, file string) account.Tokens {
			return account.Tokens{GH: func(string) (string, string) {
				data, err := os.ReadFile(file)
				if err != nil {
					return "", ""
				}
				return strings.TrimSpace(string(data)), "gh (oauth_token)"
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.server.AddUser(fakehub.UserSpec{Login: "second", Token: "ghp_" + strings.Repeat("b", 36), Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}})
			file := filepath.Join(t.TempDir(), "token")
			o.write(file, o.server.Token("robot"), 0o600)
			b := o.mustOpen("", make(o, file))
			a := o.of(b, widgets)
			o.write(file, o.server.Token("second"), 0o600)
			if err := o.reads(a, widgets); err != nil || o.server.Requests("second") != 0 {
				t.Fatalf("a token that was not refused is read again: %v", err)
			}
			o.server.Revoke(o.server.Token("robot"))
			if err := o.reads(a, widgets); err != nil || o.server.Requests("second") != 1 {
				t.Errorf("with the second token: %v", err)
			}
			if secret, err := a.Token.Token(t.Context()); err != nil || secret.Reveal() != o.server.Token("second") || o.redact.Redact(secret.Reveal()) == secret.Reveal() {
				t.Errorf("git gets another token, or the redactor does not know it: %v", err)
			}
			second := o.server.Token("second")
			o.server.Revoke(second)
			o.server.ResetLog()
			if err := o.reads(a, widgets); !transport.IsAway(err) || len(o.server.Calls()) != 1 || len(b.Absent()) != 1 {
				t.Errorf("no token is left: %v after %d requests, %+v", err, len(o.server.Calls()), b.Absent())
			}
			o.server.AddUser(fakehub.UserSpec{Login: "third", Token: "ghp_" + strings.Repeat("c", 36), Roles: map[string]fakehub.Role{"octo/widgets": fakehub.Write}})
			o.write(file, o.server.Token("third"), 0o600)
			if err := o.reads(a, widgets); err != nil || len(b.Absent()) != 0 {
				t.Errorf("with the third token: %v, %+v", err, b.Absent())
			}
		})
	}
}

// A token of a variable is refused once, and that is the end until the process starts again.
func TestGitHub85ATokenOfAVariableIsAway(t *testing.T) {
	o := newOffice(t)
	token := o.server.Token("robot")
	b := o.mustOpen("", account.Tokens{Variables: map[string]string{"AGENTMUX_GITHUB_TOKEN": token}})
	a := o.of(b, widgets)
	o.server.Revoke(token)
	if err := o.reads(a, widgets); !transport.IsAway(err) || !account.IsUnauthorized(err) || len(o.server.Calls()) != 1 {
		t.Errorf("%v after %d requests", err, len(o.server.Calls()))
	}
}
