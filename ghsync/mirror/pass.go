package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// maxBackoffs bounds the growth of the pause after failures: with the default pause the
// mirror is back within two minutes of GitHub.
const maxBackoffs = 18

// pass reads what is new and does what is due. It returns when to come again at the latest.
// The error ends the mirror.
func (m *Mirror) pass(ctx context.Context) (time.Duration, error) {
	if err := m.read(); err != nil {
		return 0, err
	}
	if left := m.notBefore.Sub(m.o.Now()); left > 0 {
		return left, nil
	}
	if m.view.seq == 0 {
		return m.o.Pace.Scan, nil
	}
	next, err := m.write(ctx)
	if final(err) {
		return 0, err
	}
	if ctx.Err() != nil || m.ending() {
		return 0, nil
	}
	return m.after(next, err), nil
}

// final reports whether err ends the mirror.
func final(err error) bool {
	return errors.Is(err, ErrClaimLost) || errors.Is(err, ErrIssueGone) || errors.As(err, new(*diskError))
}

// diskError is a failure of this machine, which no waiting for GitHub cures.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }

func (e *diskError) Unwrap() error { return e.err }

// read folds the new records and queues the comments they ask for.
func (m *Mirror) read() error {
	records, err := m.follow.Read()
	if err != nil {
		return &diskError{err: err}
	}
	for _, e := range records {
		m.view.fold(e)
		if e.Seq > m.st.AppliedSeq {
			m.owe(e)
		}
	}
	if len(records) > 0 && m.dirty.IsZero() {
		m.dirty = m.o.Now()
	}
	return nil
}

// write brings GitHub to the view. A comment that cannot be made holds later ones, but
// neither the status nor the labels.
func (m *Mirror) write(ctx context.Context) (next time.Duration, err error) {
	if !m.view.live() || m.finishing {
		ctx = transport.WithPriority(ctx, transport.PriorityFinishing)
	}
	if m.missing() {
		if err := m.lookAgain(ctx); err != nil {
			return 0, err
		}
	}
	if m.rebuild && !m.off[stepMemory] {
		err := m.relocate(ctx, m.findOurs(ctx))
		if _, again := transport.Later(err); err != nil && !again {
			m.turnOff(stepMemory, err)
		} else if err != nil {
			return 0, err
		}
	}
	var errs []error
	for _, s := range m.writings() {
		if m.off[s.name] || m.ending() {
			continue
		}
		wait, err := s.run(ctx)
		err = m.relocate(ctx, err)
		if final(err) || m.missing() {
			return 0, err
		}
		if _, again := transport.Later(err); err != nil && !again {
			m.turnOff(s.name, err)
			continue
		}
		errs = append(errs, err)
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next, errors.Join(errs...)
}

// writing is one kind of write.
type writing struct {
	name string
	run  func(context.Context) (time.Duration, error)
}

// Steps that others wait for: the status comment, and what an earlier mirror has made.
const (
	stepFirstStatus = "first status"
	stepMemory      = "earlier comments"
)

// writings are in the order in which people should see them. Without knowing the comments
// that are there none is made: it might be there already.
func (m *Mirror) writings() []writing {
	labels, verdict := writing{"labels", m.labels}, writing{"commit status", m.verdictOnCommit}
	if m.rebuild {
		return []writing{labels, verdict}
	}
	return []writing{
		{stepFirstStatus, m.firstStatus}, {"comments", m.comments}, {"closed questions", m.closeAsked}, {"status", m.status},
		labels, verdict, {"twins", m.twins},
	}
}

// turnOff ends one kind of write: the same request would get the same answer until somebody
// changes something and starts the host again. The others go on.
func (m *Mirror) turnOff(name string, err error) {
	text := m.o.Redactor.Redact(err.Error())
	m.off[name] = true
	m.st.LastError = &text
	m.o.Log.Error("mirror gives up", "session", m.view.session, "what", name, "err", text)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastErr = err
}

// after notes the result of a pass and says when the next one is due.
func (m *Mirror) after(next time.Duration, err error) time.Duration {
	if err == nil {
		m.failures, m.notBefore = 0, time.Time{}
		m.reached()
		if next > 0 {
			return min(next, m.o.Pace.Scan)
		}
		m.settle()
		return m.o.Pace.Scan
	}
	text := m.o.Redactor.Redact(err.Error())
	m.st.LastError = &text
	m.mu.Lock()
	m.lastErr = err
	m.mu.Unlock()
	wait, _ := transport.Later(err)
	m.failures++
	m.missed()
	pause := m.o.Pace.Backoff * time.Duration(min(1<<min(m.failures-1, 10), maxBackoffs))
	pause = max(pause, wait)
	if errors.As(err, new(*transport.Unsent)) && m.failures == 1 {
		pause = 0
	}
	m.o.Log.Warn("mirror is behind", "session", m.view.session, "attempt", m.failures, "wait", pause.Round(time.Second).String(), "err", text)
	m.notBefore = m.o.Now().Add(pause)
	return pause
}

// missed notes for people that one more pass got nowhere. It may take hours until the next
// comes through, and until then this file is all that tells of it.
func (m *Mirror) missed() {
	if m.st.Away == nil {
		m.st.Away = &away{Since: m.o.Now().UTC().Truncate(time.Second)}
	}
	m.st.Away.Tries++
	m.note()
}

func (m *Mirror) reached() {
	if m.st.Away != nil {
		m.st.Away = nil
		m.note()
	}
}

// note saves what is only of interest to people.
func (m *Mirror) note() {
	if err := m.save(); err != nil {
		m.o.Log.Warn("mirror state not written", "session", m.view.session, "err", err)
	}
}

// settle records that all is shown that can be.
func (m *Mirror) settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = m.view.seq
	if len(m.off) == 0 {
		m.st.LastError, m.lastErr = nil, nil
	}
}

