package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/workflows"
)

// workflow finds the one that is asked for: by the command line, else by the labels.
func workflow(v *view) (Decision, bool) {
	names, known := v.request.Workflows, v.Rules.Workflows
	switch {
	case v.Rules.Named != "" || len(names) == 0:
		v.asked.Workflow = v.Rules.Named
		return Decision{}, false
	case len(names) > 1:
		return refuse(v.selecting(names, "take all but one of them off"), "%s#%d has labels of several workflows: %s", v.Repo, v.Issue, strings.Join(names, ", ")), true
	case !workflows.IsName(names[0]), known != nil && !slices.Contains(known, names[0]):
		if known == nil {
			known = workflows.Shipped()
		}
		return refuse(v.selecting(known, "choose one of "+strings.Join(known, ", ")), "there is no workflow %q", names[0]), true
	}
	v.asked.Workflow = names[0]
	return Decision{}, false
}

// Tried is the workflow of a request that was accepted; "" for the configured one. A request in a comment is for another
// try of what the newest label asked for, which is not on the issue any more. Who may not ask for work chooses no workflow
// either: their labels were refused. An error says when to ask again.
func Tried(ctx context.Context, d Decision, f Facts, s Server) (string, error) {
	if d.Asked.Workflow != "" || d.Asked.Trigger.Kind != Comment {
		return d.Asked.Workflow, nil
	}
	refused := map[int64]bool{}
	for _, e := range slices.Backward(f.Record.Labels) {
		workflow, ok := ghsync.RequestLabel(e.Name, f.Rules.Bot.Label)
		if !ok || !e.Added || workflow != "" && !workflows.IsName(workflow) || refused[e.Actor.ID] || e.Actor.ID == 0 {
			continue
		}
		if e.Actor.ID != d.Asked.By.Account.ID {
			p, err := s.CurrentPermission(ctx, f.Record.Repository.Repo, e.Actor.Login)
			why, err := MayPush(f.Rules.Bot, e.Actor, Answer{Permission: p, Err: err})
			if err != nil {
				return "", err
			}
			if why != "" {
				refused[e.Actor.ID] = true
				continue
			}
		}
		return workflow, nil
	}
	return "", nil
}

// selecting is what to do about a wrong choice of workflows. A refusal takes the labels off; names are those to choose from.
func (v *view) selecting(names []string, what string) string {
	switch {
	case v.Ask == nil:
		return choice(v.Rules.Bot.Label, names)
	case v.atTerminal():
		return what + ", or give --workflow"
	}
	return what + ", then " + v.again()
}

// choice is how to ask for one of several workflows by a label.
func choice(label string, names []string) string {
	var labels []string
	for _, name := range names {
		if workflows.IsName(name) {
			labels = append(labels, selector(label, name))
		}
	}
	return fmt.Sprintf("set one of the labels %s, or %s alone for the default workflow", strings.Join(labels, ", "), label)
}

// selector is the label that asks for the only one of names, or for the default workflow.
func selector(label string, names ...string) string {
	if len(names) == 1 && names[0] != "" {
		return label + ":" + names[0]
	}
	return label
}

// edited refuses a text that the one who asked for it has not seen: it was changed since, by an
// account that may not ask itself. A change by one that may counts as asking again.
func edited(v *view) (Decision, bool) {
	edits, known := v.Record.LateEdits(v.asked.CutOff)
	if !known {
		if d, unseen := v.changed(edits); unseen {
			return d, true
		}
	}
	for _, e := range edits {
		if !e.Editor.IsPerson() {
			return v.asAsked(e), true
		}
		a, asked := v.permission(e.Editor.Login)
		switch {
		case !asked:
			return Decision{}, false
		case a.Err != nil:
			return unanswered(a.Err, "the permission of "+e.Editor.Login, v.Tries), true
		case !a.Permission.Write():
			return v.asAsked(e), true
		}
	}
	return Decision{}, false
}

// changed compares the texts with those of the first sight of the trigger, where the server does
// not say who edits a body. A title that changed has an event with its actor.
func (v *view) changed(edits []ghsync.LateEdit) (Decision, bool) {
	first, seen := v.History.FirstSeen(v.Issue, v.asked.Trigger)
	now := TextsOf(v.Record.Issue)
	if !seen || first == now || first.Body == now.Body && len(edits) > 0 {
		return Decision{}, false
	}
	return v.asAsked(ghsync.LateEdit{}), true
}

// asAsked refuses a text because of an edit.
func (v *view) asAsked(e ghsync.LateEdit) Decision {
	const form = "2006-01-02 15:04:05 UTC"
	editor, at := "somebody who is not known", ""
	if e.Editor.Login != "" {
		editor = e.Editor.Login + ", who may not write,"
	}
	if !e.At.IsZero() {
		at = " at " + e.At.UTC().Format(form)
	}
	return refuse("read what it says now, then "+v.again(), "the text was edited by %s%s, after %s asked for it at %s",
		editor, at, v.asked.By.Account.Login, v.asked.CutOff.UTC().Format(form))
}

func unsandboxed(v *view) (Decision, bool) {
	if v.Record.Repository.Private || !v.Rules.Unsandboxed || v.Rules.Gate.PublicUnsandboxed {
		return Decision{}, false
	}
	why := fmt.Sprintf("%s is public, and agents run without a sandbox here", v.Repo)
	if v.atTerminal() {
		v.warnings = append(v.warnings, why+": what strangers write can reach what you can reach")
		return Decision{}, false
	}
	return refuse("the one who runs the bot can set sandbox.level, or gate.public_unsandboxed: true; then "+v.again(), "%s", why), true
}

// day is the window of the rates of an issue.
const day = 24 * time.Hour

func issueDay(v *view) (Decision, bool) {
	most := v.Rules.Gate.IssueDay
	if v.History.LabelStarts(v.Issue, day) < most {
		return Decision{}, false
	}
	return refuse("wait a day and "+v.again()+", or comment /agentmux retry", "a label started work on this issue %d times in a day, which is all that gate.issue_day allows", most), true
}
