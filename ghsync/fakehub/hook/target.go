// Package hook sends webhook deliveries as GitHub does, signed by a shared secret, and loses,
// doubles, delays and reorders them as it is told.
//
// A Target sends one delivery after the other from a goroutine that Close ends. Nothing is
// stored and nothing is sent again.
package hook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Spec describes where deliveries go and what becomes of them on the way. The caller draws
// the probabilities.
type Spec struct {
	URL, Secret string
	// Drop, Double and BadSignature are probabilities; SHA1Only sends no SHA-256 signature.
	Drop, Double, BadSignature float64
	SHA1Only                   bool
	// Window holds so many deliveries back and sends them in random order.
	Window int
	Delay  time.Duration
	// HTTP sends the deliveries; nil is the network.
	HTTP http.RoundTripper
}

// Target owns one goroutine that sends, one delivery after the other.
type Target struct {
	Spec
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{}

	mu     sync.Mutex
	queue  []Delivery
	busy   bool
	flush  bool
	result []int // statuses answered, 0 for no answer
}

// Delivery is one event for a target.
type Delivery struct {
	ID, Event    string
	Body         []byte
	BadSignature bool
}

// Start starts a target; Close ends it.
func Start(spec Spec) *Target {
	ctx, cancel := context.WithCancel(context.Background())
	t := &Target{Spec: spec, ctx: ctx, cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go t.run()
	return t
}

// Close ends the target without what it has not sent, and waits for the delivery under way.
func (t *Target) Close() {
	t.cancel()
	<-t.done
}

// Results returns the statuses that deliveries were answered with so far, 0 for no answer. A
// window holds deliveries back again from then on.
func (t *Target) Results() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush = false
	return slices.Clone(t.result)
}

// Idle reports whether everything is delivered. It also lets go what a window holds back.
func (t *Target) Idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush = true
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return len(t.queue) == 0 && !t.busy
}

// Add puts copies of a delivery at a place of the window that is drawn.
func (t *Target) Add(d Delivery, copies, draw int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range copies {
		at := len(t.queue)
		if span := min(at, t.Window); span > 0 {
			at -= draw % (span + 1)
		}
		t.queue = append(t.queue[:at:at], append([]Delivery{d}, t.queue[at:]...)...)
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *Target) run() {
	defer close(t.done)
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-t.wake:
		}
		for d, more := t.next(); more; d, more = t.next() {
			status := t.send(d)
			t.mu.Lock()
			t.result, t.busy = append(t.result, status), false
			t.mu.Unlock()
		}
	}
}

// next takes the first delivery, unless the window holds it.
func (t *Target) next() (Delivery, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 || (len(t.queue) <= t.Window && !t.flush) || t.ctx.Err() != nil {
		return Delivery{}, false
	}
	d := t.queue[0]
	t.queue, t.busy = t.queue[1:], true
	return d, true
}

func (t *Target) send(d Delivery) int {
	if t.Delay > 0 {
		timer := time.NewTimer(t.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-t.ctx.Done():
			return 0
		}
	}
	ctx, cancel := context.WithTimeout(t.ctx, 10*time.Second) // GitHub gives up then
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(d.Body))
	if err != nil {
		return 0
	}
	secret := t.Secret
	if d.BadSignature {
		secret += "x"
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "GitHub-Hookshot/fakehub")
	req.Header.Set("X-GitHub-Event", d.Event)
	req.Header.Set("X-GitHub-Delivery", d.ID)
	req.Header.Set("X-Hub-Signature", "sha1="+sign(sha1.New, secret, d.Body))
	if !t.SHA1Only {
		req.Header.Set("X-Hub-Signature-256", "sha256="+sign(sha256.New, secret, d.Body))
	}
	resp, err := (&http.Client{Transport: t.HTTP}).Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close() // nothing is read from it
	return resp.StatusCode
}

func sign(algorithm func() hash.Hash, secret string, body []byte) string {
	mac := hmac.New(algorithm, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
