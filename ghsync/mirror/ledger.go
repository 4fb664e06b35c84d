package mirror

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// ledger is what all parts of a mirror work with: its options, what the records have told,
// what is still to be written, and what mirror_state.json keeps of what was. But for the
// fields below mu, it belongs to the goroutine of Run, then to that of Finish.
type ledger struct {
	o       Options
	session *session.Session                     // nil: a ticket has none yet
	file    string                               // mirror_state.json
	keep    func(path string, data []byte) error // how it is written

	st       *mirrorState
	stored   []byte // mirror_state.json as last written
	view     *comment.View
	snapshot *ghsync.Snapshot // nil: there is none
	queue    []post           // comments to make, in order
	off      map[string]bool  // steps that would fail again

	mu      sync.Mutex
	settled int // everything up to this record is shown
	locked  bool
	lastErr error
}

// missed notes for people that a pass failed. It may take hours until the next one succeeds,
// and until then only this file tells of it.
func (k *ledger) missed() {
	if k.st.Away == nil {
		k.st.Away = &away{Since: k.o.Now().UTC().Truncate(time.Second)}
	}
	k.st.Away.Tries++
	k.note()
}

// reached forgets the failures: the server answers again.
func (k *ledger) reached() {
	if k.st.Away != nil {
		k.st.Away = nil
		k.note()
	}
}

// note saves what only people read.
func (k *ledger) note() {
	if err := k.save(); err != nil {
		k.o.Log.Warn("mirror state not written", "session", k.view.Identity.Session, "err", err)
	}
}

// settle records that everything is shown that can be.
func (k *ledger) settle() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settled = k.view.Seq
	if len(k.off) == 0 {
		k.st.LastError, k.lastErr = nil, nil
	}
}

// failed notes why the mirror is behind.
func (k *ledger) failed(err error) {
	text := k.o.Redactor.Redact(err.Error())
	k.st.LastError = &text
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastErr = err
}

// save writes mirror_state.json if it changed.
func (k *ledger) save() error {
	k.mu.Lock()
	if len(k.off) == 0 { // what was given up is owed to the next start
		k.st.ShownSeq = k.settled
	}
	k.mu.Unlock()
	if len(k.queue) > 0 {
		k.st.AppliedSeq = k.queue[0].seq - 1
	} else {
		k.st.AppliedSeq = k.view.Seq
	}
	data, err := k.st.encode()
	if err != nil {
		return &diskError{err: err}
	}
	if string(data) == string(k.stored) {
		return nil
	}
	if err := k.keep(k.file, data); err != nil {
		return &diskError{err: fmt.Errorf("write mirror state: %w", err)}
	}
	k.stored = data
	return nil
}

// readFacts takes what the status says about the request from the snapshot.
func (k *ledger) readFacts() error {
	if k.o.Unit != nil {
		if k.o.Snapshot != nil {
			k.show(k.o.Snapshot)
		}
		return nil
	}
	data, err := session.ReadFile(k.session.Path(session.SnapshotFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	s, err := ghsync.ParseSnapshot(data)
	if err != nil {
		return nil // made by hand or by another version: the status says less
	}
	k.show(&s)
	return nil
}

// show has the status tell of a snapshot.
func (k *ledger) show(s *ghsync.Snapshot) {
	k.snapshot = s
	k.view.Asked = comment.Asked{
		Known: true, Login: s.Requester.Login, Level: s.Requester.Level, At: s.CutOff, Digest: s.Digest,
		Removed: s.Report.Removed, CutBytes: s.Report.CutBytes, Suspicious: s.Report.Suspicious, Unseen: s.Base.String(),
	}
}

// settings are read from state.json once: they are frozen for the session's life.
func (k *ledger) settings() {
	if k.view.Settings != nil {
		return
	}
	state, err := k.session.ReadState()
	if err != nil {
		return
	}
	k.view.Settings = &comment.Settings{FixLimit: state.Settings.MaxReviewIterations}
	if !state.Interactive {
		k.view.Settings.HumanWait = state.Settings.LimitHumanWait.D()
		k.view.Settings.Park = state.Settings.QuestionTimeout == "park"
	}
}

// noteText notes when the issue's text was first seen to differ from that of the session.
func (k *ledger) noteText(issue ghsync.Issue) {
	switch {
	case k.snapshot == nil || k.snapshot.Raw.Title == "":
	case !k.snapshot.Edited(issue.Title, issue.Body):
		k.st.TextEdited = nil
	case k.st.TextEdited == nil:
		now := k.o.Now().UTC()
		k.st.TextEdited = &now
	}
}
