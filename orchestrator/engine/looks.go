package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// looks times the looks at the agents. Only the loop's goroutine touches it.
type looks struct {
	at      time.Time     // the last one began
	wait    time.Duration // from there to the next one, unless something wakes the loop
	running bool
	woken   bool // since the last one began
}

// next returns when the next look is due; rest is the time between two at rest.
func (k *looks) next(rest time.Duration) time.Time {
	wait := rest
	if k.wait > 0 {
		wait = min(wait, k.wait)
	}
	if k.woken {
		wait = min(wait, wakePause)
	}
	return k.at.Add(wait)
}

// within brings the next look forward to d after the last one.
func (k *looks) within(d time.Duration) {
	if k.wait == 0 || d < k.wait {
		k.wait = d
	}
}

// silent plans the look at which an agent will have been silent for limit. Of one that has
// been for longer the reducer counts the time again at each look.
func (k *looks) silent(rep orchestrator.AgentReport, limit time.Duration) {
	if limit <= 0 || rep.Condition != orchestrator.AgentLive {
		return
	}
	if left := limit - rep.Silence.D(); left > 0 {
		k.within(max(left, agentPause))
		return
	}
	k.within(max(limit, silencePause))
}

// rest is the time between two looks at what nothing has changed: short where nothing wakes
// the loop.
func (o *Options) rest() time.Duration {
	if o.Wakes == nil {
		return scanPause
	}
	return safetyPause
}

// startLook starts a look at the agents in the background when one is due and none is running.
// What it finds comes by l.found.
func (l *loop) startLook() {
	if l.looks.running || !hasAgents(l.st) || l.Now().Before(l.looks.next(l.rest())) {
		return
	}
	l.looks = looks{at: l.Now(), running: true}
	st := l.st
	go func() {
		ctx, cancel := context.WithTimeout(l.watch, observeBound)
		defer cancel()
		found, err := l.lookAt(ctx, st)
		if err != nil {
			found = Look{Next: agentPause}
			if l.watch.Err() == nil {
				l.Log.Warn("agents cannot be observed", "err", err)
			}
		}
		l.found <- found
	}()
}

// lookAt turns a panic into a look that failed.
func (o *Options) lookAt(ctx context.Context, st *orchestrator.State) (found Look, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return o.Agents.Observe(ctx, st)
}

// ended takes the result of a look.
func (k *looks) ended(found Look) []orchestrator.AgentReport {
	k.running = false
	if found.Next > 0 {
		k.within(found.Next)
	}
	return found.Reports
}
