package bot_test

import (
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// Who reads that a request is refused, mends what is wrong and sets the label again at once is served, also while the host
// still has the claim of the refused request.
func TestALabelThatIsSetWhileARefusedRequestEndsIsServed(t *testing.T) {
	r := newBegun(t, func(string, int) {})
	settings := func(text string) {
		r.repo.Commit(fakehub.CommitSpec{Message: "Settings", Author: "Mia <mia@example.com>", Files: map[string]string{".agentmux/config.yaml": text}})
	}
	settings("version: 2\nreview: {max_iterations: many}\n")
	release := make(chan struct{})
	r.server.Inject(fakehub.Fault{Route: "GIT push", From: 2, Times: 1, Hold: release}) // the first one claims
	r.ask(1)
	let := sync.OnceFunc(func() { close(release) })
	defer let()
	over := time.Now().Add(80 * time.Second)
	before := 0 // readings of the issue until the label was set again
	r.serveUntil(func() bool {
		switch now := r.readings(); {
		case before == 0 && r.told(1, "session=refused-"):
			settings("version: 2\n")
			r.repo.Label(1, "agentmux", mia)
			r.pass(10 * time.Second)
			before = now
		case before > 0 && now > before+1: // after the first one the label is still on
			let()
		}
		return r.taken("1") > 0 || time.Now().After(over)
	})
	if r.taken("1") == 0 {
		t.Error("it was not served")
	}
}

// readings is how often an issue was read to be judged.
func (r *rig) readings() (n int) {
	for _, c := range r.server.Calls() {
		if c.Operation == "Gate" {
			n++
		}
	}
	return n
}
