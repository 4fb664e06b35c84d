package scale_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/scale"
)

var update = flag.Bool("update", false, "write the table of docs/scale.md")

// loads are the rows of the page.
var loads = []scale.Load{
	{Runners: 10, Issues: 300, Repositories: 1, Days: 7, Seed: 1},
	{Runners: 10, Issues: 10_000, Repositories: 1, Days: 7, Seed: 1},
	{Runners: 100, Issues: 10_000, Repositories: 1, Days: 7, Seed: 1},
	{Runners: 1_000, Issues: 10_000, Repositories: 1, Days: 7, Seed: 1},
	{Runners: 1_000, Issues: 10_000, Repositories: 1, Days: 7, Seed: 1, App: true},
	{Runners: 1_000, Issues: 10_000, Repositories: 20, Days: 7, Seed: 1},
	{Runners: 1_000, Issues: 10_000, Repositories: 100, Days: 7, Seed: 1},
}

func figures(t *testing.T) scale.Figures {
	t.Helper()
	f, err := scale.ReadFigures()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The page has the table of the simulation and the figures that it was made with.
func TestScalePage(t *testing.T) {
	t.Parallel()
	f := figures(t)
	var b strings.Builder
	b.WriteString("| Runners | Issues a day | Repositories | Token | Done a day | Failed in the queue a day | Waits, p50 | Waits, p99 | Runners busy | Requests | Content writes | Pushes | Met first |\n|" + strings.Repeat("---|", 13) + "\n")
	for _, l := range loads {
		r := scale.Simulate(f, l)
		met := r.First
		if met == "" {
			met = "nothing"
		}
		token := "job's"
		if l.App {
			token = "App's"
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %s | %d | %d | %s | %s | %.0f %% | %.0f | %.0f | %.0f | %s |\n", l.Runners, l.Issues, l.Repositories, token,
			r.Done/l.Days, r.Late/l.Days, span(r.P50), span(r.P99), 100*r.Busy, r.Requests, r.Writes, r.Pushes, met)
		t.Logf("%+v %+v", l, r)
	}
	const page, from, to = "../../docs/scale.md", "<!-- simulated -->\n", "<!-- end -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), from)
	there, after, closed := strings.Cut(rest, to)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+from+b.String()+to+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if there != b.String() {
		t.Errorf("make simulate writes the table: the page has\n%s\nand the simulation\n%s", there, b.String())
	}
	for name, value := range f {
		if want := fmt.Sprintf("`%s` %g", name, value); !strings.Contains(before, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

func span(hours float64) string {
	switch {
	case hours < 1.0/60:
		return fmt.Sprintf("%.0f s", hours*3600)
	case hours < 2:
		return fmt.Sprintf("%.0f min", hours*60)
	}
	return fmt.Sprintf("%.1f h", hours)
}

// The formulae of the page give about what the simulation gives, where they hold.
func TestTheFormulaeHold(t *testing.T) {
	t.Parallel()
	f := figures(t)
	mean := f["Assumption median-minutes"] / 60 * math.Exp(f["Assumption spread"]*f["Assumption spread"]/2)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > want/20 {
			t.Errorf("%s: %g, want about %g", what, got, want)
		}
	}
	full := scale.Simulate(f, scale.Load{Runners: 100, Issues: 10_000, Repositories: 1, Days: 20, Seed: 3})
	near("sessions a day of runners that are always busy", float64(full.Done)/20, 100*24/mean)
	if full.Busy < 0.99 || full.Late == 0 {
		t.Errorf("%+v", full)
	}
	idle := scale.Simulate(f, scale.Load{Runners: 10_000, Issues: 1_000, Repositories: 1, Days: 20, Seed: 3})
	near("share of runners that are busy", idle.Busy, 1_000*mean/24/10_000)
	if idle.P99 != 0 || idle.Late+idle.Left != 0 || idle.First != "requests" {
		t.Errorf("%+v", idle)
	}
	if app := scale.Simulate(f, scale.Load{Runners: 10_000, Issues: 1_000, Repositories: 1, Days: 20, Seed: 3, App: true}); app.First != "content writes" {
		t.Errorf("%+v", app)
	}
	near("writes of each request", idle.Requests/idle.Writes, f["ReferenceSession requests"]/f["ReferenceSession content-writes"])
	some := scale.Load{Runners: 10, Issues: 1_000, Repositories: 1, Days: 2, Seed: 3}
	if one, again := scale.Simulate(f, some), scale.Simulate(f, some); again != one {
		t.Errorf("the same seed gave %+v and %+v", one, again)
	}
}
