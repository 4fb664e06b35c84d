// Package metrics shows how the bot does in the text format of Prometheus. Names begin with
// agentmux_; times are in seconds. It reads what the bot reports when it is asked, and keeps
// nothing.
package metrics

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/report"
)

// Handler answers with the metrics of a report. receiver may be nil: no webhooks are taken.
func Handler(ask func() report.Report, receiver *intake.Receiver) http.Handler {
	metrics.ExposeMetadata(true)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := scrape{metrics.NewSet()}
		s.report(ask())
		if receiver != nil {
			s.deliveries(receiver.Facts())
		}
		var page bytes.Buffer
		s.set.WritePrometheus(&page)
		metrics.WriteProcessMetrics(&page)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8") // the one Prometheus asks for
		_, _ = w.Write(withHelp(page.Bytes()))                                     // a scraper that went away asks again
	})
}

// description is a metric: its name, and the names of its labels.
type description struct {
	name   string
	labels []string
}

// help says what a metric is, by its name.
var help = map[string]string{}

func describe(name, text string, labels ...string) description {
	name = "agentmux_" + name
	help[name] = text
	return description{name, labels}
}

// withHelp adds our texts to the HELP lines of a page, which the library leaves empty.
func withHelp(page []byte) []byte {
	var to bytes.Buffer
	for line := range bytes.Lines(page) {
		if name, ok := bytes.CutPrefix(line, []byte("# HELP ")); ok {
			if text := help[strings.TrimSpace(string(name))]; text != "" {
				line = []byte("# HELP " + strings.TrimSpace(string(name)) + " " + text + "\n")
			}
		}
		to.Write(line)
	}
	return to.Bytes()
}

var (
	slots      = describe("slots", "Sessions that may work at a time.")
	workers    = describe("workers", "Slots that are taken.")
	queued     = describe("queued", "Requests that wait for a slot.")
	eventAge   = describe("queue_oldest_seconds", "How long the oldest request has waited for a slot.")
	paused     = describe("paused", "1 while a person keeps new sessions from beginning.")
	lacking    = describe("machine_lacks", "How many things this machine lacks for another session.")
	cooling    = describe("cooldown_seconds", "How long the service of a provider will refuse more, by provider; the longest of its logins.", "provider")
	sessions   = describe("sessions", "Sessions that are under way, by what they do.", "state")
	pending    = describe("effects_pending", "Effects of sessions that were not carried out yet.")
	refusing   = describe("effects_oldest_seconds", "How long the oldest of them has failed.")
	phaseSum   = describe("phase_seconds_sum", "How long phases of sessions lasted that ended.", "phase")
	phaseCount = describe("phase_seconds_count", "How many phases of sessions ended.", "phase")
	claims     = describe("claims", "Issues that this host holds for sessions.", "repository")
	beats      = describe("beats_total", "Beats by which other hosts see this one, by what became of them.", "repository", "outcome")
	commands   = describe("commands_pending", "Commands of people whose receipts are owed.", "repository")
	accepted   = describe("requests_accepted_total", "Requests that were accepted.")
	refused    = describe("requests_refused_total", "Requests that were refused, by row of the gate.", "row")
	followed   = describe("followups_total", "Follow-ups of pull requests: a round of the session, or a person is asked.", "repository", "outcome")
	panics     = describe("session_panics_total", "Panics in sessions, tickets and requests.")
	readings   = describe("polls_total", "Readings of a repository's lists.", "repository")
	hooks      = describe("wakes_total", "Webhooks that woke the poller of a repository.", "repository")
	failing    = describe("repository_failing", "1 while a repository cannot be read.", "repository")
	polled     = describe("repository_polled_timestamp_seconds", "When a repository's lists were read last.", "repository")
	interval   = describe("poll_interval_seconds", "Time between two readings of a repository.", "repository")
	quotaLimit = describe("github_rate_limit", "Requests an hour that the server allows, by installation of the App (0 without one).", "installation", "resource")
	quotaLeft  = describe("github_rate_remaining", "Requests that are left of them.", "installation", "resource")
	requests   = describe("github_requests_total", "Requests to the server, by installation, class and outcome.", "installation", "class", "outcome")
	waited     = describe("github_limiter_wait_seconds_total", "How long requests waited for limits before they were sent.", "installation")
	absent     = describe("identities_refused", "Accounts that GitHub refuses.")
	deliveries = describe("webhook_deliveries_total", "Webhooks that arrived, by what became of them.", "outcome")
)

