package mirror_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// What became of a command that never reached the session is in the fold of commands, with what
// the session did; help adds what can be said.
func TestCommandsThatNeverReachedTheSessionAreShown(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	m := sc.mirror(mirror.Options{Server: serverOf(sink)})
	note := func(name, source, state, reason string) {
		t.Helper()
		_, err := command.Note(sc.session.Dir, orchestrator.Payload{Name: name, Actor: "mia", Source: "issue", SourceID: source, State: state, Reason: reason})
		if err != nil {
			t.Fatal(err)
		}
	}
	sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan"}`)
	sc.play(`10:07 1 command_applied {"name":"pause","actor":"mia","source":"issue","source_id":"comment/1"}`)
	note("sotp", "comment/2", orchestrator.NoteRefused, "there is no command @sotp")
	sc.finish(m)
	note("status", "comment/3", orchestrator.NoteDone, "")
	sc.finish(m)
	got := sink.String()
	for _, want := range []string{
		`<summary>Commands \(1\)`, `<summary>Commands \(3\)`, "\\| `mia` \\| pause \\| ✅ applied \\|\n\\| .* \\| `mia` \\| sotp \\| ❌ there is no command `@sotp` \\|\n\\| .* \\| `mia` \\| status \\| ✅ applied \\|\n</details>",
	} {
		if (want == `<summary>Commands \(1\)`) == regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "[ROLE] TEXT") {
		t.Errorf("nobody asked for help:\n%s", got)
	}
	note("help", "comment/4", orchestrator.NoteDone, "")
	sc.finish(sc.mirror(mirror.Options{Server: serverOf(sink)})) // the next host finds it, too
	got = sink.String()
	for _, verb := range story.Verbs() {
		if !strings.Contains(got, "| `/agentmux "+verb.Name) {
			t.Errorf("help lacks %s:\n%s", verb.Name, got)
		}
	}
}

// A session that is done is a person's again once more was said of its pull request than its follow-ups
// take up, also for the next host, until it is continued and done once more.
func TestAnObjectionAfterTheFollowUpsNeedsAPerson(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan"}`)
	sc.play(`10:57 6 done {"outcome":"done","commit":"b07d3e9000000000000000000000000000000000","seconds":3120}`)
	m := sc.mirror(mirror.Options{Server: serverOf(sink)})
	sc.finish(m)
	if got := sink.has; !slices.Equal(got, []string{"agentmux:done"}) {
		t.Fatalf("labels %q", got)
	}
	over := orchestrator.Payload{
		Name: "changes", Actor: "mia", Source: "issue", SourceID: story.FollowUpsOver, State: orchestrator.NoteRefused, Reason: "3 follow-up rounds are done",
	}
	if _, err := command.Note(sc.session.Dir, over); err != nil {
		t.Fatal(err)
	}
	sc.finish(sc.mirror(mirror.Options{Server: serverOf(sink)}))
	if got := sink.has; !slices.Equal(got, []string{"agentmux:needs-human"}) {
		t.Errorf("labels %q", got)
	}
	said := story.Commands{{SourceID: story.FollowUpsOver, At: sceneStart}}
	if !said.FollowUpsOver(sceneStart.Add(-time.Minute)) || said.FollowUpsOver(sceneStart.Add(time.Minute)) {
		t.Error("a session that was continued since is as done as before it")
	}
}
