package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// predicate is a file whose presence says something in the current phase.
type predicate struct {
	what  string // one of the Observe constants
	name  string
	path  string // relative to the session
	loose bool   // counts at once, whatever its age
	told  bool   // an answer to a gate: whatever is there is judged, and said
	read  func(*loop, predicate) (*orchestrator.Observation, error)
}

// observe looks at the files the current phase waits for. Files that the session
// itself is still writing or removing are left for later.
func (l *loop) observe(ctx context.Context) error {
	if l.st.Paused || l.st.Ended() || filesPending(l.st) {
		return nil
	}
	l.settling = false
	visit := l.st.Visit
	for _, p := range l.predicates() {
		o, err := l.judge(p)
		if err != nil {
			l.Log.Warn("a file cannot be read", "path", p.path, "err", err)
			continue
		}
		if o == nil {
			continue
		}
		if _, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InObserve, Observe: o}); err != nil {
			return err
		}
		if l.st.Visit != visit || l.st.Ended() || filesPending(l.st) {
			return nil
		}
	}
	return nil
}

// predicates lists what the current phase waits for.
func (l *loop) predicates() []predicate {
	if l.st.Gate != nil {
		return l.gatePredicates()
	}
	phase, ok := l.Definition.Phase(l.st.Phase)
	if !ok {
		return nil
	}
	return append(l.phasePredicates(phase), l.doneMarkers()...)
}

func (l *loop) phasePredicates(phase workflows.Phase) []predicate {
	switch {
	case phase.Kind == workflows.KindAuthor && phase.FileAccepts:
		return []predicate{{what: orchestrator.ObserveArtifact, path: phase.Artifact, read: (*loop).readText}}
	case phase.Kind == workflows.KindImplement:
		return markers(phase, l.st)
	case phase.Kind == workflows.KindFix && l.st.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanRunning:
		return []predicate{marker(phase, "1")}
	case phase.Kind == workflows.KindReview && l.st.AwaitingSummary:
		return []predicate{{what: orchestrator.ObserveSummary, path: path.Join(l.completeDir(), session.SummaryFile), read: (*loop).readText}}
	case phase.Kind == workflows.KindReview && l.ingest:
		return l.reviewPredicates(phase)
	case phase.Kind == workflows.KindReview:
		return l.strayReviews(phase)
	}
	return nil
}

func (l *loop) completeDir() string {
	phase, _ := l.Definition.Kind(workflows.KindComplete)
	return phase.Dir
}

// markers lists those a person may make: of the subplans at work, and of those
// whose turn has not come.
func markers(phase workflows.Phase, st *orchestrator.State) []predicate {
	var out []predicate
	for _, id := range slices.Sorted(maps.Keys(st.SubplanStatus)) {
		if s := st.SubplanStatus[id]; s == orchestrator.SubplanRunning || s == orchestrator.SubplanPending {
			out = append(out, marker(phase, id))
		}
	}
	return out
}

func marker(phase workflows.Phase, id string) predicate {
	return predicate{what: orchestrator.ObserveMarker, name: id, path: path.Join(phase.Dir, "done_"+id), loose: true, read: (*loop).readMarker}
}

// reviewPredicates lists the verdicts that pending reviewers had written before
// the session was interrupted. A reviewer that is alive may still be writing.
func (l *loop) reviewPredicates(phase workflows.Phase) []predicate {
	var out []predicate
	for _, owed := range decide.Owed(l.Definition, l.st) {
		alive := slices.Contains(l.alive, l.st.Agents[owed.Key()].Launch)
		if l.st.ActiveReviews[owed.Role] == orchestrator.ReviewPending && !alive {
			out = append(out, predicate{
				what: orchestrator.ObserveReview, name: owed.Role, path: l.reviewFile(orchestrator.ReviewFile(phase.Dir, owed.Role)),
				loose: true, read: (*loop).readReview,
			})
		}
	}
	return out
}

// reviewFile returns the file a verdict is read from. In a session of the earlier
// tool review.yaml serves the only role that is pending.
func (l *loop) reviewFile(file string) string {
	if l.st.DefinitionSHA256 != "" || len(decide.Owed(l.Definition, l.st)) != 1 {
		return file
	}
	if _, err := os.Lstat(l.Session.Path(file)); err == nil {
		return file
	}
	single := orchestrator.ReviewFile(path.Dir(file), workflows.RoleReviewer)
	if _, err := os.Lstat(l.Session.Path(single)); err != nil {
		return file
	}
	return single
}

