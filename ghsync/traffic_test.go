package ghsync_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// Requests and their waits for limits are counted for all clients of an identity; the time of the server is not.
func TestTrafficIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), answer: func(int, *http.Request) (*http.Response, error) {
			<-time.After(3 * time.Second)
			return respond(200, repoJSON)
		}}
		shared := transport.NewProcess(w).Share(transport.Limits{SearchPerMinute: 1, ReadsPerSecond: 0.05})
		for range 12 {
			c, err := ghsync.New(transport.Options{Token: transport.StaticToken(transport.ModeToken, testSecret(), transport.Addresses{}), Shared: shared})
			if err != nil {
				t.Fatal(err)
			}
			if err := readRepository(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		got := shared.Traffic()
		if spent := time.Since(w.start) - 12*3*time.Second; got.Requests[transport.Sent{Class: "read", Outcome: "2xx"}] != 12 || len(got.Requests) != 1 || got.Waited != spent || spent <= 0 {
			t.Errorf("%+v, want 12 and %s", got, spent)
		}
	})
}
