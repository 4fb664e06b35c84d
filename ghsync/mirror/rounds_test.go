package mirror_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/mirror"
)

// Requests for changes are shown on the issue, and the numbers of the review rounds continue.
func TestChangesAskedForAreOnTheIssue(t *testing.T) {
	sc := newScene(t, nil)
	sink := &paper{}
	m := sc.mirror(mirror.Options{Server: serverOf(sink), Deaf: true})
	review := func(minute, verdict, event string) {
		sc.play(`10:0`+minute+` 1 phase_entered {"phase":"reviewing","kind":"review"}`,
			`10:0`+minute+` 1 review_started {"iteration":0,"roles":["reviewer_logic"],"tree":"a41df31c0ffee"}`,
			`10:0`+minute+` 1 verdict {"role":"reviewer_logic","iteration":0,"verdict":"`+verdict+`","tree":"a41df31c0ffee","findings":0}`,
			`10:0`+minute+` 1 event {"event":"`+event+`","label":"x"}`)
	}
	review("1", "pass", "review_passed")
	sc.play(`10:05 1 event {"event":"changes_requested","label":"changes asked","text":"Say it louder, @all <b>","actor":"mia"}`)
	sc.finish(m)
	review("6", "pass", "review_passed")
	sc.finish(m)
	text := sink.String()
	for _, want := range []string{"### Review round 1: **pass**", "### Review round 2: **pass**", "Changes asked for by `mia` at 10:05:\n> Say it louder, `@all` &lt;b>"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Count(text, "### Review round 1") != 1 {
		t.Errorf("two first rounds:\n%s", text)
	}
}
