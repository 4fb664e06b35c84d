package mirror

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
)

const labelNone = "none" // a person stopped it: no label of ours

// isState reports whether a label is one of the state labels.
func (m *Mirror) isState(label string) bool {
	return slices.ContainsFunc(ghsync.StateNames(), func(state string) bool { return ghsync.SameLabel(label, m.labelName(state)) })
}

// label is the state label the session should have.
func (v *view) label() string {
	switch v.outcome {
	case orchestrator.OutcomeDone:
		return ghsync.LabelDone
	case orchestrator.OutcomeNeedsHuman:
		return ghsync.LabelNeedsHuman
	case orchestrator.OutcomeFailed:
		return ghsync.LabelFailed
	case orchestrator.OutcomeCanceled:
		if v.byPerson {
			return labelNone
		}
		return ghsync.LabelFailed
	}
	if v.gate != "" || len(v.asks.Open()) > 0 {
		return ghsync.LabelNeedsHuman
	}
	return ghsync.LabelRunning
}

// labels keeps at most one state label on the issue, exactly one while the session is
// live: the new one is put on before the old one goes, so a kill leaves two, never none.
func (m *Mirror) labels(ctx context.Context) (time.Duration, error) {
	want := m.view.label()
	now := m.o.Now()
	due := m.o.Pace.Labels - now.Sub(m.labelled)
	switch {
	case m.o.Sink != nil && m.o.Client == nil:
		return 0, m.changeLabel(ctx, want)
	case m.st.Label == "":
		return 0, m.setLabels(ctx, want, true)
	case m.st.LabelUnsure:
		return 0, m.setLabels(ctx, want, false)
	case m.st.Label != want:
		return 0, m.changeLabel(ctx, want)
	case !m.view.live():
		return 0, nil
	case m.labelled.IsZero():
		m.labelled = now // set by an earlier run; look in a while
		return 0, nil
	case due <= 0:
		return 0, m.setLabels(ctx, want, false)
	}
	return 0, nil
}

// setLabels reads the issue's labels and corrects them. Request labels go with the first
// time; later ones ask for something new.
func (m *Mirror) setLabels(ctx context.Context, want string, first bool) error {
	have, err := m.issueLabels(ctx, want, first)
	if err != nil {
		return err
	}
	m.labelled = m.o.Now()
	var extra []string
	there := false
	for _, name := range have {
		_, asks := ghsync.RequestLabel(name, m.o.Label)
		switch {
		case want != labelNone && ghsync.SameLabel(name, m.labelName(want)):
			there = true
		case m.isState(name), first && asks:
			extra = append(extra, name)
		}
	}
	if !there {
		if _, err := m.addLabel(ctx, want); err != nil {
			return err
		}
	}
	for _, name := range extra {
		if err := m.sink.RemoveLabel(ctx, m.o.Issue, name); err != nil {
			return err
		}
	}
	m.st.Label, m.st.LabelUnsure = want, false
	return m.save()
}

// issueLabels returns the labels the issue has. The first time it has not the wanted one
// yet, and putting that on tells of the others, too. Later the issue is read as a whole:
// its text may have been edited, too.
func (m *Mirror) issueLabels(ctx context.Context, want string, first bool) ([]string, error) {
	if first && want != labelNone {
		return m.addLabel(ctx, want)
	}
	issue, err := m.o.Client.Issue(ctx, m.o.Repo, m.o.Issue)
	if err == nil {
		m.noteText(issue)
	}
	return issue.Labels, err
}

// changeLabel goes from the label last set to another one without looking. That it has
// begun is on disk before: what is left half-done may be the way to a state that no later
// one changes.
func (m *Mirror) changeLabel(ctx context.Context, want string) error {
	if m.st.Label == want {
		return nil
	}
	m.st.LabelUnsure = true
	if err := m.save(); err != nil {
		return err
	}
	if _, err := m.addLabel(ctx, want); err != nil {
		return err
	}
	if old := m.st.Label; old != "" && old != labelNone {
		if err := m.sink.RemoveLabel(ctx, m.o.Issue, m.labelName(old)); err != nil {
			return err
		}
	}
	m.st.Label, m.st.LabelUnsure, m.labelled = want, false, m.o.Now()
	m.o.Log.Info("label changed", "session", m.view.session, "issue", m.o.Issue, "label", want)
	return m.save()
}

// addLabel puts a label on and returns those the issue has then. What says that the work
// has ended must be true: it is fenced.
func (m *Mirror) addLabel(ctx context.Context, want string) ([]string, error) {
	if !m.view.live() && m.o.Fence != nil {
		if err := m.o.Fence(ctx); err != nil {
			return nil, fmt.Errorf("check the claim: %w", err)
		}
	}
	if want == labelNone {
		return nil, nil
	}
	return m.sink.AddLabel(ctx, m.o.Issue, m.labelName(want))
}

func (m *Mirror) labelName(state string) string { return m.o.Label + ":" + state }
