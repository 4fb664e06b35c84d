package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/team"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// predicate is a file whose presence says something in the current phase.
type predicate struct {
	what  string // one of the Observe constants
	name  string
	path  string // relative to the session
	loose bool   // counts at once, whatever its age
	told  bool   // an answer to a gate: whatever is there is judged, and said
	read  func(*files, predicate) (*orchestrator.Observation, error)
}

// files are the files that say something in the current phase, and what was last seen of them.
type files struct {
	def    *workflows.Definition
	sess   *session.Session
	now    func() time.Time
	stable *session.Stable

	st      *orchestrator.State // as committed, at the present look
	version int                 // of st

	looked   map[string]string     // path -> what it looked like when it was last judged
	ingest   bool                  // a resume: review files count once
	anyTime  int                   // visit in which files of any age count
	alive    []orchestrator.Launch // launches that lived at a resume
	settling bool                  // a file was seen that may still be written
}

// observe looks at the files the current phase waits for. Files that the session
// itself is still writing or removing are left for later.
func (l *loop) observe(ctx context.Context) error {
	if l.st.Paused || l.st.Ended() || filesPending(l.st) {
		return nil
	}
	l.files.settling = false
	visit := l.st.Visit
	for _, p := range l.files.at(l.st, l.version).predicates() {
		o, err := l.files.at(l.st, l.version).judge(p)
		if err != nil {
			l.Log.Warn("a file cannot be read", "path", p.path, "err", err)
			continue
		}
		if o == nil {
			continue
		}
		if !l.takes.marker(l.st, o) {
			delete(l.files.looked, p.path)
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

// at looks at the files for a state.
func (f *files) at(st *orchestrator.State, version int) *files {
	f.st, f.version = st, version
	return f
}

// predicates lists what the current phase waits for.
func (f *files) predicates() []predicate {
	if f.st.Gate != nil {
		return f.gatePredicates()
	}
	phase, ok := f.def.Phase(f.st.Phase)
	if !ok {
		return nil
	}
	return append(f.phasePredicates(phase), f.doneMarkers()...)
}

func (f *files) phasePredicates(phase workflows.Phase) []predicate {
	switch {
	case phase.Kind == workflows.KindAuthor && phase.FileAccepts:
		return []predicate{{what: orchestrator.ObserveArtifact, path: phase.Artifact, read: (*files).readText}}
	case phase.Kind == workflows.KindImplement:
		return markers(phase, f.st)
	case phase.Kind == workflows.KindTeam:
		return f.signals()
	case phase.Kind == workflows.KindFix && f.st.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanRunning:
		return []predicate{marker(phase, "1")}
	case phase.Kind == workflows.KindReview && f.st.AwaitingSummary:
		return []predicate{{what: orchestrator.ObserveSummary, path: path.Join(f.completeDir(), session.SummaryFile), read: (*files).readText}}
	case phase.Kind == workflows.KindReview && f.ingest:
		return f.reviewPredicates(phase)
	case phase.Kind == workflows.KindReview:
		return f.strayReviews(phase)
	}
	return nil
}

func (f *files) completeDir() string {
	return f.def.DirOf(workflows.KindComplete)
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
	return predicate{what: orchestrator.ObserveMarker, name: id, path: path.Join(phase.Dir, "done_"+id), loose: true, read: (*files).readMarker}
}

// signals lists the markers a person may make: of the agents of an agents file that have none.
func (f *files) signals() []predicate {
	var out []predicate
	for _, a := range f.def.Team.Agents {
		if f.st.Team[a.Name].Marker == "" {
			out = append(out, predicate{what: orchestrator.ObserveMarker, name: a.Name, path: team.MarkerFile(a.Name), loose: true, read: (*files).readSignal})
		}
	}
	return out
}

// maxSignal is how much of a marker is read: more than any exit code has.
const maxSignal = 256

func (f *files) readSignal(p predicate) (*orchestrator.Observation, error) {
	o, err := f.readMarker(p)
	if err != nil {
		return nil, err
	}
	file, err := session.ReadLog(f.sess.Path(p.path)) // whoever can write there can put a pipe in its place
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(file, maxSignal))
	o.Content = string(content)
	return o, err
}

// reviewPredicates lists the verdicts that pending reviewers had written before
// the session was interrupted. A reviewer that is alive may still be writing.
func (f *files) reviewPredicates(phase workflows.Phase) []predicate {
	var out []predicate
	for _, owed := range duty.Owed(f.def, f.st) {
		alive := slices.Contains(f.alive, f.st.Agents[owed.Key()].Launch)
		if f.st.ActiveReviews[owed.Role] == orchestrator.ReviewPending && !alive {
			out = append(out, predicate{
				what: orchestrator.ObserveReview, name: owed.Role, path: f.reviewFile(artifact.ReviewFile(phase.Dir, owed.Role)),
				loose: true, read: (*files).readReview,
			})
		}
	}
	return out
}

// reviewFile returns the file a verdict is read from. In a session of the earlier
// tool review.yaml serves the only role that is pending.
func (f *files) reviewFile(file string) string {
	if f.st.DefinitionSHA256 != "" || len(duty.Owed(f.def, f.st)) != 1 {
		return file
	}
	if _, err := os.Lstat(f.sess.Path(file)); err == nil {
		return file
	}
	single := artifact.ReviewFile(path.Dir(file), workflows.RoleReviewer)
	if _, err := os.Lstat(f.sess.Path(single)); err != nil {
		return file
	}
	return single
}

// strayReviews lists the files of roles that do not run in this round.
func (f *files) strayReviews(phase workflows.Phase) []predicate {
	var out []predicate
	for _, role := range workflows.ReviewRoles() {
		_, runs := f.st.ActiveReviews[role]
		if _, ran := f.st.ReviewResults[role]; !runs && !ran {
			out = append(out, predicate{
				what: orchestrator.ObserveReview, name: role, path: artifact.ReviewFile(phase.Dir, role), read: (*files).readStray,
			})
		}
	}
	return out
}

// readStray only says that the file is there: its content was not asked for.
func (f *files) readStray(p predicate) (*orchestrator.Observation, error) {
	info, err := os.Lstat(f.sess.Path(p.path))
	if err != nil {
		return nil, err
	}
	return p.observation(fmt.Sprintf("%d/%d/%d", f.st.Visit, info.ModTime().UnixNano(), info.Size())), nil
}

// judge returns the observation that a predicate holds, or nil. The same file is
// judged again only when the session has changed.
func (f *files) judge(p predicate) (*orchestrator.Observation, error) {
	info, err := os.Lstat(f.sess.Path(p.path))
	if err != nil || !info.Mode().IsRegular() {
		if errors.Is(err, fs.ErrNotExist) {
			return f.removed(p), nil
		}
		if err == nil && p.told {
			return f.unreadable(p, info, errors.New("it is not a regular file")), nil
		}
		delete(f.looked, p.path)
		return nil, err
	}
	looks := fmt.Sprintf("%d %d %d", info.Size(), info.ModTime().UnixNano(), f.version)
	if f.looked[p.path] == looks {
		return nil, nil
	}
	if !p.loose {
		stable, err := f.stable.Look(p.path, f.now(), f.notBefore(p.path))
		if err != nil || !stable {
			f.settling = f.settling || f.stable.Settling(p.path, f.now())
			return nil, err
		}
	}
	f.looked[p.path] = looks
	o, err := p.read(f, p)
	if err != nil && p.told {
		return f.unreadable(p, info, err), nil
	}
	return o, err
}

// removed returns the observation that a marker which was seen is missing now, or nil.
func (f *files) removed(p predicate) *orchestrator.Observation {
	delete(f.looked, p.path)
	if p.what != orchestrator.ObserveMarker || f.st.Seen["observe/"+p.what+"/"+p.name] == "" {
		return nil
	}
	return p.observation("")
}

// notBefore is the age a file may have. After a resume any will do, but for the request:
// only what this phase made of it is an answer.
func (f *files) notBefore(path string) time.Time {
	if f.st.Gate != nil || f.anyTime == f.st.Visit && path != workflows.RequirementsFile {
		return time.Time{} // at a gate the reducer says what is too old
	}
	return f.st.PhaseEnteredAt.Time
}

func (p predicate) observation(evidence string) *orchestrator.Observation {
	return &orchestrator.Observation{What: p.what, Name: p.name, Evidence: evidence}
}

func (f *files) readMarker(p predicate) (*orchestrator.Observation, error) {
	info, err := os.Lstat(f.sess.Path(p.path))
	if err != nil {
		return nil, err
	}
	return p.observation(fmt.Sprintf("%d/%d", f.st.Visit, info.ModTime().UnixNano())), nil
}

// readText takes a file that is accepted without a tool call; a blank or broken
// one is as if it were not there.
func (f *files) readText(p predicate) (*orchestrator.Observation, error) {
	a, err := f.sess.ReadArtifact(p.path, duty.ArtifactText)
	if err != nil || len(a.Problems) > 0 {
		return nil, err
	}
	o := p.observation(fmt.Sprintf("%d/%s", f.st.Visit, a.SHA256))
	o.Artifact = a
	return o, nil
}

func (f *files) readReview(p predicate) (*orchestrator.Observation, error) {
	a, err := f.sess.ReadArtifact(p.path, duty.ArtifactReview)
	if err != nil || len(a.Problems) > 0 {
		return nil, err
	}
	o := p.observation(fmt.Sprintf("%d/%s", f.st.Visit, a.SHA256))
	o.Artifact = a
	return o, nil
}
