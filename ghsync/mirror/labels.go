package mirror

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// labeler keeps the labels of the issue.
type labeler struct {
	*ledger
	labelled time.Time // last look at the labels
	unsure   time.Time // first time that a change was found cut short, or that one was begun
}

const labelNone = "none" // a person stopped it: none of the state labels

// isState reports whether a label is one of the state labels.
func (l *labeler) isState(label string) bool {
	return slices.ContainsFunc(ghsync.StateNames(), func(state string) bool { return ghsync.SameLabel(label, l.labelName(state)) })
}

// stateLabel returns the state label that a session should have. One that is done needs a person
// again once its follow-ups are over and more was said.
func stateLabel(p *story.Progress, noted story.Commands) string {
	switch p.End.Outcome {
	case orchestrator.OutcomeDone:
		if noted.FollowUpsOver(p.End.At) {
			return ghsync.LabelNeedsHuman
		}
		return ghsync.LabelDone
	case orchestrator.OutcomeNeedsHuman:
		return ghsync.LabelNeedsHuman
	case orchestrator.OutcomeFailed:
		return ghsync.LabelFailed
	case orchestrator.OutcomeCanceled:
		if p.End.ByPerson() {
			return labelNone
		}
		return ghsync.LabelFailed
	}
	if p.Waits() {
		return ghsync.LabelNeedsHuman
	}
	return ghsync.LabelRunning
}

// keepLabels keeps at most one state label on the issue, exactly one while the session is
// live: the new one is added before the old one is removed, so a kill leaves two, never none.
func (l *labeler) keepLabels(ctx context.Context) (time.Duration, error) {
	want := stateLabel(l.view.Progress, l.view.Noted)
	now := l.o.Now()
	due := l.o.Pace.Labels - now.Sub(l.labelled)
	switch {
	case l.st.Label == "":
		return 0, l.setLabels(ctx, want, true)
	case l.st.LabelUnsure:
		if l.unsure.IsZero() {
			l.unsure = now // by an earlier host, whose session is taken up for something that may change the label at once
		}
		if left := l.o.Pace.Debounce - now.Sub(l.unsure); left > 0 {
			return left, nil
		}
		return 0, l.setLabels(ctx, want, false)
	case l.st.Label != want:
		return 0, l.changeLabel(ctx, want)
	case !l.view.Live():
		return 0, nil
	case l.labelled.IsZero():
		l.labelled = now // set by an earlier run; look in a while
		return 0, nil
	case due <= 0:
		return 0, l.setLabels(ctx, want, false)
	}
	return 0, nil
}

// setLabels reads the issue's labels and corrects them. The first call removes request labels;
// later ones ask for something new.
func (l *labeler) setLabels(ctx context.Context, want string, first bool) error {
	have, err := l.issueLabels(ctx, want, first)
	if err != nil {
		return err
	}
	l.labelled = l.o.Now()
	var extra []string
	there := false
	for _, name := range have {
		_, asks := ghsync.RequestLabel(name, l.o.Label)
		switch {
		case want != labelNone && ghsync.SameLabel(name, l.labelName(want)):
			there = true
		case l.isState(name), first && asks:
			extra = append(extra, name)
		}
	}
	if !there {
		if _, err := l.addLabel(ctx, want); err != nil {
			return err
		}
	}
	for _, name := range extra {
		if err := l.o.Server.Labels.RemoveLabel(ctx, l.o.Repo, l.o.Issue, name); err != nil {
			return err
		}
	}
	l.st.Label, l.st.LabelUnsure = want, false
	return l.save()
}

// issueLabels returns the labels of the issue. The first time it does not have the wanted one
// yet, nor may it have after a change that was cut short, and the answer to adding that one lists
// the others. Later the whole issue is read: its text may have been edited, too.
func (l *labeler) issueLabels(ctx context.Context, want string, first bool) ([]string, error) {
	if want != labelNone && (first || l.st.LabelUnsure) {
		return l.addLabel(ctx, want)
	}
	issue, err := l.o.Server.Place.Issue(ctx, l.o.Repo, l.o.Issue)
	if err == nil {
		l.noteText(issue)
	}
	return issue.Labels, err
}

// changeLabel replaces the label that was set last by another one, without reading the issue.
// That it has begun is on disk before: no later change may repair one that is cut short.
func (l *labeler) changeLabel(ctx context.Context, want string) error {
	if l.st.Label == want {
		return nil
	}
	l.st.LabelUnsure, l.unsure = true, l.o.Now()
	if err := l.save(); err != nil {
		return err
	}
	if _, err := l.addLabel(ctx, want); err != nil {
		return err
	}
	if old := l.st.Label; old != "" && old != labelNone {
		if err := l.o.Server.Labels.RemoveLabel(ctx, l.o.Repo, l.o.Issue, l.labelName(old)); err != nil {
			return err
		}
	}
	l.st.Label, l.st.LabelUnsure, l.labelled = want, false, l.o.Now()
	l.o.Log.Info("label changed", "session", l.view.Identity.Session, "issue", l.o.Issue, "label", want)
	return l.save()
}

// addLabel adds a label and returns all labels of the issue.
func (l *labeler) addLabel(ctx context.Context, want string) ([]string, error) {
	if want == labelNone {
		return nil, nil
	}
	return l.o.Server.Labels.AddLabel(ctx, l.o.Repo, l.o.Issue, l.labelName(want))
}

func (l *labeler) labelName(state string) string { return l.o.Label + ":" + state }
