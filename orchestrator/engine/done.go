package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// doneMarkers lists the files by which a person ends a task in a session of the earlier
// tool.
func (f *files) doneMarkers() []predicate {
	markers := duty.DoneMarkers(f.def, f.st)
	var out []predicate
	for _, key := range slices.Sorted(maps.Keys(markers)) {
		out = append(out, predicate{what: orchestrator.ObserveDone, name: string(key), path: markers[key], loose: true, read: (*files).readDone})
	}
	return out
}

// readDone reads what the marker says is finished. Until there is something the marker is
// looked at again.
func (f *files) readDone(p predicate) (*orchestrator.Observation, error) {
	file := path.Join(path.Dir(p.path), "summary.md")
	if phase, ok := f.def.Phase(f.st.Phase); ok && p.name == phase.Role {
		file = phase.Artifact
	}
	a, err := f.sess.ReadArtifact(file, duty.ArtifactText)
	if err != nil || len(a.Problems) > 0 {
		delete(f.looked, p.path)
		return nil, err
	}
	o := p.observation(fmt.Sprintf("%d/%s", f.st.Visit, a.SHA256))
	o.Artifact = a
	return o, nil
}
