package ear_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
)

// late hides one comment from the list of all, as a replica that has newer ones, but not yet that.
type late struct {
	id   atomic.Int64 // 0: none is hidden
	next http.RoundTripper
}

func (l *late) RoundTrip(req *http.Request) (*http.Response, error) {
	id := l.id.Load()
	if id == 0 || !strings.HasSuffix(req.URL.Path, "/issues/comments") {
		return l.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Del("If-None-Match") // that of the server is of the whole list
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var list []map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, err
	}
	body, err := json.Marshal(slices.DeleteFunc(list, func(c map[string]any) bool { return c["id"] == float64(id) }))
	resp.Header.Del("Etag")
	resp.Header.Del("Content-Length")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, err
}

// A command that the list shows after a newer one, or that it shows, loses and shows again, is carried out, and once: by
// a bot, and by a command that runs one session.
func TestGitHub56ACommentThatIsListedLate(t *testing.T) {
	for name, listens := range map[string]bool{"a bot": false, "a listener": true} {
		t.Run(name, func(t *testing.T) {
			s, hidden := newScene(t), &late{next: http.DefaultTransport}
			s.client = s.through(botLogin, hidden)
			s.restart()
			s.start()
			look := s.hear
			if listens {
				l := s.listener(ear.One{})
				look = func() { s.look(l) }
			}
			first := s.comment("/agentmux pause", "wil")
			hidden.id.Store(first)
			s.pass(2 * time.Second)
			second := s.comment("/agentmux say planner look", "max")
			look()
			s.want(first, "", "")
			s.want(second, "eyes", "")
			hidden.id.Store(0)
			s.pass(time.Minute)
			look()
			s.want(first, "eyes +1", "")
			hidden.id.Store(first)
			look()
			hidden.id.Store(0)
			s.pass(time.Minute)
			look()
			got := s.commands()
			if len(got) != 2 || got[1].SourceID != fmt.Sprint("comment/", first) || !s.st.Paused {
				t.Errorf("commands %+v, paused %v", got, s.st.Paused)
			}
		})
	}
}
