package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/cmd/internal/daemon"
	"github.com/agentmux/agentmux/ghsync"
)

// A job whose session cannot begin gives its runner back after ten minutes, with the reason. One that has a session,
// or just had one, does not end by that.
func TestAJobThatCannotBeginGivesItsRunnerBack(t *testing.T) {
	const refused = "for this machine: fetch octo/widgets: exit status 128: fatal: unable to access"
	repo := report.Repository{Facts: intake.Facts{Repo: ghsync.Repo{Owner: "octo", Name: "widgets"}, Err: errors.New("no route")}}
	warned := daemon.Warned(func(log *slog.Logger) {
		log.With("repo", "octo/widgets").Warn("an issue is judged again later", "issue", 7, "err", errors.New("exit status 128"))
		log.Info("the interval of polling")
	})
	for name, c := range map[string]struct {
		report report.Report // Oldest is added while its ticket waits
		from   time.Duration // when its ticket was made
		want   string        // part of why it ends; empty = it does not
		after  time.Duration
	}{
		"a refused fetch":     {report.Report{Tickets: 1, Waits: refused}, 0, refused, 10 * time.Minute},
		"a full disk":         {report.Report{Tickets: 1, Waits: "for disk space, 0.0 GiB"}, 0, "for disk space", 10 * time.Minute},
		"a late ticket":       {report.Report{Tickets: 1, Waits: refused}, 5 * time.Minute, refused, 15 * time.Minute},
		"a fetch that lasts":  {report.Report{Taken: 1}, 0, "", 0},
		"an unserved one":     {report.Report{Unserved: map[string]string{"octo/widgets": "no route"}}, 0, "octo/widgets is not served: no route", 10 * time.Minute},
		"a lost server":       {report.Report{Repositories: []report.Repository{repo}}, 0, "octo/widgets cannot be read", 10 * time.Minute},
		"a session":           {report.Report{Sessions: map[string]int{"working": 1}, Repositories: []report.Repository{repo}}, 0, "", 0},
		"an end":              {report.Report{Sessions: map[string]int{"working": 1}}, 0, "", 0},
		"an end that is owed": {report.Report{Pending: 1, Repositories: []report.Repository{repo}}, 0, "", 0},
		"an unjudged issue":   {report.Report{}, 0, "an issue is judged again later: exit status 128", 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, end := daemon.Patient(t.Context(), func() report.Report {
					r := c.report
					if r.Tickets > 0 {
						r.Oldest = max(0, time.Since(began)-c.from)
					}
					if name == "an end" && time.Since(began) > 59*time.Minute {
						r.Sessions = nil
					}
					return r
				}, warned)
				defer end()
				select {
				case <-ctx.Done():
				case <-time.After(time.Hour):
				}
				var why *daemon.StalledError
				stalled := errors.As(context.Cause(ctx), &why)
				if stalled != (c.want != "") {
					t.Fatalf("ended by %v", context.Cause(ctx))
				}
				if took := time.Since(began); stalled && (!strings.Contains(why.Error(), c.want) || took != c.after) {
					t.Errorf("%v after %s", why, took)
				}
			})
		})
	}
}
