// Package metrics shows how the bot does in the text format of Prometheus. Names begin with
// agentmux_; times are in seconds. It reads what the bot reports when it is asked, and keeps
// nothing.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler answers with the metrics of a report. receiver may be nil: no webhooks are taken.
func Handler(ask func() report.Report, receiver *intake.Receiver) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{ask, receiver})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// collector asks for a report at each scrape.
type collector struct {
	ask      func() report.Report
	receiver *intake.Receiver
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("agentmux_"+name, help, labels, nil)
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
	phases     = describe("phase_seconds", "How long phases of sessions lasted that ended.", "phase")
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

// Describe names all metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		slots, workers, queued, eventAge, paused, lacking, cooling, sessions, pending, claims, beats, commands, accepted, refused, followed, panics, readings, hooks, failing,
		polled, interval, refusing, phases, quotaLimit, quotaLeft, requests, waited, absent, deliveries,
	} {
		ch <- d
	}
}

// Collect sends what holds now.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, t prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, value, labels...)
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		send(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, n int, labels ...string) {
		send(d, prometheus.CounterValue, float64(n), labels...)
	}
	r := c.ask()
	gauge(slots, float64(r.Slots))
	gauge(workers, float64(r.Taken))
	gauge(queued, float64(r.Tickets))
	gauge(eventAge, r.Oldest.Seconds())
	gauge(paused, oneIf(r.Paused))
	gauge(lacking, float64(len(r.Lacks)))
	for provider, left := range r.Cooling {
		gauge(cooling, left.Seconds(), provider)
	}
	gauge(pending, float64(r.Pending))
	gauge(refusing, r.Refusing.Seconds())
	for phase, s := range r.Phases {
		ch <- prometheus.MustNewConstSummary(phases, uint64(max(0, s.N)), s.Total.Seconds(), nil, phase)
	}
	for _, state := range []string{"working", "waiting", "paused"} {
		gauge(sessions, float64(r.Sessions[state]), state)
	}
	counter(accepted, r.Accepted)
	counter(panics, r.Panics)
	for row, n := range r.Refused {
		counter(refused, n, row)
	}
	for _, repo := range r.Repositories {
		name := repo.Repo.String()
		gauge(claims, float64(repo.Claims), name)
		gauge(commands, float64(repo.Commands), name)
		counter(beats, repo.Beats, name, "arrived")
		counter(beats, repo.Missed, name, "failed")
		counter(followed, repo.Rounds, name, "round")
		counter(followed, repo.Told, name, "person")
		counter(readings, repo.Readings, name)
		counter(hooks, repo.Hooks, name)
		gauge(failing, oneIf(repo.Err != nil), name)
		gauge(interval, repo.Pace.Every.Seconds(), name)
		gauge(polled, unix(repo.Polled), name)
	}
	gauge(absent, float64(len(r.Absent)))
	for installation, quotas := range r.Quotas {
		of := strconv.FormatInt(installation, 10)
		for resource, q := range quotas {
			gauge(quotaLimit, float64(q.Limit), of, resource)
			gauge(quotaLeft, float64(q.Remaining), of, resource)
		}
	}
	for installation, t := range r.Traffic {
		of := strconv.FormatInt(installation, 10)
		send(waited, prometheus.CounterValue, t.Waited.Seconds(), of)
		for s, n := range t.Requests {
			counter(requests, n, of, s.Class, s.Outcome)
		}
	}
	if c.receiver == nil {
		return
	}
	f := c.receiver.Facts()
	counter(deliveries, f.Woke, "woke")
	counter(deliveries, f.Dropped, "dropped")
	for status, n := range f.Refused {
		counter(deliveries, n, "refused_"+strconv.Itoa(status))
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
