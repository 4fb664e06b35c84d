package intake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
)

// pipes is a listener of connections in memory, in whose time a bubble moves.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), ended: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

// serving runs f with a server of webhooks in a bubble.
func serving(t *testing.T, f func(*testing.T, *received, *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, p := receive(secret), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- intake.Serve(ctx, p, r.Receiver, slog.New(slog.DiscardHandler)) }()
		f(t, r, p)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

// closed reads an answer until the server closes the connection.
func closed(c net.Conn) <-chan string {
	all := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(c)
		all <- string(data)
	}()
	return all
}

// trickle writes a byte each second until that fails, and returns how to wait for that.
func trickle(c net.Conn, text string) (wait func()) {
	var done sync.WaitGroup
	done.Go(func() {
		for i := range len(text) {
			if _, err := c.Write([]byte{text[i]}); err != nil {
				return
			}
			<-time.After(time.Second)
		}
	})
	return done.Wait
}

const head = "POST /webhook HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\nX-Hub-Signature-256: "

// length is the last line of a header with issueBody.
var length = fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(issueBody))

// A sender that is slow is cut off: after five seconds without a whole header, after thirty
// without a whole body, and nothing is woken.
func TestGitHub31SlowSendersAreCutOff(t *testing.T) {
	signed := signature(secret, []byte(issueBody))
	for name, c := range map[string]struct {
		first, slow string
		after       time.Duration
	}{
		"nothing":         {"", "", 5 * time.Second},
		"a slow header":   {"", head + signed + "\r\n\r\n", 5 * time.Second},
		"half a header":   {head, "", 5 * time.Second},
		"a slow body":     {head + signed + length, issueBody, 30 * time.Second},
		"no body":         {head + signed + length, "", 30 * time.Second},
		"a slow chunk":    {head + signed + "\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n", issueBody, 30 * time.Second},
		"a slow bad body": {head + strings.Replace(signed, "sha256=", "sha256=0", 1)[:71] + length, issueBody, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			serving(t, func(t *testing.T, r *received, p *pipes) {
				conn, began := p.dial(), time.Now()
				answer := closed(conn)
				if c.first != "" {
					if _, err := io.WriteString(conn, c.first); err != nil {
						t.Fatal(err)
					}
				}
				ended := trickle(conn, c.slow)
				got := <-answer
				if took := time.Since(began); took < c.after-time.Second || took > c.after+2*time.Second {
					t.Errorf("closed after %s, want %s", took, c.after)
				}
				if strings.Contains(got, " 202 ") || len(r.hooks) > 0 {
					t.Errorf("answer %q, hooks %+v", got, r.hooks)
				}
				conn.Close()
				ended()
			})
		})
	}
}

// Of connections that say nothing only so many are held. Another one waits and is served.
func TestSecurity22ConnectionsAreBounded(t *testing.T) {
	serving(t, func(t *testing.T, r *received, p *pipes) {
		const most = 256
		began := time.Now()
		var silent []net.Conn
		for range most {
			silent = append(silent, p.dial())
		}
		answered := make(chan string)
		go func() {
			conn := p.dial()
			answer := closed(conn)
			_, _ = io.WriteString(conn, head+signature(secret, []byte(issueBody))+"\r\nConnection: close"+length+issueBody)
			answered <- <-answer
			conn.Close()
		}()
		if got := <-answered; !strings.Contains(got, " 202 ") || len(r.hooks) != 1 {
			t.Errorf("answer %q, hooks %+v", got, r.hooks)
		}
		if took := time.Since(began); took < 4*time.Second || took > 10*time.Second {
			t.Errorf("a delivery behind %d connections was taken after %s", most, took)
		}
		for _, c := range silent {
			c.Close()
		}
	})
}

// Headers have a limit of 16 KiB.
func TestSecurity22HeadersHaveALimit(t *testing.T) {
	signed := signature(secret, []byte(issueBody))
	for size, status := range map[int]string{16 << 10: " 202 ", 16<<10 + 1: " 431 ", 1 << 20: " 431 "} {
		serving(t, func(t *testing.T, _ *received, p *pipes) {
			conn := p.dial()
			answer := closed(conn)
			text := head + signed + "\r\nConnection: close" + strings.TrimSuffix(length, "\r\n") + "X-Filler: "
			text += strings.Repeat("x", size-len(text)-4) + "\r\n\r\n"
			go func() { _, _ = io.WriteString(conn, text+issueBody) }()
			if got := <-answer; !strings.Contains(got, status) || len(text) != size {
				t.Errorf("a header of %d bytes: %q", len(text), got)
			}
			conn.Close()
			synctest.Wait()
		})
	}
}

// Only the address of the webhook is served; the end lets deliveries finish that were begun.
func TestTheServerEndsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := receive(secret), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- intake.Serve(ctx, p, r.Receiver, slog.New(slog.DiscardHandler)) }()
		elsewhere := p.dial()
		go func() { _, _ = io.WriteString(elsewhere, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") }()
		if got := <-closed(elsewhere); !strings.Contains(got, " 404 ") {
			t.Errorf("another path: %q", got)
		}
		elsewhere.Close()
		begun := p.dial()
		answer := closed(begun)
		if _, err := io.WriteString(begun, head+signature(secret, []byte(issueBody))+length+issueBody[:50]); err != nil {
			t.Fatal(err)
		}
		stuck := p.dial()
		if _, err := io.WriteString(stuck, head); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		<-time.After(time.Second)
		if _, err := io.WriteString(begun, issueBody[50:]); err != nil {
			t.Fatal(err)
		}
		if got := <-answer; !strings.Contains(got, " 202 ") || len(r.hooks) != 1 {
			t.Errorf("a delivery that was begun: %q, hooks %+v", got, r.hooks)
		}
		began := time.Now()
		if err := <-done; err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("ended after %s: %v", time.Since(began), err)
		}
		stuck.Close()
	})
}

// Without a host the address is one of this machine.
func TestListenIsLoopbackUnlessToldOtherwise(t *testing.T) {
	for _, addr := range []string{"0", ":0", "127.0.0.1:0", "localhost:0"} {
		l, err := intake.Listen(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addr().(*net.TCPAddr); !got.IP.IsLoopback() {
			t.Errorf("%s listens at %s", addr, got)
		}
		l.Close()
	}
	for _, addr := range []string{"", ":", "a:b:c", "127.0.0.1:"} {
		if l, err := intake.Listen(t.Context(), addr); err == nil {
			l.Close()
			t.Errorf("%q is an address", addr)
		}
	}
	l, err := intake.Listen(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if other, err := intake.Listen(t.Context(), l.Addr().String()); err == nil {
		other.Close()
		t.Error("one address twice")
	} else if !errors.As(err, new(*net.OpError)) {
		t.Errorf("%v", err)
	}
}
