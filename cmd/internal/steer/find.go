package steer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// wanted says in words which sessions a command applies to.
var wanted = map[string]string{
	"stop": "runs, begins or waits for a person", "pause": "runs", "say": "runs", "attach": "runs",
	"retry": "is unfinished", "resume": "is interrupted, parked or paused, or owes something", "approve": "is at a gate",
	post.CommandSend: "runs or waits for a person", post.CommandAck: "runs or waits for a person", post.CommandRetry: "runs or waits for a person",
	"answer": "has an open question", "changes": "is at a gate, is parked or has a pull request",
}

// FindFor is Finder.Find with an error that says what the command needs. If there is only one
// session, the error also says what can be done with it.
func FindFor(ctx context.Context, a *site.Finder, command string, args []string, can func(session.Entry) bool) (session.Entry, error) {
	e, err := a.Find(ctx, args, can)
	var none *session.NotFoundError
	var ambiguous *session.AmbiguousError
	switch {
	case errors.As(err, &ambiguous) && command != "attach" && command != "resume":
		return e, notOne(err)
	case !errors.As(err, &none) || none.What != "" || none.Unfit == 0:
		return e, err
	}
	next := cmp.Or(none.Lists, "agentmux sessions") + " lists them"
	if none.Unfit == 1 {
		if only, err := a.Find(ctx, nil, nil); err == nil && only.State != nil {
			next = only.Name + " is " + only.Condition()
			if step := show.Tell(ctx, only).Next(); step != "" {
				next += ": " + step
			}
		}
	}
	return e, exit.Usage(fmt.Errorf("no session here %s; %s", wanted[command], next))
}

// notOne says how one of several sessions is named.
func notOne(several error) error {
	if several == nil {
		return nil
	}
	return exit.Usage(fmt.Errorf("%w; --session names it", several))
}

// TextHint reminds a person that a shell splits words.
const TextHint = "a text of several words goes in quotes"

// CheckQuoted fails if the word behind a text names no session.
func CheckQuoted(ctx context.Context, a *site.Finder, args []string) error {
	if len(args) < 2 {
		return nil
	}
	word := args[len(args)-1]
	if _, err := a.Find(ctx, []string{word}, nil); exit.As[*session.NotFoundError](err) {
		return exit.Usage(fmt.Errorf("no session %q; %s, and agentmux sessions lists the sessions", word, TextHint))
	}
	return nil
}
