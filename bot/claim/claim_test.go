package claim_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
)

const good = `{"v":1,"repo_id":1001,"issue":12,"session":"20261121-100431-issue-12-fix","trigger":"label/agentmux/2026-11-21T10:04:31Z/9",` +
	`"host":"h_0123456789abcdef","state":"queued","gen":1,"at":"2026-11-21T10:04:31Z"}`

func TestClaimsAreReadStrictly(t *testing.T) {
	c, err := claim.ParseClaim(good)
	if err != nil || c.Issue != 12 || c.RepoID != 1001 || c.Host != "h_0123456789abcdef" || c.State != claim.Queued || c.Gen != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := claim.ParseClaim(strings.Replace(good, `"v":1`, `"v":1,"later":{"a":1}`, 1)); err != nil {
		t.Errorf("a field that is not known: %v", err)
	}
	for name, text := range map[string]string{
		"nothing":       "",
		"text":          "held",
		"a list":        "[1]",
		"null":          "null",
		"cut":           good[:40],
		"two":           good + good,
		"long":          strings.Replace(good, `"v":1`, `"v":1,"more":"`+strings.Repeat("x", 2048)+`"`, 1),
		"not UTF-8":     strings.Replace(good, "agentmux/", "agentmux\xff/", 1),
		"no version":    strings.Replace(good, `"v":1,`, "", 1),
		"repository":    strings.Replace(good, "1001", "0", 1),
		"issue":         strings.Replace(good, `"issue":12`, `"issue":-12`, 1),
		"issue as text": strings.Replace(good, `"issue":12`, `"issue":"12"`, 1),
		"large issue":   strings.Replace(good, `"issue":12`, `"issue":12000000000`, 1),
		"session":       strings.Replace(good, "20261121-100431", "../../x", 1),
		"no session":    strings.Replace(good, "20261121-100431-issue-12-fix", "", 1),
		"trigger":       strings.Replace(good, "label/", `label\u001b[2J/`, 1),
		"long trigger":  strings.Replace(good, "label/", strings.Repeat("l", 513)+"/", 1),
		"host":          strings.Replace(good, "h_0123456789abcdef", "h_0123456789abcdef/../x", 1),
		"host's kind":   strings.Replace(good, "h_0123456789abcdef", "b_0123456789abcdef", 1),
		"state":         strings.Replace(good, "queued", "done", 1),
		"generation":    strings.Replace(good, `"gen":1`, `"gen":0`, 1),
		"time":          strings.Replace(good, "2026-11-21T10:04:31Z\"}", "yesterday\"}", 1),
		"no time":       strings.Replace(good, `,"at":"2026-11-21T10:04:31Z"`, "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := claim.ParseClaim(text); err == nil || c != (claim.Claim{}) {
				t.Errorf("read as %+v, %v", c, err)
			}
		})
	}
	newer := strings.Replace(good, `"v":1`, `"v":2,"gen":"first"`, 1)
	if _, err := claim.ParseClaim(newer); !errors.Is(err, claim.ErrNewer) {
		t.Errorf("a later version: %v", err)
	}
}

func TestHostIDsHaveTwoForms(t *testing.T) {
	machine, job := claim.NewHostID(), claim.JobHostID(6_000_000_000, 2)
	if machine == claim.NewHostID() {
		t.Error("two hosts have one id")
	}
	for _, id := range []claim.HostID{machine, job} {
		if got, err := claim.ParseHostID(id.String()); err != nil || got != id {
			t.Errorf("%s is read as %s, %v", id, got, err)
		}
	}
	if run, attempt, ok := job.Job(); !ok || run != 6_000_000_000 || attempt != 2 {
		t.Errorf("%s is run %d, attempt %d, %v", job, run, attempt, ok)
	}
	if _, _, ok := machine.Job(); ok {
		t.Errorf("%s is a job", machine)
	}
	for _, text := range []string{"", "h_", "h_0123456789abcde", "h_0123456789ABCDEF", "h_0123456789abcdef0", "a_1", "a_0_1", "a_1_0", "a_1_1_1", "a_-1_1", "h_0123456789abcdef\n"} {
		if id, err := claim.ParseHostID(text); err == nil {
			t.Errorf("%q is read as %s", text, id)
		}
	}
}

func FuzzParseClaim(f *testing.F) {
	for _, seed := range []string{good, "", "{", `{"v":2}`, `{"v":1}`, strings.Replace(good, "queued", "running", 1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := claim.ParseClaim(text)
		if err != nil {
			if c != (claim.Claim{}) {
				t.Errorf("%q: %+v beside %v", text, c, err)
			}
			return
		}
		if _, err := claim.ParseHostID(c.Host.String()); err != nil || c.Issue <= 0 || c.RepoID <= 0 || c.Gen <= 0 {
			t.Errorf("%q is read as %+v", text, c)
		}
		if strings.ContainsFunc(c.Session+c.Trigger+string(c.State), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q has control characters: %+v", text, c)
		}
	})
}
