package mirror

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
)

// maxBackoffs bounds the growth of the pause after failures: with the default pause the
// mirror is back within two minutes of GitHub.
const maxBackoffs = 18

// pass reads the new records and makes the writes that are due. It returns when the next pass
// is due at the latest. The error ends the mirror.
func (m *Mirror) pass(ctx context.Context) (time.Duration, error) {
	if err := m.read(); err != nil {
		return 0, err
	}
	if left := m.notBefore.Sub(m.o.Now()); left > 0 {
		return left, nil
	}
	if m.view.Seq == 0 {
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

// OfDisk reports whether err, of Run, says that this machine's disk failed. Nothing is lost then: a write whose intent
// could not be kept was not sent, and Run may be called again.
func OfDisk(err error) bool {
	return errors.As(err, new(*diskError)) && !errors.Is(err, ErrClaimLost) && !errors.Is(err, ErrIssueGone)
}

// diskError is a failure of this machine, which waiting for GitHub does not cure.
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
		if e = m.seen(e); e.Data == nil {
			m.view.Seq = e.Seq
			continue
		}
		m.view.Fold(e)
		m.named(e)
		if e.Seq > m.st.AppliedSeq {
			m.queueComment(e)
		}
	}
	if len(records) > 0 && m.dirty.IsZero() {
		m.dirty = m.o.Now()
	}
	return nil
}

// seen is a record as this mirror tells it. One that it does not tell has no data.
func (m *Mirror) seen(e orchestrator.Event) orchestrator.Event {
	if m.o.Unit == nil {
		return e
	}
	told, ok := m.o.Unit.See(e)
	if !ok {
		told.Data = nil
	}
	return told
}

// named tells what is written for an agent apart from what is for others of its run.
func (m *Mirror) named(e orchestrator.Event) {
	if d, ok := e.Data.(orchestrator.SessionCreatedRecord); ok && m.o.Unit != nil {
		m.view.Identity.Public = orchestrator.PublicID(d.SessionID+"--"+m.o.Unit.Agent, d.Identity)
	}
}

// write brings GitHub to the view. A comment that cannot be made holds up later ones, but
// neither the status nor the labels.
func (m *Mirror) write(ctx context.Context) (next time.Duration, err error) {
	if !m.view.Live() || m.finishing {
		ctx = transport.WithPriority(ctx, transport.PriorityFinishing)
	}
	if m.places.missing() {
		if err := m.places.secondLook(ctx); err != nil {
			return 0, err
		}
	}
	if m.rebuild && !m.off[stepMemory] {
		err := m.places.relocate(ctx, m.recall(ctx))
		if _, later := transport.Later(err); err != nil && !later {
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
		err = m.places.relocate(ctx, err)
		if final(err) || m.places.missing() {
			return 0, err
		}
		if _, later := transport.Later(err); err != nil && !later {
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

// writings are in the order in which people should see them. No comment is made until the
// existing ones are listed, or it might be made twice.
func (m *Mirror) writings() []writing {
	keep := func(ctx context.Context) (time.Duration, error) {
		m.readNoted() // a label follows from a note, too
		return m.labels.keepLabels(ctx)
	}
	labels, verdict := writing{"labels", keep}, writing{"commit status", m.verdictOnCommit}
	if m.rebuild {
		return []writing{labels, verdict}
	}
	return []writing{
		{stepFirstStatus, m.firstStatus}, {"comments", m.comments}, {"closed questions", m.closeAsked}, {"status", m.status},
		labels, verdict, {"twins", m.twins}, {"overtaken comments", m.disown},
	}
}

// turnOff ends one kind of write: the same request would get the same answer until a person
// changes something and starts the host again. The other kinds continue.
func (m *Mirror) turnOff(name string, err error) {
	m.off[name] = true
	m.failed(err)
	m.o.Log.Error("mirror gives up", "session", m.view.Identity.Session, "what", name, "err", *m.st.LastError)
}

// after notes the result of a pass and says when the next one is due.
func (m *Mirror) after(next time.Duration, err error) time.Duration {
	m.refused = nil
	if err == nil {
		m.failures, m.notBefore = 0, time.Time{}
		m.reached()
		if next > 0 {
			return min(next, m.o.Pace.Scan)
		}
		m.settle()
		return m.o.Pace.Scan
	}
	m.failed(err)
	if transport.IsAway(err) {
		m.refused = err
	}
	wait, _ := transport.Later(err)
	m.failures++
	m.missed()
	pause := m.o.Pace.Backoff * time.Duration(min(1<<min(m.failures-1, 10), maxBackoffs))
	pause = max(pause, wait)
	if errors.As(err, new(*transport.Unsent)) && m.failures == 1 {
		pause = 0
	}
	m.o.Log.Warn("mirror is behind", "session", m.view.Identity.Session, "attempt", m.failures, "wait", pause.Round(time.Second).String(), "err", *m.st.LastError)
	m.notBefore = m.o.Now().Add(pause)
	return pause
}
