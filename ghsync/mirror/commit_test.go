package mirror_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// The server does not know a commit before its push, and the verdict of a later round is not
// a verdict on the commit before.
func TestVerdictOfALaterRoundWaitsForItsPush(t *testing.T) {
	st := newStage(t)
	st.openPR()
	st.run(st.mirror(st.options()))
	first := st.repo.Pulls()[0].HeadSHA
	const unpushed = "d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0"
	round := func(lines ...string) {
		m := st.mirror(st.options())
		for _, line := range lines {
			st.play(line)
			st.finish(m)
		}
	}
	round(`11:00 7 schedule {"groups":[]}`,
		`11:01 7 verdict {"role":"reviewer_logic","iteration":0,"verdict":"fail","tree":"c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0","findings":1}`,
		`11:02 7 commit_created {"sha":"`+unpushed+`","branch":"agentmux/issue-12-add-retry","subject":"feat","files":1}`)
	for _, call := range st.server.Calls() {
		if strings.HasSuffix(call.Path, "/statuses/"+unpushed) {
			t.Error("a verdict was put on a commit that is not pushed")
		}
	}
	if all := st.repo.Statuses(first); len(all) != 1 || all[0].State != "success" {
		t.Errorf("the verdict on the first commit is now %+v", all)
	}
	second := st.repo.Commit(fakehub.CommitSpec{Branch: "agentmux/issue-12-add-retry", Message: "m", Files: map[string]string{"a": "c"}})
	round(`11:03 7 branch_pushed {"sha":"` + second + `","branch":"agentmux/issue-12-add-retry","skipped":""}`)
	if all := st.repo.Statuses(second); len(all) != 1 || all[0].State != "failure" {
		t.Errorf("verdict on the second commit: %+v", all)
	}
}
