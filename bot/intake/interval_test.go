package intake_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func TestGitHub86TheIntervalKeepsToHalfOfTheLimits(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	quota := func(used int, reset time.Duration) transport.Quota {
		return transport.Quota{Limit: 5000, Discovery: used, Reset: now.Add(reset)}
	}
	second, minute := time.Second, time.Minute
	for name, c := range map[string]struct {
		load       intake.Load
		configured time.Duration
		want       intake.Pace // to the second
	}{
		"one":                          {intake.Load{Repositories: 1}, 0, intake.Pace{Every: 15 * second, Comments: 15 * second, Sync: 30 * minute}},
		"sixteen":                      {intake.Load{Repositories: 16}, 0, intake.Pace{Every: 15 * second, Comments: 15 * second, Sync: 30 * minute}},
		"twenty":                       {intake.Load{Repositories: 20}, 0, intake.Pace{Every: 18 * second, Comments: 15 * second, Sync: 30 * minute, Slow: intake.ByLimit}},
		"twenty-one":                   {intake.Load{Repositories: 21}, 0, intake.Pace{Every: minute, Comments: 15 * second, Sync: 30 * minute}},
		"a hundred and fifty":          {intake.Load{Repositories: 150}, 0, intake.Pace{Every: 157 * second, Comments: 15 * second, Sync: 30 * minute, Slow: intake.ByLimit}},
		"ten of them live":             {intake.Load{Repositories: 150, Live: 10, Pulls: 5}, 0, intake.Pace{Every: 236 * second, Comments: 15 * second, Sync: 30 * minute, Slow: intake.ByLimit}},
		"five thousand":                {intake.Load{Repositories: 5000}, 0, intake.Pace{Every: 30 * minute, Comments: 15 * second, Sync: 6 * time.Hour, Slow: intake.ByLimit}},
		"a hundred live":               {intake.Load{Repositories: 100, Live: 100}, 0, intake.Pace{Every: 197 * second, Comments: 66 * second, Sync: 30 * minute, Slow: intake.ByLimit}},
		"a server with faster limits":  {intake.Load{Repositories: 150, Reads: 50}, 0, intake.Pace{Every: minute, Comments: 15 * second, Sync: 30 * minute}},
		"a little of the quota used":   {intake.Load{Repositories: 10, Core: quota(1249, time.Minute)}, 0, intake.Pace{Every: 15 * second, Comments: 15 * second, Sync: 30 * minute}},
		"half of the share, half hour": {intake.Load{Repositories: 10, Core: quota(1250, 30*time.Minute)}, 0, intake.Pace{Every: 30 * second, Comments: 15 * second, Sync: 30 * minute, Slow: intake.ByQuota}},
		"most of it":                   {intake.Load{Repositories: 10, Core: quota(2400, 50*time.Minute)}, 0, intake.Pace{Every: 1000 * second, Comments: 15 * second, Sync: 50 * minute, Slow: intake.ByQuota}},
		"all of it":                    {intake.Load{Repositories: 1, Core: quota(2500, 50*time.Minute)}, 0, intake.Pace{Every: 30 * minute, Comments: 15 * second, Sync: 50 * minute, Slow: intake.ByQuota}},
		"all of it, a reset is near":   {intake.Load{Repositories: 9, Live: 1, Core: quota(2500, 3*time.Minute)}, 0, intake.Pace{Every: 3 * minute, Comments: 3 * minute, Sync: 30 * minute, Slow: intake.ByQuota}},
		"that of the hour before":      {intake.Load{Repositories: 10, Core: quota(2500, -time.Second)}, 0, intake.Pace{Every: 15 * second, Comments: 15 * second, Sync: 30 * minute}},
		"what a person set":            {intake.Load{Repositories: 150}, 30 * second, intake.Pace{Every: 30 * second, Comments: 15 * second, Sync: 30 * minute}},
		"shorter than is allowed":      {intake.Load{Repositories: 1}, second, intake.Pace{Every: 5 * second, Comments: 5 * second, Sync: 30 * minute}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.load.Pace(c.configured, now)
			for _, d := range []*time.Duration{&got.Every, &got.Comments, &got.Sync} {
				*d = d.Round(second)
			}
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// Whatever there is to do, what is planned stays below the half of the limit.
func TestGitHub86NoLoadNeedsMoreThanHalf(t *testing.T) {
	now := time.Now()
	for _, n := range []int{1, 5, 16, 17, 20, 21, 75, 150, 400} {
		for live := 0; live <= n; live += 1 + n/7 {
			for _, pulls := range []int{0, live} {
				p := intake.Load{Repositories: n, Live: live, Pulls: pulls}.Pace(0, now)
				perSecond := float64(2*n+pulls-live)/p.Every.Seconds() + float64(live)/p.Comments.Seconds() + float64(4*n)/p.Sync.Seconds()
				if perSecond > 2.5 {
					t.Errorf("%d repositories, %d live, %d with pull requests: %.2f requests a second by %+v", n, live, pulls, perSecond, p)
				}
			}
		}
	}
}
