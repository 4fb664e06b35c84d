package tenure_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/orchestrator"
)

// slow is a desk at which a claim can be given back only after a time.
type slow struct {
	claim.Desk
	claim.Held
	until    time.Time
	tries    int
	released bool
}

func (*slow) Leftovers(context.Context) ([]claim.Seen, error) { return nil, nil }

func (s *slow) Take(context.Context, claim.Want) (claim.Held, error) { return s, nil }

func (*slow) Seen() claim.Seen { return claim.Seen{} }

func (*slow) Lost() <-chan struct{} { return nil }

func (s *slow) Release(context.Context) error {
	s.tries++
	if time.Now().Before(s.until) {
		return errors.New("the repository is archived")
	}
	s.released = true
	return nil
}

// A bot gives a claim back however long that takes, and asks at most once a minute in the end; a command does not
// wait for that.
func TestABotGivesAClaimBackHoweverLongThatTakes(t *testing.T) {
	for name, patient := range map[string]bool{"bot": true, "command": false} {
		t.Run(name, func(t *testing.T) {
			dir := newRig(t).dir
			synctest.Test(t, func(t *testing.T) {
				s := &slow{until: time.Now().Add(time.Hour)}
				_, err := tenure.Run(t.Context(), runner(func(context.Context, host.RunSpec) (*orchestrator.State, error) {
					return ended(orchestrator.OutcomeDone), nil
				}), tenure.Spec{Run: host.RunSpec{Dir: dir}, Desk: s, Host: claim.NewHostID(), Patient: patient, Log: slog.New(slog.DiscardHandler)})
				if err != nil || s.released != patient {
					t.Errorf("released %v, %v", s.released, err)
				}
				if late := time.Since(s.until); s.tries > 70 || late > time.Minute {
					t.Errorf("%d tries, released %s after it could be", s.tries, late)
				}
			})
		})
	}
}
