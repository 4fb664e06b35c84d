package ghsync_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A server that has one more page each time, and one whose pages are large, are not read for
// ever.
func TestAListWithoutEndIsNotReadOn(t *testing.T) {
	lists := map[string]func(*testing.T, *ghsync.Client) error{
		"labels": func(t *testing.T, c *ghsync.Client) error { _, err := c.Labels(t.Context(), octoWidgets); return err },
		"reviews": func(t *testing.T, c *ghsync.Client) error {
			_, err := (ghsync.Intake{Client: c}).Reviews(t.Context(), octoWidgets, 1)
			return err
		},
		"comments": func(t *testing.T, c *ghsync.Client) error {
			_, err := (ghsync.Comments{Client: c}).Since(t.Context(), octoWidgets, 1, sceneStart)
			return err
		},
	}
	for name, read := range lists {
		for kind, most := range map[string]int{"pages": 100, "bytes": 5, "circle": 2} {
			if kind == "bytes" && name != "comments" {
				continue // what one walk counts, each counts; the other rows show that each is one
			}
			t.Run(name+", "+kind, func(t *testing.T) {
				over(t, func(n int, req *http.Request) (*http.Response, error) {
					next, body, kindOf := n+1, "[]", "application/json"
					switch kind {
					case "bytes":
						body, kindOf = "[]"+strings.Repeat("x", 20<<20), "text/plain" // of which nothing but the list is looked into
					case "circle":
						next = 2
					}
					return respond(200, body, "Content-Type", kindOf, "Link", fmt.Sprintf(`<https://api.github.com%s?page=%d>; rel="next"`, req.URL.Path, next))
				}, func(t *testing.T, c *ghsync.Client, w *wire) {
					err := read(t, c)
					if !transport.HasCode(err, transport.CodeRefused) || !strings.Contains(err.Error(), "does not end after") || len(w.sent) > most {
						t.Errorf("%s, %s: %d pages, %v", name, kind, len(w.sent), err)
					}
				})
			})
		}
	}
}
