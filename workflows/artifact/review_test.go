package artifact_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

const failReview = `verdict: fail
summary: Expiry ignores clock skew.
findings: [{location: "auth/token.go:41", issue: No leeway, severity: high, recommendation: Allow 60 s}]
commit_message: "fix: refuse expired tokens"
`

func mustReview(t *testing.T, text string) *artifact.Review {
	t.Helper()
	r, problems := artifact.ParseReview([]byte(text))
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems.Lines())
	}
	return r
}

func testReviewRules(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"verdict in capitals", "verdict: Pass\nsummary: ok\n", []string{`verdict: expected pass or fail, found "Pass"`}},
		{"verdict absent", "summary: ok\n", []string{"verdict: expected pass or fail, found nothing"}},
		{"summary blank", "verdict: pass\nsummary: ' '\n", []string{"summary: required, found only white space"}},
		{"fail without findings", "verdict: fail\nsummary: x\nfindings: []\n", []string{"findings: a fail needs at least one finding"}},
		{"finding in parts", "verdict: fail\nsummary: x\nfindings: [{location: a}]\n", []string{
			"findings[0].issue: required, found nothing", "findings[0].recommendation: required, found nothing",
		}},
		{"severity info", "verdict: fail\nsummary: x\nfindings: [{issue: a, recommendation: b, severity: info}]\n", nil},
		{"severity unknown", "verdict: fail\nsummary: x\nfindings: [{issue: a, recommendation: b, severity: minor}]\n", []string{
			`findings[0].severity: expected critical, high, medium, low or info, found "minor"`,
		}},
		{"too many", "verdict: fail\nsummary: x\nfindings: [" + strings.Repeat("{issue: a, recommendation: b},", 101) + "]\n", []string{
			"findings: 101 findings, at most 100 are allowed",
		}},
		{"blank optional parts", "verdict: pass\nsummary: x\ncommit_message: ''\n", nil},
		{"not a map", "pass", []string{`expected a map, found "pass"`}},
		{"empty", " \n", []string{"the file is empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, problems := artifact.ParseReview([]byte(tt.text))
			same(t, "problems", problems.Lines(), tt.want)
			if (r == nil) != (len(tt.want) > 0) {
				t.Errorf("review %+v", r)
			}
		})
	}
}

func TestReviewUnknownKeyIsAWarning(t *testing.T) {
	r, problems := artifact.ParseReview([]byte("verdict: pass\nsummary: x\nsummery: y\n"))
	if r == nil || problems.Err() != nil {
		t.Fatalf("refused: %v", problems.Lines())
	}
	same(t, "warnings", problems.Lines(), []string{`summery: unknown key, did you mean "summary"?`})
}

func testReviewArtifact(t *testing.T) {
	for role, want := range map[string]string{
		workflows.RoleReviewer:       "review.yaml",
		workflows.RoleReviewerExpert: "review_reviewer_expert.yaml",
	} {
		t.Run(role, func(t *testing.T) {
			if got := artifact.ReviewArtifact(role); got != want {
				t.Errorf("%s hands in %s, want %s", role, got, want)
			}
		})
	}
}

func testApproval(t *testing.T) {
	a, problems := artifact.ParseApproval([]byte(`{"action":"approve","exclude_files":["tmp/x.txt"],"commit_message":" ","by":"user"}`))
	if len(problems) > 0 || a.ExcludeFiles[0] != "tmp/x.txt" || a.CommitMessage != "" || a.By != "user" {
		t.Errorf("approval %+v, problems %v", a, problems.Lines())
	}
	for _, tt := range []struct{ name, text, want string }{
		{"cut", `{"action":"approve"`, "not valid YAML: did not find expected ',' or '}'"},
		{"another action", `{"action":"merge"}`, `action: expected approve, found "merge"`},
		{"empty", `{}`, "action: expected approve, found nothing"},
		{"action type", `{"action":true}`, "action: expected text, found true"},
		{"exclude_files type", `{"action":"approve","exclude_files":"a"}`, `exclude_files: expected a list, found "a"`},
		{"exclude_files blank", `{"action":"approve","exclude_files":[""]}`, "exclude_files[0]: required, found nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, problems := artifact.ParseApproval([]byte(tt.text))
			if a != nil {
				t.Error("the approval is accepted")
			}
			same(t, "problems", problems.Lines(), []string{tt.want})
		})
	}
	for name, key := range map[string]string{"unknown key": `"when":"now"`, "mistyped key": `"exclude_file":["secret.txt"]`} { // neither may publish
		t.Run(name, func(t *testing.T) {
			a, problems := artifact.ParseApproval([]byte(`{"action":"approve",` + key + `}`))
			if a != nil || len(problems.Errors()) != 1 {
				t.Errorf("%+v, %v", a, problems.Lines())
			}
		})
	}
}

func FuzzParseReview(f *testing.F) {
	f.Add([]byte(failReview))
	f.Add([]byte("verdict: pass\nsummary: x\ncommit_message: y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, problems := artifact.ParseReview(data)
		if (r == nil) == (problems.Err() == nil) {
			t.Fatalf("review %v, problems %v", r, problems.Lines())
		}
		if r == nil {
			return
		}
		text := string(artifact.RoleReview{Role: workflows.RoleReviewer, SHA256: "abc", Review: r}.Archive())
		if !strings.HasPrefix(text, "verdict: "+r.Verdict+"\n") {
			t.Fatalf("archive begins %.40q", text)
		}
	})
}

func FuzzParseApproval(f *testing.F) {
	f.Add([]byte(`{"action":"approve","exclude_files":["tmp/x.txt"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, problems := artifact.ParseApproval(data)
		if (a == nil) == (problems.Err() == nil) || a != nil && a.Action != artifact.ActionApprove {
			t.Fatalf("approval %v, problems %v", a, problems.Lines())
		}
	})
}