// scrape is what holds now, while it is gathered for an answer.
type scrape struct{ set *metrics.Set }

// escaping is how the text format writes the value of a label.
var escaping = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// series is the name of a metric with the values of its labels.
func (d description) series(values []string) string {
	if len(d.labels) == 0 {
		return d.name
	}
	pairs := make([]string, len(d.labels))
	for i, label := range d.labels {
		pairs[i] = label + `="` + escaping.Replace(values[i]) + `"`
	}
	slices.Sort(pairs)
	return d.name + "{" + strings.Join(pairs, ",") + "}"
}

func (s scrape) gauge(d description, value float64, labels ...string) {
	s.set.GetOrCreateGauge(d.series(labels), nil).Set(value)
}

func (s scrape) counter(d description, n int, labels ...string) {
	s.set.GetOrCreateCounter(d.series(labels)).Set(uint64(max(0, n)))
}

// seconds is a counter of time.
func (s scrape) seconds(d description, total time.Duration, labels ...string) {
	s.set.GetOrCreateFloatCounter(d.series(labels)).Set(total.Seconds())
}

// report takes what the bot reports.
func (s scrape) report(r report.Report) {
	s.gauge(slots, float64(r.Slots))
	s.gauge(workers, float64(r.Taken))
	s.gauge(queued, float64(r.Tickets))
	s.gauge(eventAge, r.Oldest.Seconds())
	s.gauge(paused, oneIf(r.Paused))
	s.gauge(lacking, float64(len(r.Lacks)))
	for provider, left := range r.Cooling {
		s.gauge(cooling, left.Seconds(), provider)
	}
	s.gauge(pending, float64(r.Pending))
	s.gauge(refusing, r.Refusing.Seconds())
	for phase, span := range r.Phases {
		s.seconds(phaseSum, span.Total, phase)
		s.counter(phaseCount, span.N, phase)
	}
	for _, state := range []string{"working", "waiting", "paused"} {
		s.gauge(sessions, float64(r.Sessions[state]), state)
	}
	s.counter(accepted, r.Accepted)
	s.counter(panics, r.Panics)
	for row, n := range r.Refused {
		s.counter(refused, n, row)
	}
	for _, repo := range r.Repositories {
		name := repo.Repo.String()
		s.gauge(claims, float64(repo.Claims), name)
		s.gauge(commands, float64(repo.Commands), name)
		s.counter(beats, repo.Beats, name, "arrived")
		s.counter(beats, repo.Missed, name, "failed")
		s.counter(followed, repo.Rounds, name, "round")
		s.counter(followed, repo.Told, name, "person")
		s.counter(readings, repo.Readings, name)
		s.counter(hooks, repo.Hooks, name)
		s.gauge(failing, oneIf(repo.Err != nil), name)
		s.gauge(interval, repo.Pace.Every.Seconds(), name)
		s.gauge(polled, unix(repo.Polled), name)
	}
	s.gauge(absent, float64(len(r.Absent)))
	for installation, quotas := range r.Quotas {
		of := strconv.FormatInt(installation, 10)
		for resource, q := range quotas {
			s.gauge(quotaLimit, float64(q.Limit), of, resource)
			s.gauge(quotaLeft, float64(q.Remaining), of, resource)
		}
	}
	for installation, t := range r.Traffic {
		of := strconv.FormatInt(installation, 10)
		s.seconds(waited, t.Waited, of)
		for sent, n := range t.Requests {
			s.counter(requests, n, of, sent.Class, sent.Outcome)
		}
	}
}

// deliveries takes the webhooks that arrived.
func (s scrape) deliveries(f intake.ReceiverFacts) {
	s.counter(deliveries, f.Woke, "woke")
	s.counter(deliveries, f.Dropped, "dropped")
	for status, n := range f.Refused {
		s.counter(deliveries, n, "refused_"+strconv.Itoa(status))
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// unix is a time in seconds, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