// strayReviews lists the files of roles that do not run in this round.
func (l *loop) strayReviews(phase workflows.Phase) []predicate {
	var out []predicate
	for _, role := range workflows.ReviewRoles() {
		_, runs := l.st.ActiveReviews[role]
		if _, ran := l.st.ReviewResults[role]; !runs && !ran {
			out = append(out, predicate{
				what: orchestrator.ObserveReview, name: role, path: orchestrator.ReviewFile(phase.Dir, role), read: (*loop).readStray,
			})
		}
	}
	return out
}

// readStray only says that the file is there: nobody asked for its content.
func (l *loop) readStray(p predicate) (*orchestrator.Observation, error) {
	info, err := os.Lstat(l.Session.Path(p.path))
	if err != nil {
		return nil, err
	}
	return p.observation(fmt.Sprintf("%d/%d/%d", l.st.Visit, info.ModTime().UnixNano(), info.Size())), nil
}

// judge returns the observation that a predicate holds, or nil. The same file is
// judged again only when the session has changed.
func (l *loop) judge(p predicate) (*orchestrator.Observation, error) {
	info, err := os.Lstat(l.Session.Path(p.path))
	if err != nil || !info.Mode().IsRegular() {
		if errors.Is(err, fs.ErrNotExist) {
			return l.gone(p), nil
		}
		if err == nil && p.told {
			return l.unreadable(p, info, errors.New("it is not a regular file")), nil
		}
		delete(l.looked, p.path)
		return nil, err
	}
	looks := fmt.Sprintf("%d %d %d", info.Size(), info.ModTime().UnixNano(), l.version)
	if l.looked[p.path] == looks {
		return nil, nil
	}
	if !p.loose {
		stable, err := l.stable.Look(p.path, l.Now(), l.notBefore(p.path))
		if err != nil || !stable {
			l.settling = l.settling || l.stable.Settling(p.path, l.Now())
			return nil, err
		}
	}
	l.looked[p.path] = looks
	o, err := p.read(l, p)
	if err != nil && p.told {
		return l.unreadable(p, info, err), nil
	}
	return o, err
}

// gone returns the observation that a marker which was seen is there no more.
func (l *loop) gone(p predicate) *orchestrator.Observation {
	delete(l.looked, p.path)
	if p.what != orchestrator.ObserveMarker || l.st.Seen["observe/"+p.what+"/"+p.name] == "" {
		return nil
	}
	return p.observation("")
}

// notBefore is the age a file may have. After a resume any will do, but for the request:
// only what this phase made of it is an answer.
func (l *loop) notBefore(path string) time.Time {
	if l.st.Gate != nil || l.anyTime == l.st.Visit && path != workflows.RequirementsFile {
		return time.Time{} // at a gate the reducer says what is too old
	}
	return l.st.PhaseEnteredAt.Time
}

func (p predicate) observation(evidence string) *orchestrator.Observation {
	return &orchestrator.Observation{What: p.what, Name: p.name, Evidence: evidence}
}

func (l *loop) readMarker(p predicate) (*orchestrator.Observation, error) {
	info, err := os.Lstat(l.Session.Path(p.path))
	if err != nil {
		return nil, err
	}
	return p.observation(fmt.Sprintf("%d/%d", l.st.Visit, info.ModTime().UnixNano())), nil
}

// readText takes a file that is accepted without a tool call; a blank or broken
// one is as if it were not there.
func (l *loop) readText(p predicate) (*orchestrator.Observation, error) {
	a, err := l.Session.ReadArtifact(p.path, decide.ArtifactText)
	if err != nil || len(a.Problems) > 0 {
		return nil, err
	}
	o := p.observation(fmt.Sprintf("%d/%s", l.st.Visit, a.SHA256))
	o.Artifact = a
	return o, nil
}

func (l *loop) readReview(p predicate) (*orchestrator.Observation, error) {
	a, err := l.Session.ReadArtifact(p.path, decide.ArtifactReview)
	if err != nil || len(a.Problems) > 0 {
		return nil, err
	}
	o := p.observation(fmt.Sprintf("%d/%s", l.st.Visit, a.SHA256))
	o.Artifact = a
	return o, nil
}
