package account_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/redact"
)

// wire answers for a GitHub whose owners each have an installation of the App, by one that says
// what becomes of a read.
type wire struct {
	read           func(ctx context.Context, owner string) (*http.Response, error)
	onTheWay, most atomic.Int32
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.answer(req)
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

func (w *wire) answer(req *http.Request) (*http.Response, error) {
	now := w.onTheWay.Add(1)
	defer w.onTheWay.Add(-1)
	for old := w.most.Load(); now > old && !w.most.CompareAndSwap(old, now); old = w.most.Load() {
	}
	path := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(path) < 2:
		return respond(404, `{"message":"Not Found"}`)
	case strings.HasSuffix(req.URL.Path, "/installation"):
		return respond(200, fmt.Sprintf(`{"id":%d,"permissions":{"contents":"write"}}`, path[1][0]))
	case strings.HasSuffix(req.URL.Path, "/access_tokens"):
		return respond(201, fmt.Sprintf(`{"token":"ghs_%s%s","expires_at":%q}`, path[2], strings.Repeat("x", 40), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	}
	return w.read(req.Context(), path[1])
}

func respond(status int, body string, header ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// on opens the accounts of owners a, b, c... whose server is w.
func (w *wire) on(t *testing.T, c *config.Config, owners int) []account.Account {
	t.Helper()
	var all []account.Account
	b, err := account.Open(account.BookSpec{Config: c, Tokens: &account.Tokens{GH: noGH}, Redactor: redact.New(), HTTP: w})
	if err != nil {
		t.Fatal(err)
	}
	for i := range owners {
		a, err := b.For(t.Context(), ghsync.Repo{Owner: string(rune('a' + i)), Name: "widgets"})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// Five installations are at their limit with as many calls as they may have on their way, more
// than the process may have: the sixth does not wait.
func TestGitHub86AnInstallationAtItsLimitDelaysNoOther(t *testing.T) {
	var free atomic.Bool
	w := &wire{read: func(_ context.Context, owner string) (*http.Response, error) {
		if owner != "f" && !free.Load() {
			return respond(429, `{"message":"secondary rate limit"}`, "Retry-After", "50")
		}
		return respond(200, `{"id":1,"name":"widgets","owner":{"login":"`+owner+`"},"full_name":"`+owner+`/widgets"}`)
	}}
	c := load(t, "version: 2\n"+newOffice(t).asApp())
	synctest.Test(t, func(t *testing.T) {
		accounts := w.on(t, c, 6)
		start := time.Now()
		done := make(chan error, 20)
		for i := range 20 {
			owner := string(rune('a' + i%5))
			go func() {
				_, err := accounts[i%5].Client.Repository(t.Context(), owner, "widgets")
				done <- err
			}()
		}
		synctest.Wait()
		if _, err := accounts[5].Client.Repository(t.Context(), "f", "widgets"); err != nil || time.Since(start) > 0 {
			t.Errorf("the other installation waited %s: %v", time.Since(start), err)
		}
		free.Store(true)
		for range 20 {
			if err := <-done; err != nil {
				t.Errorf("after the limit: %v", err)
			}
		}
	})
}

// Of all identities together sixteen requests are on their way, and each has at most four of them.
func TestSixteenRequestsOfAProcessAreOnTheirWay(t *testing.T) {
	free := make(chan struct{})
	w := &wire{}
	w.read = func(ctx context.Context, owner string) (*http.Response, error) {
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return respond(200, `{"id":1,"name":"widgets","owner":{"login":"`+owner+`"},"full_name":"`+owner+`/widgets"}`)
	}
	c := load(t, "version: 2\n"+newOffice(t).asApp())
	synctest.Test(t, func(t *testing.T) {
		free = make(chan struct{})
		accounts := w.on(t, c, 6)
		done := make(chan error, 48)
		for i := range 48 {
			owner := string(rune('a' + i%6))
			go func() {
				_, err := accounts[i%6].Client.Repository(t.Context(), owner, "widgets")
				done <- err
			}()
		}
		synctest.Wait()
		if n := w.onTheWay.Load(); n != 16 {
			t.Errorf("%d requests are on their way", n)
		}
		close(free)
		for range 48 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := w.most.Load(); n != 16 {
			t.Errorf("%d requests were on their way at once", n)
		}
	})
}
