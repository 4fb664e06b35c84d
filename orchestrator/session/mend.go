package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// Mend writes files again that prompts are made from and that are gone: from their accepted
// bytes, or as they were made the first time. It returns the paths of those, and of the ones
// whose content is in no other place of the directory. The lock must be held.
func (s *Session) Mend(st *orchestrator.State) (mended, lost []string, err error) {
	if st.Kind == orchestrator.KindAgents {
		return nil, nil, nil
	}
	def, err := s.Definition()
	if err != nil {
		return nil, nil, err
	}
	m := mender{Session: s, def: def, st: st}
	wanted := append([]wantedFile{
		{ContextFile, func() ([]byte, error) { return []byte(contextText(s.Dir, def)), nil }},
		{RequirementsFile, m.requirements},
	}, m.planFiles()...)
	wanted = append(wanted, m.research()...)
	wanted = append(wanted, m.architecture()...)
	for _, w := range wanted {
		if _, err := os.Lstat(s.Path(w.rel)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := w.content()
		if err != nil || data == nil {
			lost = append(lost, w.rel)
			continue
		}
		if err := s.Replace(w.rel, data); err != nil {
			return mended, lost, fmt.Errorf("write %s again: %w", w.rel, err)
		}
		mended = append(mended, w.rel)
	}
	return mended, lost, nil
}

// wantedFile is one that has to be there; content returns nil if nothing knows it.
type wantedFile struct {
	rel     string
	content func() ([]byte, error)
}

// mender knows where the content of files is kept besides.
type mender struct {
	*Session
	def *workflows.Definition
	st  *orchestrator.State

	read     bool
	accepted map[string]string // path -> hash, of the newest record
}

// lastAccepted is the content of an artifact when it was accepted last.
func (m *mender) lastAccepted(rel string) ([]byte, error) {
	if !m.read {
		records, _, err := m.Events(0)
		if err != nil {
			return nil, err
		}
		m.read, m.accepted = true, map[string]string{}
		for _, e := range records {
			if d, ok := e.Data.(orchestrator.ArtifactAcceptedRecord); ok {
				m.accepted[d.Path] = d.SHA256
			}
		}
	}
	if m.accepted[rel] == "" {
		return nil, nil
	}
	return m.Blob(m.accepted[rel])
}

// requirements are those a product manager handed in, else the request that Create kept.
func (m *mender) requirements() ([]byte, error) {
	if data, err := m.lastAccepted(RequirementsFile); data != nil || err != nil {
		return data, err
	}
	blobs, err := os.ReadDir(m.Path(BlobsDir))
	if err != nil {
		return nil, err
	}
	head := []byte(requirementsText(""))[:len("# Requirements\n\n## Initial Request\n\n")]
	for _, b := range blobs {
		if data, err := m.Blob(b.Name()); err == nil && bytes.HasPrefix(data, head) {
			return data, nil
		}
	}
	return nil, nil
}

// planFiles are what was derived from the accepted plan.
func (m *mender) planFiles() []wantedFile {
	phase, ok := m.def.Kind(workflows.KindPlan)
	if !ok || m.st.PlanSHA256 == "" || m.st.Phase == phase.ID {
		return nil
	}
	data, err := m.Blob(m.st.PlanSHA256)
	if err != nil {
		return nil
	}
	plan, problems := artifact.ParsePlan(data)
	if problems.Err() != nil {
		return nil
	}
	files, err := plan.Files(m.st.PlanSHA256)
	if err != nil {
		return nil
	}
	var wanted []wantedFile
	for _, f := range files {
		wanted = append(wanted, wantedFile{path.Join(phase.Dir, f.Name), func() ([]byte, error) { return f.Data, nil }})
	}
	return wanted
}

// research are the requests of topics that are at work, as their lines asked.
func (m *mender) research() []wantedFile {
	var wanted []wantedFile
	for kind, topics := range map[string]map[string]string{"code": m.st.ResearchTasks, "web": m.st.WebResearchTasks} {
		for topic, status := range topics {
			if status == orchestrator.ResearchDispatched {
				wanted = append(wanted, wantedFile{path.Join(duty.ResearchDir(kind, topic), "request.md"), func() ([]byte, error) {
					return m.asked(kind, topic)
				}})
			}
		}
	}
	slices.SortFunc(wanted, func(a, b wantedFile) int { return strings.Compare(a.rel, b.rel) })
	return wanted
}

// asked is the request of the last line that asked for a topic.
func (m *mender) asked(kind, topic string) ([]byte, error) {
	var found []byte
	for cursor, more := (orchestrator.Cursor{}), true; more; {
		var lines []orchestrator.Line
		var err error
		if lines, more, err = m.Lines(ToolEvents, cursor, 0); err != nil {
			return nil, err
		}
		for _, l := range lines {
			cursor = l.Cursor
			if tool, _ := toolset.Find(l.Tool); tool.Research != kind {
				continue
			}
			if p, err := l.Decode(); err == nil && p.Topic == topic {
				found = []byte(duty.ResearchRequest(kind, p))
			}
		}
		more = more && len(lines) > 0
	}
	return found, nil
}

// architecture is what the architect handed in, once that phase is over.
func (m *mender) architecture() []wantedFile {
	for _, p := range m.def.Phases {
		if p.Tool == workflows.ToolSubmitArchitecture && p.ID != m.st.Phase {
			if data, err := m.lastAccepted(p.Artifact); err != nil || data == nil {
				return nil
			}
			return []wantedFile{{filepath.ToSlash(p.Artifact), func() ([]byte, error) { return m.lastAccepted(p.Artifact) }}}
		}
	}
	return nil
}

// Moved makes what the session tells its agents of its own place true again, after its
// directory was moved.
func (s *Session) Moved(from string) error {
	def, err := s.Definition()
	if err != nil {
		return err
	}
	text, err := readOwn(s.Path(ContextFile), 1<<20)
	if err != nil || string(text) != contextText(from, def) {
		return nil //nolint:nilerr // a text that is not ours stays as it is
	}
	return s.disk.Replace(s.Path(ContextFile), []byte(contextText(s.Dir, def)))
}
