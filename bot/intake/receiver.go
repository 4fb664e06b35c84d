package intake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/intake/delivery"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// maxBody is GitHub's own limit of a delivery.
	maxBody = 25 << 20
	// maxBodies bounds how many bodies are read at a time, and so what strangers can make us hold.
	maxBodies  = 64
	copyBuffer = 32 << 10
)

// Events are those that wake a poller.
func Events() []string {
	return []string{
		"issues", "issue_comment", "pull_request", "pull_request_review", "check_suite", "repository", "installation", "installation_repositories",
	}
}

// Hook is a delivery whose signature is valid. It says that something may have changed, and no more.
type Hook struct {
	Event, Delivery string
	RepoID          int64  // 0 for an event of no repository
	Repo            string // owner/name, as the delivery has it
}

// ReceiverOptions are what a Receiver needs. Secrets and Wake are required.
type ReceiverOptions struct {
	Secrets []redact.Secret // any of them signs a delivery
	// Wake is called for each event of Events and must not block. It reports whether the
	// repository is one of ours.
	Wake func(Hook) bool
	Now  func() time.Time
	Log  *slog.Logger
}

// Receiver is the handler of webhooks. It checks method, headers, size and signature, in this
// order, and answers 202 to what passes. It is safe for concurrent use and holds nothing of a body.
type Receiver struct {
	o       ReceiverOptions
	reading chan struct{} // has a value for each body that is read
	buffers sync.Pool

	mu    sync.Mutex
	facts ReceiverFacts
}

// ReceiverFacts count what became of deliveries.
type ReceiverFacts struct {
	Accepted int         // 202
	Woke     int         // of them, those that woke a poller
	Dropped  int         // of them, those that are not ours: another event or repository
	Refused  map[int]int // by status
	Last     time.Time   // the last that was accepted
}

// NewReceiver returns the handler. Without a secret it refuses everything.
func NewReceiver(o ReceiverOptions) *Receiver {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Secrets = slices.DeleteFunc(slices.Clone(o.Secrets), redact.Secret.IsZero) // everybody knows this one
	r := &Receiver{o: o, reading: make(chan struct{}, maxBodies), facts: ReceiverFacts{Refused: map[int]int{}}}
	r.buffers.New = func() any { return new([copyBuffer]byte) }
	return r
}

// Facts returns the counts since the start.
func (r *Receiver) Facts() ReceiverFacts {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.facts
	f.Refused = maps.Clone(f.Refused)
	return f
}

// ServeHTTP takes one delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	hook, status := r.receive(w, req)
	switch status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "60")
	case 0: // there is no one to answer
		r.count(func(f *ReceiverFacts) { f.Refused[0]++ })
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	if status != http.StatusAccepted {
		r.count(func(f *ReceiverFacts) { f.Refused[status]++ })
		r.o.Log.Debug("a delivery is refused", "status", status)
		return
	}
	woke := slices.Contains(Events(), hook.Event) && r.o.Wake(hook)
	r.count(func(f *ReceiverFacts) {
		f.Accepted++
		f.Last = r.o.Now()
		if woke {
			f.Woke++
		} else {
			f.Dropped++
		}
	})
}

func (r *Receiver) count(f func(*ReceiverFacts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.facts)
}

// receive returns the status to answer with; 0 means that the sender is gone, or too slow.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (Hook, int) {
	if req.Method != http.MethodPost {
		return Hook{}, http.StatusMethodNotAllowed
	}
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Hook{}, http.StatusUnsupportedMediaType
	}
	event, signature := req.Header.Values("X-GitHub-Event"), req.Header.Values("X-Hub-Signature-256")
	if len(event) != 1 || event[0] == "" || len(signature) != 1 {
		return Hook{}, http.StatusBadRequest
	}
	signed, ok := parseSignature(signature[0])
	if !ok {
		return Hook{}, http.StatusBadRequest
	}
	if req.ContentLength > maxBody {
		return Hook{}, http.StatusRequestEntityTooLarge
	}
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	default:
		return Hook{}, http.StatusServiceUnavailable
	}
	found, valid, err := r.read(http.MaxBytesReader(w, req.Body, maxBody), signed)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return Hook{}, http.StatusRequestEntityTooLarge
	case err != nil:
		return Hook{}, 0
	case !valid:
		return Hook{}, http.StatusForbidden
	}
	return Hook{Event: event[0], Delivery: req.Header.Get("X-GitHub-Delivery"), RepoID: found.ID, Repo: found.Name}, http.StatusAccepted
}

// parseSignature reads sha256= and 64 hexadecimal digits. There is no other algorithm.
func parseSignature(text string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(text, "sha256=")
	if !ok || len(digits) != hex.EncodedLen(sha256.Size) {
		return nil, false
	}
	sum, err := hex.DecodeString(digits)
	return sum, err == nil
}

// read passes a body through the signatures of all secrets and through the scanner, and reports
// whether one of the signatures is the given one.
func (r *Receiver) read(body io.Reader, signed []byte) (found delivery.Scanner, valid bool, err error) {
	writers, macs := []io.Writer{&found}, []hash.Hash{}
	for _, secret := range r.o.Secrets {
		mac := hmac.New(sha256.New, []byte(secret.Reveal()))
		writers, macs = append(writers, mac), append(macs, mac)
	}
	buffer := r.buffers.Get().(*[copyBuffer]byte)
	defer r.buffers.Put(buffer)
	if _, err := io.CopyBuffer(io.MultiWriter(writers...), body, buffer[:]); err != nil {
		return delivery.Scanner{}, false, err
	}
	for _, mac := range macs {
		if hmac.Equal(mac.Sum(nil), signed) {
			valid = true
		}
	}
	return found, valid, nil
}
