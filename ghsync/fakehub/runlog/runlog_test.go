package runlog_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
)

func TestCommandsAreThoseThatARunnerHears(t *testing.T) {
	log := "text\n::group::coding\n::stop-commands::abc\n::error::text of others\n##[add-path]/tmp\n::other::\n::abc::\n" +
		"  ::warning title=a::one\n##[command]x\nno ::error::\n::endgroup::\n::stop-commands::never ended\n::error::lost\n"
	want := []string{"::group::coding", "::warning title=a::one", "##[command]x", "::endgroup::"}
	got := runlog.Commands(log)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if kinds := runlog.Kinds(got); !slices.Equal(kinds, []string{"##[command]x", "endgroup", "group", "warning"}) {
		t.Errorf("%q", kinds)
	}
	if all := runlog.Annotations(log, "warning"); !maps.Equal(all, map[string]string{"a": "one"}) {
		t.Errorf("%q", all)
	}
	if all := runlog.Annotations(log, "error"); len(all) != 0 {
		t.Errorf("text between the tokens counts: %q", all)
	}
}
