// Package retry says when an effect that failed is tried again. It is pure.
package retry

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// localPauses are the pauses before a local effect is tried again.
var localPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// firstRemotePause is doubled with every try of a remote effect.
const firstRemotePause = 5 * time.Second

// maxRemotePause bounds the pause between tries of a remote effect.
const maxRemotePause = 5 * time.Minute

// maxAwayPause bounds the pause while the account is refused: what is owed follows soon after a
// person has mended it.
const maxAwayPause = 2 * time.Minute

// Next returns the pause before the next try of an effect whose failed ones are counted, or that there is no other. How
// long a remote effect may fail is a setting, 0 for ever.
func Next(e orchestrator.Effect, o *orchestrator.Outcome, now time.Time, set *orchestrator.Settings) (pause time.Duration, final bool) {
	limit := set.LimitRemote.D()
	if e.Type == orchestrator.EffAnswerDialog { // a person is at the pane
		limit = set.LimitHumanWait.D()
	}
	switch {
	case o.Class == orchestrator.FailNever:
		return 0, true
	case o.Class == orchestrator.FailAway:
		return min(firstRemotePause<<min(e.Attempt-1, 8), maxAwayPause), false
	case o.Class == orchestrator.FailRemote || remoteEffects[e.Type]:
		if limit > 0 && now.Sub(e.Since.Time) >= limit {
			return 0, true
		}
		if o.Wait > 0 {
			return o.Wait.D(), false
		}
		return min(firstRemotePause<<min(e.Attempt-1, 8), maxRemotePause), false
	case e.Attempt > len(localPauses):
		return 0, true
	}
	return localPauses[e.Attempt-1], false
}

// Told reports whether a failed try gets a record. That a person is at the pane is told once: it is asked again every few
// seconds, for hours.
func Told(e orchestrator.Effect, o *orchestrator.Outcome, final bool) bool {
	return final || e.Attempt == 1 || e.Type != orchestrator.EffAnswerDialog || o.Class != orchestrator.FailRemote
}

// remoteEffects are retried for limits.remote; all others a few times.
var remoteEffects = map[string]bool{orchestrator.EffPush: true, orchestrator.EffPR: true, orchestrator.EffAdopt: true}
