package redact_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
)

// token is a made-up token: the prefix is apart so that no scanner takes
// this file for a leak.
func token(prefix string, n int) string { return prefix + random(77, n, alnum) }

func rules(found []redact.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Rule)
	}
	return out
}

func TestPatterns(t *testing.T) {
	upper := random(5, 40, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	jwt := "eyJ" + random(1, 20, alnum) + "." + random(2, 10, alnum) + "." + random(3, 10, alnum)
	for _, c := range []struct {
		rule string
		text string
		want bool
	}{
		{"hex-token", "GITHUB_TOKEN=" + random(9, 40, "0123456789abcdef"), true},
		{"hex-token", "Authorization: token " + random(9, 40, "0123456789abcdef") + "\n", true},
		{"hex-token", "Authorization: Bearer " + random(9, 40, "0123456789ABCDEF"), true},
		{"hex-token", `{"client_secret": "` + random(9, 40, "0123456789abcdef") + `"}`, true},
		{"hex-token", "api_key => '" + random(9, 40, "0123456789abcdef") + "'", true},
		{"hex-token", "commit " + random(9, 40, "0123456789abcdef"), false},
		{"hex-token", "uses: a/b@" + random(9, 40, "0123456789abcdef"), false},
		{"hex-token", "the token of commit " + random(9, 40, "0123456789abcdef"), false},
		{"hex-token", "token=" + random(9, 41, "0123456789abcdef"), false},
		{"hex-token", "token=" + random(9, 39, "0123456789abcdef"), false},
		{"hex-token", "token" + random(9, 40, "0123456789abcdef"), false},
		{"hex-token", "token=" + strings.Repeat("0", 40), false},
		{"github-token", token("ghp_", 36), true},
		{"github-token", token("gho_", 36), true},
		{"github-token", token("ghu_", 36), true},
		{"github-token", token("ghs_", 36), true},
		{"github-token", token("ghr_", 40), true},
		{"github-token", "ghs_12345_" + jwt + random(4, 400, alnum), true},
		{"github-token", token("ghp_", 35), false},
		{"github-token", token("xghp_", 36), false},
		{"github-token", token("ghx_", 36), false},
		{"github-pat", token("xgithub_pat_", 22), false},
		{"github-pat", token("github_pat_", 22), true},
		{"github-pat", token("github_pat_", 21), false},
		{"aws-key", "AKIA" + upper[:16], true},
		{"aws-key", "ASIA" + upper[:16], true},
		{"aws-key", "AKIAZ09A" + upper[:12], true},
		{"aws-key", "xAKIA" + upper[:16], false},
		{"aws-key", "AKIA" + upper[:15], false},
		{"aws-key", "AKIA" + upper[:17], false},
		{"aws-key", "AKIA" + upper[:16] + "_", false},
		{"google-key", token("AIza", 35), true},
		{"google-key", token("AIza", 34), false},
		{"google-key", token("xAIza", 35), false},
		{"slack-token", token("xoxa-", 10), true},
		{"slack-token", token("xoxb-", 10), true},
		{"slack-token", token("xoxe-", 10), true},
		{"slack-token", token("xoxp-", 10), true},
		{"slack-token", token("xoxr-", 10), true},
		{"slack-token", token("xoxs-", 10), true},
		{"slack-token", token("xoxb-", 9), false},
		{"slack-token", token("xxoxb-", 10), false},
		{"slack-token", token("xoxq-", 10), false},
		{"provider-key", token("sk-", 20), true},
		{"provider-key", token("sk-ant-", 40), true},
		{"provider-key", token("sk-proj-", 40), true},
		{"provider-key", token("sk-", 19), false},
		{"provider-key", token("task-", 30), false},
		{"npm-token", token("npm_", 36), true},
		{"npm-token", token("npm_", 37), false},
		{"npm-token", token("xnpm_", 36), false},
		{"gitlab-token", token("glpat-", 20), true},
		{"gitlab-token", token("glpat-", 19), false},
		{"gitlab-token", token("xglpat-", 20), false},
		{"huggingface-token", token("hf_", 30), true},
		{"huggingface-token", token("hf_", 29), false},
		{"huggingface-token", token("xhf_", 30), false},
		{"jwt", jwt, true},
		{"jwt", jwt[:20] + ".short." + random(3, 10, alnum), false},
		{"jwt", "eyJshort." + jwt[3:], false},
		{"jwt", "eyJ" + jwt[13:], true}, // 10 characters
		{"jwt", "x" + jwt, false},
		{"jwt", jwt[:len(jwt)-1], false},
		{"private-key", "-----BEGIN PRIVATE KEY-----", true},
		{"private-key", "-----BEGIN RSA PRIVATE KEY-----", true},
		{"private-key", "-----BEGIN OPENSSH PRIVATE KEY-----", true},
		{"private-key", "x-----BEGIN PRIVATE KEY-----", true},
		{"private-key", "-----BEGIN PUBLIC KEY-----", false},
		{"private-key", "-----BEGIN CERTIFICATE-----", false},
		{"url-password", "https://bob:hunter2@db.corp.io/x", true},
		{"url-password", "https://b.c:d.e@db.corp.io/x", true},
		{"url-password", "https://bob:@db.corp.io/x", false},
		{"url-password", "https://bob:a b@db.corp.io/x", false},
		{"url-password", "https://bob:pw", false},
		{"url-password", "https://bob", false},
		{"url-password", "https://bob@db.corp.io/x", false},
		{"url-password", "https://db.corp.io:443/x@y", false},
		{"url-password", "https://:pw@db.corp.io", false},
	} {
		t.Run(fmt.Sprintf("%s in %.30q", c.rule, c.text), func(t *testing.T) {
			for _, text := range []string{"see <" + c.text + "> here", c.text} {
				if got := slices.Contains(rules(redact.New().Scan(text)), c.rule); got != c.want {
					t.Errorf("%s in %q: %v, want %v", c.rule, text, got, c.want)
				}
			}
		})
	}
	for _, r := range "/:@[`{" { // beside the digits and letters
		if text := token("ghp_", 18) + string(r) + token("", 18); len(redact.New().Scan(text)) > 0 {
			t.Errorf("%q is taken for a token", text)
		}
	}
}

func TestPatternMatchIsHashed(t *testing.T) {
	match := token("ghp_", 36)
	found := redact.New().Scan("one\ntwo " + match + "\n")
	sum := sha256.Sum256([]byte(match))
	if lines := redact.New().Scan("\n" + match + "\n\n" + match); len(lines) != 2 || lines[0].Line != 2 || lines[1].Line != 4 {
		t.Errorf("lines are %+v", lines)
	}
	if len(found) != 1 || found[0].SHA256 != hex.EncodeToString(sum[:]) || found[0].Line != 2 || found[0].Exact {
		t.Errorf("findings are %+v", found)
	}
}

func TestPrivateKeyIsTakenOutWithItsBody(t *testing.T) {
	body := wrap(random(20, 300, alnum+"+/"), 64, "\n")
	for _, c := range []struct{ name, text, want string }{
		{"whole", "a\n-----BEGIN RSA PRIVATE KEY-----\n" + body + "-----END RSA PRIVATE KEY-----\nb\n", "a\n[redacted:private-key]\nb\n"},
		{"no end", "a\n-----BEGIN PRIVATE KEY-----\n" + body, "a\n[redacted:private-key]\n"},
		{"in JSON", `{"key":"-----BEGIN PRIVATE KEY-----\n` + strings.ReplaceAll(body, "\n", `\n`) + `-----END PRIVATE KEY-----\n"}`, `{"key":"[redacted:private-key]\n"}`},
		{"no end, quoted and indented", "-----BEGIN PRIVATE KEY-----\r\n \t" + strings.ReplaceAll(body, "\n", `\n`+"\r\n \t") + "A== \r\n\t!", "[redacted:private-key] \r\n\t!"},
		{"end without dashes", "-----BEGIN PRIVATE KEY-----\n" + body + "-----END PRIVATE KEY\nb", "[redacted:private-key]\nb"},
		{"two", "-----BEGIN PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\n" + body + ".", "[redacted:private-key]\n[redacted:private-key]\n."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := redact.New().Redact(c.text); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestScanAddedLeavesOutWhatIsNotALeak(t *testing.T) {
	regular := "sk-" + strings.Repeat("ab", 15)
	for _, c := range []struct {
		name, base, added string
		want              []string
	}{
		{"new token", "", token("ghp_", 36), []string{"github-token"}},
		{"token of the base", "x " + token("ghp_", 36), token("ghp_", 36), nil},
		{"another token in the base", token("ghp_", 37), token("ghp_", 36), []string{"github-token"}},
		{"localhost", "", "http://u:p@localhost:8080/", nil},
		{"loopback", "", "http://u:p@127.0.0.1/", nil},
		{"example", "", "http://u:p@example.com http://u:p@db.example.org http://u:p@example.io", nil},
		{"test", "", "http://u:p@db.test/ http://u:p@a.b.localhost", nil},
		{"other spellings of examples", "", "http://u:p@EXAMPLE.com./ http://u:p@db.Example.COM http://u:p@db.example.net", nil},
		{"real host below an example", "", "http://u:p@db.example.io/", []string{"url-password"}},
		{"real host with signs", "", "http://u:p@my-db.corp.io/ http://u:p@my_db.corp.io/", []string{"url-password", "url-password"}},
		{"single label", "", "postgres://u:p@db:5432/x", nil},
		{"real host", "", "http://u:p@db.corp.io/", []string{"url-password"}},
		{"pretended example", "", "http://u:p@example.corp.io/", []string{"url-password"}},
		{"private address", "", "http://u:p@10.0.0.1/", []string{"url-password"}},
		{"real host in another script", "", "http://u:p@bücher.corp.io/ http://u:p@例え.jp", []string{"url-password", "url-password"}},
		{"address of version 6", "", "http://u:p@[2001:db8::1]/", []string{"url-password"}},
		{"loopback of version 6", "", "http://u:p@[::1]:80/", nil},
		{"single label in quotes", "", "“http://u:p@db”", nil},
		{"token for localhost", "", "http://u:" + token("ghp_", 36) + "@localhost/", []string{"url-password"}},
		{"regular", "", regular, nil},
		{"not regular", "", token("sk-", 40) + " " + token("hf_", 40) + " " + token("AIza", 40), []string{"provider-key", "huggingface-token", "google-key"}},
		{"no rule of regularity", "", "glpat-" + strings.Repeat("ab", 15), []string{"gitlab-token"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rules(redact.New().ScanAdded(c.base, c.added)); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			if len(c.want) == 0 && redact.New().Redact(c.added) == c.added {
				t.Errorf("%s: not redacted in text that is published", c.name)
			}
		})
	}
}

func TestExactValueIsNeverLeftOut(t *testing.T) {
	for _, value := range []string{token("ghp_", 36), "sk-" + strings.Repeat("ab", 15)} {
		found := knowing(t, value).ScanAdded(value, "http://u:"+value+"@localhost/")
		if len(found) != 1 || !found[0].Exact {
			t.Errorf("findings are %+v", found)
		}
	}
}
