package monitor

import (
	"io/fs"
	"os"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// reader follows one session. It belongs to one goroutine at a time.
type reader struct {
	session  *session.Session
	follower *session.Follower
	facts    Facts
	shown    func(string) string // nil: texts as they are
	changes  func(*orchestrator.State) string
	asked    string // what Changes said of the gate with this digest
	digest   string
	stays    bool // the monitor runs in the session's tmux

	seen    fs.FileInfo // state.json as it was read last
	state   *orchestrator.State
	records []orchestrator.Event
}

func newReader(dir string) (*reader, error) {
	s, err := session.Open(dir)
	if err != nil {
		return nil, err
	}
	def, err := s.Definition()
	if err != nil {
		return nil, err
	}
	r := &reader{session: s, follower: s.Follow(0), facts: Facts{Team: def.Team}}
	for _, p := range def.Phases {
		r.facts.Phases = append(r.facts.Phases, p.ID)
	}
	return r, nil
}

// view reads what changed in the session since the last call.
// Every commit replaces state.json, so that a new file also means new records.
func (r *reader) view(now time.Time) (View, error) {
	info, err := os.Lstat(r.session.Path(session.StateFile))
	if err != nil {
		return View{}, err
	}
	if r.changed(info) {
		if err := r.read(); err != nil {
			return View{}, err
		}
		r.seen = info
	}
	// Times are shown in seconds; with more digits every view would differ.
	r.facts.Running = session.Running(r.session.Dir)
	v := Build(r.state, r.facts, r.records, now.Truncate(time.Second))
	v.Changes, v.Stays = r.asks(), r.stays
	if r.shown != nil {
		v.pass(r.shown)
	}
	return v, nil
}

// asks says what the open gate is about. It is read once per gate.
func (r *reader) asks() string {
	if digest := r.state.GateDigest(); digest != r.digest {
		r.asked, r.digest = "", digest
		if digest != "" && r.changes != nil {
			r.asked = r.changes(r.state)
		}
	}
	return r.asked
}

func (r *reader) changed(info fs.FileInfo) bool {
	return r.seen == nil || !os.SameFile(r.seen, info) || r.seen.Size() != info.Size() ||
		!r.seen.ModTime().Equal(info.ModTime())
}

func (r *reader) read() error {
	state, err := r.session.ReadState()
	if err != nil {
		return err
	}
	records, err := r.follower.Read()
	if err != nil {
		return err
	}
	r.state = state
	r.records = append(r.records, records...)
	return nil
}
