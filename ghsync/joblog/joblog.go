// Package joblog reads the end of the log of a job of GitHub Actions, which lies on another host than
// the API. It is the one exception of a client's rule to speak with the API's origin alone.
//
// The API is asked as always. Where it sends the reader elsewhere, one plain request follows: to https
// hosts that the server is known to keep logs on, without token, cookie or anything else of the first
// request, and without a repetition or a further redirect. What such an address lets in is not in
// any error.
package joblog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	// MaxTail is the most that Tail returns.
	MaxTail = 1 << 20
	// maxRead bounds what is read of a host that does not send the end alone.
	maxRead      = 32 << 20
	readTime     = 60 * time.Second
	maxRedirects = 3
)

// ElsewhereError says that a log lies on another host and was not read there.
type ElsewhereError struct {
	Host string
	Err  error
}

func (e *ElsewhereError) Error() string { return fmt.Sprintf("read from %s: %v", e.Host, e.Err) }

func (e *ElsewhereError) Unwrap() error { return e.Err }

var (
	errNotListed = errors.New("refused: not a host of this server's logs")
	errAddress   = errors.New("the address cannot be used")
	errEncoded   = errors.New("the answer is compressed")
	errTooLarge  = errors.New("larger than 32 MiB")
)

// unknownHost is named instead of that of an address that cannot be read.
const unknownHost = "an unknown host"

// Tail returns the end of a log at a path below the API's base, at most MaxTail bytes, and whether
// something before it was left out. Its errors are those of transport, and an *ElsewhereError.
func Tail(ctx context.Context, s *transport.Stack, path string) (text []byte, cut bool, err error) {
	target, err := s.API.Parse(path)
	if err != nil {
		return nil, false, fmt.Errorf("make request: %w", err)
	}
	for range maxRedirects + 1 { // after a rename the API sends to itself first
		var next string
		if text, next, err = ask(ctx, s, target); err != nil || next == "" {
			return text[max(0, len(text)-MaxTail):], len(text) > MaxTail, err
		}
		if target, err = target.Parse(next); err != nil {
			return nil, false, &ElsewhereError{Host: unknownHost, Err: errAddress}
		}
		if !isBelow(s.API, target) {
			text, cut, err = elsewhere(ctx, s, target)
			if err != nil && ctx.Err() == nil {
				err = &ElsewhereError{Host: target.Host, Err: err}
			}
			return text, cut, err
		}
	}
	return nil, false, &transport.Moved{Location: target.Redacted()}
}

// ask asks the API. next is where a redirect leads; what is not one is bounded by the stack.
func ask(ctx context.Context, s *transport.Stack, target *url.URL) (text []byte, next string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("make request: %w", err)
	}
	resp, err := s.Client().Transport.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusMultipleChoices {
		text, err = io.ReadAll(resp.Body)
		return text, "", err
	}
	if next = resp.Header.Get("Location"); next == "" {
		err = &ElsewhereError{Host: unknownHost, Err: errAddress}
	}
	return nil, next, err
}

// isBelow reports whether an address is one of the API.
func isBelow(api, u *url.URL) bool {
	return u.User == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Hostname(), api.Hostname()) && port(u) == port(api) && strings.HasPrefix(u.Path, api.Path)
}

// port is the one of an address, also where it is left out.
func port(u *url.URL) string {
	if p := u.Port(); p != "" || u.Scheme != "https" {
		return p
	}
	return "443"
}

// hosts are the domains below which GitHub keeps the logs of jobs.
var hosts = []string{".actions.githubusercontent.com", ".blob.core.windows.net"}

// keepsLogs reports whether a server may keep logs at an address. A server that is not run by GitHub
// keeps them on its own host, or in a storage that only its owner knows, which is not read. An
// address with a name or a password is refused: they would be sent.
func keepsLogs(s *transport.Stack, u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(host)) {
		return false
	}
	if (transport.Addresses{API: s.API.String(), GraphQL: s.GraphQL.String(), Server: s.Server.String()}).Enterprise() {
		return strings.EqualFold(host, s.Server.Hostname()) || strings.EqualFold(host, s.API.Hostname())
	}
	if u.Scheme != "https" || port(u) != "443" {
		return false
	}
	for _, domain := range hosts {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}

// isLoopback is for servers of this machine, whose API may be plain http, too.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// elsewhere makes the plain request. Its errors do not have the address.
func elsewhere(ctx context.Context, s *transport.Stack, target *url.URL) (text []byte, cut bool, err error) {
	if !keepsLogs(s, target) {
		return nil, false, errNotListed
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, false, errAddress
	}
	req.Header = http.Header{"User-Agent": {"agentmux"}, "Range": {"bytes=-" + strconv.Itoa(MaxTail)}, "Accept-Encoding": {"identity"}}
	resp, err := s.Options.HTTP.RoundTrip(req)
	if err != nil {
		return nil, false, transport.Plain(err)
	}
	defer resp.Body.Close()
	switch encoding := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent:
		return nil, false, fmt.Errorf("status %d", resp.StatusCode)
	case encoding != "" && encoding != "identity":
		return nil, false, errEncoded
	}
	text, before, err := lastOf(resp.Body)
	partial := resp.StatusCode == http.StatusPartialContent && !strings.HasPrefix(resp.Header.Get("Content-Range"), "bytes 0-")
	return text, before || partial, err
}

// lastOf reads to the end and keeps the last MaxTail bytes. A host that knows no ranges sends all.
func lastOf(body io.Reader) (text []byte, cut bool, err error) {
	body = io.LimitReader(body, maxRead+1)
	buffer := make([]byte, 0, 64<<10)
	chunk := make([]byte, 64<<10)
	for total := 0; ; {
		n, err := body.Read(chunk)
		buffer = append(buffer, chunk[:n]...)
		total += n
		if len(buffer) > 2*MaxTail {
			buffer = append(buffer[:0], buffer[len(buffer)-MaxTail:]...)
		}
		switch {
		case total > maxRead:
			return nil, false, errTooLarge
		case errors.Is(err, io.EOF):
			return buffer[max(0, len(buffer)-MaxTail):], total > MaxTail, nil
		case err != nil:
			return nil, false, err
		}
	}
}
