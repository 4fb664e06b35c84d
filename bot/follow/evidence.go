package follow

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/joblog"
	"github.com/agentmux/agentmux/ghsync/transport"
)

const (
	// maxRead is of how many reviews, and of how many checks, more is read than that they are there.
	maxRead = 3
	// patience is how often in a row a reading may fail before a round begins without it.
	patience = 3
	// maxLookups is of how many accounts the permission is asked for in an hour.
	maxLookups = 50
	maxDenied  = 10_000 // accounts that are remembered
)

// evidence reads what is known of the objections; the newest ones count most.
func (i *inspection) evidence(ctx context.Context, objections []Objection) ([]Evidence, error) {
	var all []Evidence
	reviews, checks := 0, 0
	for _, o := range slices.Backward(objections) {
		e := Evidence{Objection: o}
		var err error
		switch {
		case o.Review != nil && reviews < maxRead:
			reviews++
			e.Comments, err = i.reader.Comments(ctx, i.p.Number, o.Review.ID)
		case o.Check != nil && o.Check.ID != 0 && checks < maxRead:
			checks++
			err = i.readCheck(ctx, &e)
		}
		if err = i.missing(ctx, err); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.Reverse(all)
	return all, nil
}

// readCheck reads the log of a check, or else what it says of itself.
func (i *inspection) readCheck(ctx context.Context, e *Evidence) (err error) {
	e.Log, err = i.reader.Log(ctx, e.Check.ID)
	if err = i.missing(ctx, err); err != nil || e.Log != "" {
		return err
	}
	e.Output, err = i.reader.Output(ctx, e.Check.ID)
	return err
}

// missing passes an error on that another try may cure. All others mean that there is nothing to
// read: it is deleted, not allowed, or on a host where it is not read.
func (i *inspection) missing(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	var elsewhere *joblog.ElsewhereError
	if _, again := transport.Later(err); again && !errors.As(err, &elsewhere) && i.w.failures < patience {
		return err
	}
	i.f.o.Log.Warn("a request for changes says less", "pull", i.p.Number, "err", err)
	return nil
}

// permissions asks what accounts may do, for at most maxLookups of them in an hour. Those that could
// not be asked for are taken as having none, and limited is true. Anybody may review a pull request of
// a public repository: who was found to have no write permission comes last.
func (f *Follow) permissions(ctx context.Context, repo ghsync.Repo, who []ghsync.Account) (answers map[string]gate.Answer, limited bool) {
	answers = map[string]gate.Answer{}
	now := f.o.Now()
	maps.DeleteFunc(f.lookups, func(_ string, at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(f.denied) > maxDenied {
		clear(f.denied)
	}
	slices.SortStableFunc(who, func(a, b ghsync.Account) int { return rank(f.denied[a.Login]) - rank(f.denied[b.Login]) })
	for _, a := range who {
		if _, known := f.lookups[a.Login]; !known && len(f.lookups) >= maxLookups {
			answers[a.Login], limited = gate.Answer{}, true
			continue
		}
		f.lookups[a.Login] = now
		p, err := f.o.Client.Permission(ctx, repo, a.Login)
		answers[a.Login] = gate.Answer{Permission: p, Err: err}
		f.denied[a.Login] = err == nil && !p.Write()
	}
	return answers, limited
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}
