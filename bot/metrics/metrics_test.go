package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/metrics"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// What lasts and what waits is told with its number and its sum.
func TestTimesAreTold(t *testing.T) {
	r := report.Report{
		Cooling: map[string]time.Duration{"claude": 90 * time.Minute},
		Pending: 3, Refusing: 90 * time.Second,
		Traffic: map[int64]transport.Traffic{7: {Waited: 1500 * time.Millisecond, Requests: map[transport.Sent]int{{Class: "read", Outcome: "3xx"}: 4}}},
		Phases:  map[string]report.Span{"planning": report.Span{}.With(time.Minute).With(30 * time.Second)},
	}
	r.Repositories = []report.Repository{{Facts: intake.Facts{Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}}, Beats: 5, Missed: 2, Rounds: 3, Told: 1}}
	w := httptest.NewRecorder()
	metrics.Handler(func() report.Report { return r }, nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	lines := "\n" + w.Body.String()
	for _, want := range []string{
		`agentmux_cooldown_seconds{provider="claude"} 5400`, "agentmux_effects_pending 3", "agentmux_effects_oldest_seconds 90",
		`agentmux_github_limiter_wait_seconds_total{installation="7"} 1.5`, `agentmux_github_requests_total{class="read",installation="7",outcome="3xx"} 4`,
		`agentmux_phase_seconds_sum{phase="planning"} 90`, `agentmux_phase_seconds_count{phase="planning"} 2`,
		`agentmux_beats_total{outcome="arrived",repository="octo/widgets"} 5`, `agentmux_beats_total{outcome="failed",repository="octo/widgets"} 2`,
		`agentmux_followups_total{outcome="round",repository="octo/widgets"} 3`, `agentmux_followups_total{outcome="person",repository="octo/widgets"} 1`,
	} {
		if !strings.Contains(lines, "\n"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, want := range []string{
		"# HELP agentmux_beats_total Beats by which other hosts see this one, by what became of them.", "# TYPE agentmux_beats_total counter",
		"# TYPE agentmux_cooldown_seconds gauge", "# TYPE go_goroutines gauge", "# TYPE process_resident_memory_bytes gauge",
	} {
		if n := strings.Count(lines, "\n"+want+"\n"); n != 1 {
			t.Errorf("%d lines %s", n, want)
		}
	}
	if got := w.Header().Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("it is of type %s", got)
	}
}

// What a label says ends no line and no label.
func TestALabelIsEscaped(t *testing.T) {
	r := report.Report{Cooling: map[string]time.Duration{"a \"b\"\n\\c} 1": time.Second}}
	w := httptest.NewRecorder()
	metrics.Handler(func() report.Report { return r }, nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if want := `agentmux_cooldown_seconds{provider="a \"b\"\n\\c} 1"} 1` + "\n"; !strings.Contains(w.Body.String(), "\n"+want) {
		t.Errorf("no %s in %s", want, w.Body)
	}
}
