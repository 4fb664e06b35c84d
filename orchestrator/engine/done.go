package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// doneMarkers lists the files by which a person ends a task in a session of the earlier
// tool.
func (l *loop) doneMarkers() []predicate {
	files := decide.DoneMarkers(l.Definition, l.st)
	var out []predicate
	for _, key := range slices.Sorted(maps.Keys(files)) {
		out = append(out, predicate{what: orchestrator.ObserveDone, name: key, path: files[key], loose: true, read: (*loop).readDone})
	}
	return out
}

// readDone reads what the marker says is finished. Until there is something the marker is
// looked at again.
func (l *loop) readDone(p predicate) (*orchestrator.Observation, error) {
	file := path.Join(path.Dir(p.path), "summary.md")
	if phase, ok := l.Definition.Phase(l.st.Phase); ok && p.name == phase.Role {
		file = phase.Artifact
	}
	a, err := l.Session.ReadArtifact(file, decide.ArtifactText)
	if err != nil || len(a.Problems) > 0 {
		delete(l.looked, p.path)
		return nil, err
	}
	o := p.observation(fmt.Sprintf("%d/%s", l.st.Visit, a.SHA256))
	o.Artifact = a
	return o, nil
}