// save writes mirror_state.json if it changed.
func (m *Mirror) save() error {
	m.mu.Lock()
	if len(m.off) == 0 { // what was given up is owed to the next start
		m.st.ShownSeq = m.settled
	}
	m.mu.Unlock()
	if len(m.queue) > 0 {
		m.st.AppliedSeq = m.queue[0].seq - 1
	} else {
		m.st.AppliedSeq = m.view.seq
	}
	data, err := m.st.encode()
	if err != nil {
		return &diskError{err: err}
	}
	if string(data) == string(m.stored) {
		return nil
	}
	if err := m.keep(m.session.Path(session.MirrorFile), data); err != nil {
		return &diskError{err: fmt.Errorf("write mirror state: %w", err)}
	}
	m.stored = data
	return nil
}

// readFacts takes what the status says about the request from the snapshot.
func (m *Mirror) readFacts() error {
	data, err := session.ReadFile(m.session.Path(session.SnapshotFile))
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
	m.snapshot = &s
	m.view.asked = asked{
		login: s.Requester.Login, level: s.Requester.Level, at: s.CutOff, digest: s.Digest,
		report: s.Report, submodules: s.Base.Submodules, lfs: s.Base.LFS, known: true,
	}
	return nil
}

// settings are read from state.json once: they are frozen for the session's life.
func (m *Mirror) settings() {
	if m.view.settled {
		return
	}
	state, err := m.session.ReadState()
	if err != nil {
		return
	}
	m.view.settled = true
	if m.view.cap < 0 {
		m.view.cap = state.Settings.MaxReviewIterations
	}
	if !state.Interactive {
		m.view.humanWait = state.Settings.LimitHumanWait.D()
		m.view.onTimeout = state.Settings.QuestionTimeout
	}
}

// decided is when an open question or gate is decided without an answer; zero: never.
func (v *view) decided(asked orchestrator.Time) time.Time {
	if v.humanWait <= 0 {
		return time.Time{}
	}
	return asked.Add(v.humanWait)
}
