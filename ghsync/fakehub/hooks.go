package fakehub

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"net/http"
	"sync"
	"time"
)

// HookSpec describes where deliveries go and what becomes of them on the way. The
// probabilities are drawn from the server's seed.
type HookSpec struct {
	URL, Secret string
	// Drop, Double and BadSignature are probabilities; SHA1Only sends no SHA-256 signature.
	Drop, Double, BadSignature float64
	SHA1Only                   bool
	// Window holds so many deliveries back and sends them in random order.
	Window int
	Delay  time.Duration
}

// hookTarget owns one goroutine that sends, one delivery after the other.
type hookTarget struct {
	HookSpec
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{}

	mu     sync.Mutex
	queue  []delivery
	busy   bool
	flush  bool
	result []int // statuses answered, 0 for no answer
}

type delivery struct {
	id, event string
	body      []byte
	bad       bool
}

// SendHooks delivers the events from now on.
func (s *Server) SendHooks(spec HookSpec) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &hookTarget{HookSpec: spec, ctx: ctx, cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.hooks = append(s.hooks, t)
	s.mu.Unlock()
	go t.run()
}

// FlushHooks waits until everything is delivered, what a window holds back too, and
// returns the statuses answered (0 for no answer).
func (s *Server) FlushHooks(ctx context.Context) ([]int, error) {
	s.mu.Lock()
	targets := append([]*hookTarget(nil), s.hooks...)
	s.mu.Unlock()
	var statuses []int
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for _, t := range targets {
		for !t.idle() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return statuses, ctx.Err()
			}
		}
		t.mu.Lock()
		statuses = append(statuses, t.result...)
		t.flush = false
		t.mu.Unlock()
	}
	return statuses, nil
}

// idle also lets a window go.
func (t *hookTarget) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush = true
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return len(t.queue) == 0 && !t.busy
}

func (s *Server) closeHooks() {
	s.mu.Lock()
	targets := s.hooks
	s.hooks = nil
	s.mu.Unlock()
	for _, t := range targets {
		t.cancel()
		<-t.done
	}
}

// emit hands an event to each target; it is called under the server's lock.
func (s *Server) emit(r *repo, event, action string, payload obj) {
	if len(s.hooks) == 0 {
		return
	}
	body := obj{"repository": (&call{Server: s}).repoJSON(r)}
	if action != "" {
		body["action"] = action
	}
	maps.Copy(body, payload)
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("fakehub: encode a delivery: %v", err))
	}
	for _, t := range s.hooks {
		d := delivery{id: fmt.Sprintf("%08x-0000-4000-8000-%012x", s.newID(), s.rand.Uint32()), event: event, body: data}
		d.bad = s.rand.Float64() < t.BadSignature
		if s.rand.Float64() < t.Drop {
			continue
		}
		copies := 1
		if s.rand.Float64() < t.Double {
			copies = 2
		}
		t.add(d, copies, int(s.rand.Uint32()>>1))
	}
}

// add puts a delivery at a place of the window that is drawn.
func (t *hookTarget) add(d delivery, copies, draw int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range copies {
		at := len(t.queue)
		if span := min(at, t.Window); span > 0 {
			at -= draw % (span + 1)
		}
		t.queue = append(t.queue[:at:at], append([]delivery{d}, t.queue[at:]...)...)
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *hookTarget) run() {
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
func (t *hookTarget) next() (delivery, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 || (len(t.queue) <= t.Window && !t.flush) || t.ctx.Err() != nil {
		return delivery{}, false
	}
	d := t.queue[0]
	t.queue, t.busy = t.queue[1:], true
	return d, true
}

func (t *hookTarget) send(d delivery) int {
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(d.body))
	if err != nil {
		return 0
	}
	secret := t.Secret
	if d.bad {
		secret += "x"
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "GitHub-Hookshot/fakehub")
	req.Header.Set("X-GitHub-Event", d.event)
	req.Header.Set("X-GitHub-Delivery", d.id)
	req.Header.Set("X-Hub-Signature", "sha1="+sign(sha1.New, secret, d.body))
	if !t.SHA1Only {
		req.Header.Set("X-Hub-Signature-256", "sha256="+sign(sha256.New, secret, d.body))
	}
	resp, err := http.DefaultClient.Do(req)
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
