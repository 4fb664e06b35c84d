package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// tokenLife is how long GitHub lets a token live; a later end is a clock that is wrong.
	tokenLife = time.Hour
	// mintEarly is how long before its end a token is replaced; one of a shorter life after
	// five sixths of it.
	mintEarly = tokenLife / 6
	// mintTime bounds one mint with its repetitions.
	mintTime = 2 * time.Minute
	// awayPause is how long after a refusal no other mint is asked for: each of many calls would.
	// It doubles with each refusal up to maxAwayPause.
	awayPause    = 30 * time.Second
	maxAwayPause = 2 * time.Minute
)

// A Mint makes a token and says how long it lives. Its error is an *Away if the server refuses
// to make one. It is called by one goroutine at a time.
type Mint func(ctx context.Context) (token redact.Secret, life time.Duration, err error)

// Minted is a source of tokens that a server makes for an App. It keeps each until it is fifty
// minutes old or refused. At most one mint is in flight; who else needs a token waits for it as
// long as their context lets them.
type Minted struct {
	mint  Mint
	now   func() time.Time
	bound origins

	mu      sync.Mutex // never held while waiting
	token   redact.Secret
	ends    time.Time     // the end of token by our clock
	early   time.Duration // before ends
	away    error         // of the last mint; nil if it was not refused
	awayEnd time.Time     // no mint before
	pause   time.Duration
	turn    *turn // nil: no caller has it
}

// turn is the right to mint, and for the others what came of it.
type turn struct {
	done  chan struct{} // closed when token and err are set
	token *oauth2.Token
	err   error
}

// NewMinted makes a source of tokens for the addresses of one server. It sends nothing.
func NewMinted(mint Mint, now func() time.Time, at ...string) *Minted {
	return &Minted{mint: mint, now: now, bound: originsOf(at...)}
}

// Mode is ModeApp.
func (m *Minted) Mode() Mode { return ModeApp }

// Serves reports whether an address is of the server that makes the tokens.
func (m *Minted) Serves(address string) bool { return m.bound.has(address) }

// Token returns the token in use, or mints one, or waits for the one that is being minted. It
// returns when ctx ends at the latest.
func (m *Minted) Token(ctx context.Context) (redact.Secret, error) {
	token, err := m.For(ctx).Token()
	if err != nil {
		return redact.Secret{}, err
	}
	return redact.NewSecret(token.AccessToken), nil
}

// For returns the tokens of Token as oauth2 knows them.
func (m *Minted) For(ctx context.Context) oauth2.TokenSource {
	return sourceFunc(func() (*oauth2.Token, error) {
		for {
			t, mine := m.take()
			if mine {
				m.reuse(ctx, t)
				return t.token, t.err
			}
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for an installation token: %w", ctx.Err())
			case <-t.done:
			}
			if !errors.Is(t.err, context.Canceled) && !errors.Is(t.err, context.DeadlineExceeded) {
				return t.token, t.err
			}
			// Who minted gave up, which says nothing about us.
		}
	})
}

// take returns the turn, and whether it is ours.
func (m *Minted) take() (t *turn, ours bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turn != nil {
		return m.turn, false
	}
	m.turn = &turn{done: make(chan struct{})}
	return m.turn, true
}

// reuse ends our turn with the token in use or, near its end, with one minted for everybody
// who waits. oauth2 decides which; its own lock would hold who waits beyond their context,
// so the source that it wraps is of this turn alone.
func (m *Minted) reuse(ctx context.Context, t *turn) {
	renew := sourceFunc(func() (*oauth2.Token, error) { return m.renew(ctx) })
	token, err := oauth2.ReuseTokenSourceWithExpiry(m.held(), renew, m.margin()).Token()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.token, t.err = token, err
	m.turn = nil
	close(t.done)
}

// held is the token in use. oauth2 reads the clock of the process, and gets the end of the
// token as far away as our clock has it.
func (m *Minted) held() *oauth2.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &oauth2.Token{AccessToken: m.token.Reveal(), Expiry: time.Now().Add(m.ends.Sub(m.now()))}
}

// margin is how long before its end the token in use is replaced.
func (m *Minted) margin() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.early
}

// renew mints a token and keeps it.
func (m *Minted) renew(ctx context.Context) (*oauth2.Token, error) {
	if err := m.refusedJustNow(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, mintTime)
	defer cancel()
	token, life, err := m.mint(ctx)
	m.mu.Lock()
	// Without its monotonic part: a machine that slept has a clock that tells.
	now := m.now().Round(0)
	if m.away = nil; IsAway(err) {
		m.pause = min(max(2*m.pause, awayPause), maxAwayPause)
		m.away, m.awayEnd = err, now.Add(m.pause)
	}
	if err == nil {
		m.pause = 0
		life = min(life, tokenLife)
		m.token, m.ends, m.early = token, now.Add(life), min(life/6, mintEarly)
	}
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return m.held(), nil
}

// refusedJustNow returns the refusal of a mint that is not asked for again yet.
func (m *Minted) refusedJustNow() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil && m.now().Before(m.awayEnd) {
		return m.away
	}
	return nil
}

// Expire drops the token in use if that is the one that was refused.
func (m *Minted) Expire(refused redact.Secret) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if refused.Reveal() == m.token.Reveal() {
		m.token = redact.Secret{}
	}
	return true
}
