package sight

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	askFor = 20 * time.Second // how long a server is asked
	holds  = time.Hour        // how long its answer is believed
)

// Tokens asks a server what tokens, which are not those of the account, let their holders read. It is safe for
// concurrent use, and keeps digests alone.
type Tokens struct {
	at   transport.Addresses
	now  func() time.Time
	mu   sync.Mutex
	seen map[[sha256.Size]byte]read
}

type read struct {
	repository string
	at         time.Time
}

// TokensAt asks the server at these addresses. now may be nil: time.Now.
func TokensAt(at transport.Addresses, now func() time.Time) *Tokens {
	if now == nil {
		now = time.Now
	}
	return &Tokens{at: at, now: now, seen: map[[sha256.Size]byte]read{}}
}

// Private names a private repository that a token can read. Empty means that it reads none, that it may not list any,
// or that the server does not know it. What was answered holds for an hour.
func (t *Tokens) Private(ctx context.Context, token string) (string, error) {
	key := sha256.Sum256([]byte(token))
	t.mu.Lock()
	last, ok := t.seen[key]
	t.mu.Unlock()
	if ok && t.now().Sub(last.at) < holds {
		return last.repository, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	name, err := t.ask(ctx, token)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[key] = read{name, t.now()}
	return name, nil
}

func (t *Tokens) ask(ctx context.Context, token string) (string, error) {
	c, err := ghsync.New(transport.Options{
		APIURL: t.at.API, GraphQLURL: t.at.GraphQL, ServerURL: t.at.Server,
		Token: transport.StaticToken(transport.ModeToken, redact.NewSecret(token), t.at),
	})
	if err != nil {
		return "", err
	}
	type repository struct {
		Name    string `json:"full_name"`
		Private bool   `json:"private"`
	}
	var list []repository
	if strings.HasPrefix(token, "ghs_") { // of an installation, which has no list of its own
		var page struct {
			Repositories []repository `json:"repositories"`
		}
		err = c.Read(ctx, "installation/repositories?per_page=100", &page)
		list = page.Repositories
	} else {
		err = c.Read(ctx, "user/repos?visibility=private&per_page=100", &list)
	}
	for _, r := range list {
		if r.Private {
			return r.Name, nil
		}
	}
	if isHidden(err) || transport.IsAway(err) {
		return "", nil
	}
	return "", err
}
