package intake

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	// maxHits is how many hits of a search a server shows, in pages of a hundred.
	maxHits      = 1000
	maxHitsPages = maxHits / 100

	sweepInterval = 90 * time.Second
)

// SweepOptions are what a Sweep needs. Client, Org, Labels and Found are required.
type SweepOptions struct {
	Client *ghsync.Client // may read the whole organisation
	Org    string
	Labels func() []string // bot.label and those of the workflows
	Every  time.Duration   // bot.sweep_interval; 0: 90 s
	// Found takes in the hits, as Options.Found does.
	Found func(context.Context, []Candidate) error
	// Crowded is told when there are more hits than a search shows: the repositories of those that
	// it showed. The others may be in any repository of the organisation, so all are to be polled,
	// these first. It is told nil when all hits are shown again.
	Crowded func([]ghsync.Repo)
	Clock   Clock
	Rand    func() float64
	Log     *slog.Logger
}

// Sweep searches an organisation for requests. A hit is a hint, and a miss proves nothing: the
// server's index lags.
type Sweep struct {
	o     SweepOptions
	in    ghsync.Intake
	clock Clock
	log   *slog.Logger

	crowded bool // only Run touches it, and told
	told    time.Time
	failed  int

	mu    sync.Mutex
	facts SweepFacts
}

// SweepFacts are how a Sweep does.
type SweepFacts struct {
	Org      string
	Swept    time.Time // the last one without an error
	Searches int
	Hits     int // of the last one, shown or not
	Err      error
}

// NewSweep returns a sweep that searches when Run runs.
func NewSweep(o SweepOptions) *Sweep {
	s := &Sweep{o: o, in: ghsync.Intake{Client: o.Client}, clock: o.Clock.whole(), log: o.Log, facts: SweepFacts{Org: o.Org}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.o.Every = cmp.Or(s.o.Every, sweepInterval)
	if s.o.Rand == nil {
		s.o.Rand = rand.Float64
	}
	return s
}

// Facts returns how the sweep does.
func (s *Sweep) Facts() SweepFacts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.facts
}

// Run searches until ctx ends, at once and then at the interval.
func (s *Sweep) Run(ctx context.Context) {
	ctx = transport.WithPriority(ctx, transport.PriorityDiscovery)
	for ctx.Err() == nil {
		began := s.clock.Now()
		wait := time.Duration(float64(s.o.Every) * (0.9 + 0.2*s.o.Rand()))
		if err := s.Once(ctx); err != nil && ctx.Err() == nil {
			wait = s.fail(err)
		}
		select {
		case <-ctx.Done():
		case <-s.clock.After(began.Add(wait).Sub(s.clock.Now())):
		}
	}
}

// Once searches once, page by page, and hands on each. Found gets the hits of one page more than
// once if a page behind it fails. It is not called beside Run.
func (s *Sweep) Once(ctx context.Context) error {
	ctx = transport.WithPriority(ctx, transport.PriorityDiscovery)
	query, total, shown := s.query(), 0, []ghsync.Repo{}
	for page := 1; page <= maxHitsPages; page++ {
		found, n, err := s.in.SearchIssues(ctx, query, page)
		if err != nil {
			return fmt.Errorf("sweep %s: %w", s.o.Org, err)
		}
		total = max(total, n)
		var all []Candidate
		for _, f := range found {
			all = append(all, Candidate{
				Host: s.o.Client.Host(), Owner: f.Repo.Owner, Repo: f.Repo.Name, Issue: f.Number, Via: Search, Hint: "sweep of " + s.o.Org,
			})
			shown = append(shown, f.Repo)
		}
		if len(all) > 0 {
			if err := s.o.Found(ctx, all); err != nil {
				return fmt.Errorf("take in the sweep of %s: %w", s.o.Org, err)
			}
		}
		s.searched(total)
		if page*100 >= total || len(found) == 0 {
			break
		}
	}
	s.swept(total, shown)
	return nil
}

// query is constant as long as the labels are.
func (s *Sweep) query() string {
	var labels []string
	for _, name := range s.o.Labels() {
		labels = append(labels, `"`+name+`"`)
	}
	return "is:issue is:open label:" + strings.Join(labels, ",") + " org:" + s.o.Org
}

func (s *Sweep) searched(hits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts.Searches++
	s.facts.Hits = hits
}

// swept notes a sweep without an error, and names the repositories of one that had too many hits.
func (s *Sweep) swept(total int, shown []ghsync.Repo) {
	s.mu.Lock()
	s.facts.Swept, s.facts.Err = s.clock.Now(), nil
	s.mu.Unlock()
	if s.failed > 0 {
		s.failed, s.told = 0, time.Time{}
		s.log.Info("an organisation is searched again", "org", s.o.Org)
	}
	crowded := total > maxHits
	if !crowded && !s.crowded {
		return
	}
	if crowded != s.crowded {
		s.crowded = crowded
		s.log.Warn("more requests than a search shows", "org", s.o.Org, "hits", total, "over", crowded)
	}
	var names []ghsync.Repo
	if crowded {
		slices.SortFunc(shown, func(a, b ghsync.Repo) int { return strings.Compare(a.String(), b.String()) })
		names = slices.Compact(shown)
	}
	if s.o.Crowded != nil {
		s.o.Crowded(names)
	}
}

// fail returns after how long to search again.
func (s *Sweep) fail(err error) time.Duration {
	now := s.clock.Now()
	wait, passes := transport.Later(err)
	most := maxPause
	if !passes {
		most = maxRefused
	}
	pause := min(firstPause<<min(s.failed, 16), most)
	s.failed++
	s.mu.Lock()
	s.facts.Err = err
	s.mu.Unlock()
	if s.told.IsZero() || now.Sub(s.told) >= tellEvery {
		s.told = now
		s.log.Warn("an organisation cannot be searched", "org", s.o.Org, "err", err)
	}
	return max(wait, pause)
}
