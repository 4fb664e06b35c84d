package ear_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

func TestGitHub55AnOrderIsTheFirstLine(t *testing.T) {
	for body, want := range map[sanitize.Raw]string{
		"/agentmux":                                 "status||",
		"/agentmux  ":                               "status||",
		"\n \n/agentmux stop":                       "stop||",
		"/agentmux\tSTOP":                           "stop||",
		"/agentmux Stop now, please\r\nthe rest":    "stop|now, please|",
		"/agentmux say coder keep it\r\n\r\nand on": "say|coder keep it|coder keep it\n\nand on",
		"/agentmux changes\nThe whole\ntext":        "changes||The whole\ntext",
		"/agentmux answer q1 2":                     "answer|q1 2|q1 2",
		"/agentmux answer d1 2":                     "answer|d1 2|d1 2",
		"/agentmux answer yes <!-- no -->":          "answer|yes <!-- no -->|yes [removed]",
		"/agentmux say ```\n@all\n":                 "say|```|```\n@all",
		"/agentmux stopp":                           "stopp||",

		"/agentmux answer q1 2\n\nOn Tue, Nov 24, 2026 at 10:12 AM robo <x@y.example> wrote:\n\n> q1?\n>\n> 1. a\n": "answer|q1 2|q1 2",
		"/agentmux say yes\r\nOn Tue, Nov 24, 2026 at\r\n10:12 AM robo ***@***.***>\r\nwrote:\r\n> q1?\r\n\r\n":     "say|yes|yes",
		"/agentmux changes\nShorter.\n\nAm 24.11.2026 um 10:12 schrieb robo <***@***.***>:\n> a\n\n> b":             "changes||Shorter.",
		"/agentmux answer\n\nOn Tue robo wrote:\n> /agentmux answer q1 <number>":                                    "answer||",
		"/agentmux changes\nOn Tue robo wrote:\n> a\nThat is wrong.":                                                "changes||On Tue robo wrote:\n> a\nThat is wrong.",
		"/agentmux say look at this:\n> a\n":                                                                        "say|look at this:|look at this:\n> a",
		"/agentmux say @mia said at 10:\n> a\n":                                                                     "say|@mia said at 10:|@mia said at 10:\n> a",
		"/agentmux say On Tue robo wrote:":                                                                          "say|On Tue robo wrote:|On Tue robo wrote:",

		"> /agentmux stop":                "",
		" /agentmux stop":                 "",
		"\t/agentmux stop":                "",
		"```\n/agentmux stop\n```":        "",
		"~~~\n/agentmux stop\n~~~":        "",
		"Please:\n/agentmux stop":         "",
		"<!--\n/agentmux stop\n-->":       "",
		"- /agentmux stop":                "",
		"`/agentmux stop`":                "",
		"/agentmuxx stop":                 "",
		"/AGENTMUX stop":                  "",
		"\u200b/agentmux stop":            "",
		"/agentmux\u00a0stop":             "",
		"agentmux stop":                   "",
		"":                                "",
		"\n\n":                            "",
		"<details>\n\n/agentmux stop\n":   "",
		"On Monday mia wrote:\n/agentmux": "",
	} {
		t.Run(string(body), func(t *testing.T) {
			got := ""
			if o, ok := ear.Parse(body); ok {
				got = o.Verb + "|" + o.Line + "|" + o.Text.String()
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestATextIsCut(t *testing.T) {
	o, _ := ear.Parse(sanitize.Raw("/agentmux say " + strings.Repeat("ä", 10_000)))
	if got := o.Text.String(); len(got) > 8<<10 || o.Cut == 0 || !strings.Contains(got, "[cut: ") {
		t.Errorf("%d bytes, %d cut", len(got), o.Cut)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"/agentmux", "/agentmux say coder x\ny", "> /agentmux stop", "```\n/agentmux stop\n```", "/agentmux answer q1 \xff", "/agentmux changes <!--", "\r\n/agentmux\tsay\r\nx",
		"/agentmux " + strings.Repeat("x", 100), "/agentmux say \u202e\u200b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		o, ok := ear.Parse(sanitize.Raw(body))
		if ok != ghsync.IsCommand(sanitize.Raw(body)) {
			t.Fatalf("%q is a command for one and not for the other", body)
		}
		if !ok {
			return
		}
		if o.Verb == "" || strings.ContainsAny(o.Verb, "\t\n") || utf8.RuneCountInString(o.Verb) > 60 || strings.ContainsFunc(o.Verb, sanitize.Forbidden) {
			t.Errorf("verb %q of %q", o.Verb, body)
		}
		if text := o.Text.String(); len(text) > 8<<10 || strings.ContainsFunc(text, sanitize.Forbidden) {
			t.Errorf("text %q of %q", text, body)
		}
		if quoted, ok := ear.Parse(sanitize.Raw("> " + body)); ok {
			t.Errorf("quoted %q is %+v", body, quoted)
		}
		if fenced, ok := ear.Parse(sanitize.Raw("```\n" + body)); ok {
			t.Errorf("fenced %q is %+v", body, fenced)
		}
	})
}
