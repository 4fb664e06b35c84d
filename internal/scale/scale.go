// Package scale simulates days of a repository whose issues are worked on by jobs of GitHub Actions,
// one runner for each: how long jobs wait, how many requests, content writes and pushes an hour has,
// and which limit is met first. It knows no clock and no network; the same seed gives the same days.
// Its figures are in figures.txt, its formulae and results in docs/scale.md, which `make simulate`
// writes.
package scale

import (
	"cmp"
	"container/heap"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

//go:embed figures.txt
var text string

// Figures are by "name unit", such as "ReferenceSession requests".
type Figures map[string]float64

// ReadFigures reads the lines of figures.txt, which are those of a benchmark: a name, a count, and pairs
// of a value and its unit.
func ReadFigures() (Figures, error) {
	f := Figures{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields)%2 != 0 {
			return nil, fmt.Errorf("figures.txt: a value without a unit: %s", line)
		}
		for i := 2; i < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("figures.txt: %w", err)
			}
			f[strings.TrimPrefix(fields[0], "Benchmark")+" "+fields[i+1]] = value
		}
	}
	return f, nil
}

// Load is what comes, and what is there to do it.
type Load struct {
	Runners, Issues int // issues a day
	Repositories    int // over which the issues are spread evenly
	Days            int
	App             bool // the jobs have the token of an App that is installed on one repository
	Seed            uint64
}

// Result is what the queue and the token of one repository have to bear.
type Result struct {
	Done, Late, Left         int     // jobs that ended, that waited too long and failed, that still wait
	P50, P99                 float64 // hours that those which began had waited
	Busy                     float64 // share of the runners' time
	Requests, Writes, Pushes float64 // in the fullest hour of one repository
	First                    string  // the limit that is met first; "" if none is
}

// job is one issue: hours since the start.
type job struct {
	arrived, takes float64
	repository     int
}

// ends are the hours at which runners are free again.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(float64)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// Simulate runs the days. Jobs begin in the order in which they came.
func Simulate(f Figures, l Load) Result {
	jobs := arrivals(f, l)
	free := make(ends, l.Runners)
	hours := float64(24 * l.Days)
	var r Result
	var waits []float64
	busy := 0.0
	requests, writes, pushes := newMeter(l), newMeter(l), newMeter(l)
	for _, j := range jobs {
		begin := max(j.arrived, free[0])
		switch latest := j.arrived + f["Limit queue-hours"]; {
		case begin > latest && latest < hours:
			r.Late++
			continue
		case begin >= hours:
			r.Left++
			continue
		}
		end := begin + j.takes
		free[0] = end
		heap.Fix(&free, 0)
		waits = append(waits, begin-j.arrived)
		busy += min(end, hours) - begin
		if end <= hours {
			r.Done++
		}
		requests.spread(j.repository, begin, end, f["ReferenceSession requests"])
		writes.spread(j.repository, begin, end, f["ReferenceSession content-writes"])
		pushes.spread(j.repository, begin, end, f["Setting checkpoints/session"]+f["Setting claim-pushes/session"]+f["Setting beats/hour"]*j.takes)
	}
	slices.Sort(waits)
	r.P50, r.P99 = quantile(waits, 0.50), quantile(waits, 0.99)
	r.Busy = busy / (hours * float64(l.Runners))
	r.Requests, r.Writes, r.Pushes = slices.Max(requests.sums), slices.Max(writes.sums), slices.Max(pushes.sums)
	r.First = first(f, l, r)
	return r
}

// arrivals are the jobs of the days in order: evenly at random, but for those that come in bursts.
func arrivals(f Figures, l Load) []job {
	random := rand.New(rand.NewPCG(l.Seed, 14))
	var jobs []job
	mu := math.Log(f["Assumption median-minutes"] / 60)
	add := func(from, span float64) {
		takes := math.Exp(mu + f["Assumption spread"]*random.NormFloat64())
		jobs = append(jobs, job{from + span*random.Float64(), takes, random.IntN(l.Repositories)})
	}
	bursts := int(f["Assumption bursts/day"])
	size := min(int(f["Assumption burst-issues"]), l.Issues/(2*bursts))
	for day := range l.Days {
		for range bursts {
			at := 24 * (float64(day) + random.Float64()*0.99)
			for range size {
				add(at, 1.0/6)
			}
		}
		for range l.Issues - bursts*size {
			add(24*float64(day), 24)
		}
	}
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.arrived, b.arrived) })
	return jobs
}

// meter sums what each hour of each repository has.
type meter struct {
	hours int
	sums  []float64
}

func newMeter(l Load) *meter {
	hours := 24 * l.Days
	return &meter{hours, make([]float64, hours*l.Repositories)}
}

// spread adds an amount evenly over the time of a session, up to the end of the days.
func (m *meter) spread(repository int, begin, end, amount float64) {
	for h := int(begin); h < m.hours && float64(h) < end; h++ {
		part := min(end, float64(h+1)) - max(begin, float64(h))
		m.sums[repository*m.hours+h] += amount * part / (end - begin)
	}
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// first names the limit that is used the most, if one is used up.
func first(f Figures, l Load, r Result) string {
	const full = 0.95 // of the runners' time: beyond that a queue never gets short again
	requests := f["Limit job-requests/hour"]
	if l.App {
		requests = f["Limit app-requests/hour"]
	}
	used := []struct {
		name  string
		share float64
	}{
		{"runners", r.Busy / full},
		{"content writes", r.Writes / f["Limit content-writes/hour"]},
		{"requests", r.Requests / requests},
	}
	name, most := "", 1.0
	for _, u := range used {
		if u.share >= most {
			name, most = u.name, u.share
		}
	}
	return name
}
