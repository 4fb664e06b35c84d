package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// A workflow is told of when a session's branch or its pull request starts it, with each
// line that hands out a secret.
func TestSurveyFindsWorkflowsThatRunOnOurBranches(t *testing.T) {
	testfull.Only(t)
	const job = "jobs:\n  a:\n    steps:\n      - run: x\n        env: {KEY: '${{ secrets.DEPLOY_KEY }}', T: '${{ secrets.GITHUB_TOKEN }}'}\n"
	for name, c := range map[string]struct{ text, want string }{
		"push":                {"on: push\n" + job, "push: DEPLOY_KEY@6"},
		"list":                {"on: [push, pull_request]\n" + job, "push pull_request: DEPLOY_KEY@6"},
		"pull_request_target": {"on: {pull_request_target: {branches: [main]}}\n" + job, "pull_request_target: DEPLOY_KEY@6"},
		"other branches":      {"on: {push: {branches: [main, 'release/**']}}\n" + job, ""},
		"all branches":        {"on: {push: {branches: ['**']}}\n" + job, "push: DEPLOY_KEY@6"},
		"one level only":      {"on: {push: {branches: ['*']}}\n" + job, ""},
		"taken back":          {"on: {push: {branches: ['**', '!agentmux/**']}}\n" + job, ""},
		"ignored":             {"on: {push: {branches-ignore: ['agentmux/**']}}\n" + job, ""},
		"tags":                {"on: {push: {tags: ['v*']}}\n" + job, ""},
		"by hand":             {"on: workflow_dispatch\n" + job, ""},
		"no secret":           {"on: push\njobs: {}\n", "push: "},
		"all secrets":         {"on: push\njobs:\n  a:\n    uses: x/y/z.yml@v1\n    secrets: inherit\n", "push: @5"},
		"by index":            {"on: push\nenv:\n  A: ${{ secrets['B'] }}\n  C: ${{ toJSON(secrets) }}\n", "push: @3 @4"},
		"a comment":           {"on: push\n# secrets.OLD\njobs: {}\n", "push: "},
		"unreadable":          {"on: [push\n", "push pull_request: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "")
			r.write(".github/workflows/ci.yml", c.text)
			r.write("sub/.github/workflows/other.yml", "on: push\n"+job)
			r.git("add", "-A")
			r.git("commit", "-q", "-m", "ci")
			project, err := r.host.Project(t.Context(), r.project, r.config)
			if err != nil {
				t.Fatal(err)
			}
			base, err := project.Base(t.Context(), r.config, "")
			if err != nil {
				t.Fatal(err)
			}
			survey, err := project.Survey(t.Context(), base.SHA, "agentmux/issue-1-x")
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, w := range survey.Workflows {
				var uses []string
				for _, use := range w.Secrets {
					uses = append(uses, fmt.Sprintf("%s@%d", use.Name, use.Line))
				}
				got += strings.Join(w.Events, " ") + ": " + strings.Join(uses, " ")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSurveyCountsWhatAgentsDoNotSee(t *testing.T) {
	r := newRig(t, "")
	r.write(".gitattributes", "*.bin filter=lfs diff=lfs\n")
	r.write("a.bin", "version https://git-lfs.github.com/spec/v1\n")
	r.git("add", "-A")
	head := r.git("rev-parse", "HEAD")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+head+",vendor/lib")
	r.git("commit", "-q", "-m", "more")
	project, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := project.Base(t.Context(), r.config, "")
	if err != nil {
		t.Fatal(err)
	}
	survey, err := project.Survey(t.Context(), base.SHA, "agentmux/x")
	if err != nil || survey.Submodules != 1 || survey.LFS != 1 {
		t.Errorf("%+v, %v", survey, err)
	}
}
