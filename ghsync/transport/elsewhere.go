package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// MaxTail is the most that Tail returns.
const MaxTail = 1 << 20

// ElsewhereError says that a document lies on another host and was not read there. Its text has
// neither path nor query of the address, which may let in everybody who knows it.
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
)

// Tail returns the end of a text below the API's base, at most MaxTail bytes, and whether something
// before it was left out. It is for the logs of jobs, which lie on another host: the redirect there
// is the one exception of pin. It is followed by one plain request, to a host of logsOf alone, that
// bears no token and no cookie and is not repeated; its failure is an *ElsewhereError.
func (s *Stack) Tail(ctx context.Context, path string) (text []byte, cut bool, err error) {
	target, err := s.API.Parse(path)
	if err != nil {
		return nil, false, fmt.Errorf("make request: %w", err)
	}
	for range maxRedirects + 1 { // after a rename the API sends to itself first
		var next string
		if text, next, err = s.once(ctx, target); err != nil || next == "" {
			return text[max(0, len(text)-MaxTail):], len(text) > MaxTail, err
		}
		if target, err = target.Parse(next); err != nil {
			return nil, false, &ElsewhereError{Host: "an unknown host", Err: errAddress}
		}
		if origin(target) != origin(s.API) || !strings.HasPrefix(target.Path, s.API.Path) {
			text, cut, err = s.elsewhere(ctx, target)
			if err != nil && ctx.Err() == nil {
				err = &ElsewhereError{Host: target.Host, Err: err}
			}
			return text, cut, err
		}
	}
	return nil, false, &Moved{Location: target.Redacted()}
}

// once asks the API. next is where a redirect leads; the body of what is not one is bounded by pin.
func (s *Stack) once(ctx context.Context, target *url.URL) (text []byte, next string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("make request: %w", err)
	}
	resp, err := s.top.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusMultipleChoices {
		text, err = io.ReadAll(resp.Body)
		return text, "", err
	}
	if next = resp.Header.Get("Location"); next == "" {
		err = &ElsewhereError{Host: "an unknown host", Err: errAddress}
	}
	return nil, next, err
}

// logHosts are the domains below which GitHub keeps the logs of jobs.
var logHosts = []string{".actions.githubusercontent.com", ".blob.core.windows.net"}

// keepsLogs reports whether a server may keep logs at an address. A server that is not run by GitHub
// keeps them on its own host, or in a storage that only its owner knows, which is not read. An
// address with a name or a password is refused: they would be sent.
func (s *Stack) keepsLogs(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(host)) {
		return false
	}
	if (Addresses{API: s.API.String(), GraphQL: s.GraphQL.String(), Server: s.Server.String()}).Enterprise() {
		return strings.EqualFold(host, s.Server.Hostname()) || strings.EqualFold(host, s.API.Hostname())
	}
	if u.Scheme != "https" || originPort(u) != "443" {
		return false
	}
	for _, domain := range logHosts {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}

// elsewhere makes the plain request. Its errors do not have the address.
func (s *Stack) elsewhere(ctx context.Context, target *url.URL) (text []byte, cut bool, err error) {
	if !s.keepsLogs(target) {
		return nil, false, errNotListed
	}
	ctx, cancel := context.WithTimeout(ctx, responseTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, false, errAddress
	}
	req.Header = http.Header{"User-Agent": {"agentmux"}, "Range": {"bytes=-" + strconv.Itoa(MaxTail)}, "Accept-Encoding": {"identity"}}
	resp, err := s.Options.HTTP.RoundTrip(req)
	if err != nil {
		return nil, false, Plain(err)
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
	body = io.LimitReader(body, maxResponse+1)
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
		case total > maxResponse:
			return nil, false, errTooLarge
		case errors.Is(err, io.EOF):
			return buffer[max(0, len(buffer)-MaxTail):], total > MaxTail, nil
		case err != nil:
			return nil, false, err
		}
	}
}
