package claim

import (
	"context"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// sweptAfter is how long a beat must have been the same. A host that has nothing to do does not
// beat; when it claims again, it makes its ref again.
const sweptAfter = 24 * time.Hour

// Sweep removes the last beats of hosts that hold no claim and have not beaten for a day, as this
// desk saw it: hosts that were killed leave theirs. It returns how many.
func (d *Remote) Sweep(ctx context.Context) (int, error) {
	if err := d.fresh(ctx, true); err != nil {
		return 0, fmt.Errorf("remove old beats: %w", err)
	}
	updates := d.oldBeats()
	if len(updates) == 0 {
		return 0, nil
	}
	if err := d.pace.Wait(ctx, Low); err != nil {
		return 0, err
	}
	leave, err := d.server.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	results, err := d.server.push(ctx, remote.PushSpec{Updates: updates})
	removed := 0
	for _, r := range results {
		if r == nil {
			removed++
		}
	}
	if err != nil && len(results) == 0 {
		return 0, fmt.Errorf("remove old beats: %w", err)
	}
	return removed, nil // one that moved meanwhile belongs to a host that lives
}

func (d *Remote) oldBeats() []remote.RefUpdate {
	d.mu.Lock()
	defer d.mu.Unlock()
	claimed := map[HostID]bool{d.o.Host: true}
	for issue := range d.list.claims {
		seen, _ := d.list.seen(issue)
		claimed[seen.Claim.Host] = true
	}
	var updates []remote.RefUpdate
	for host, id := range d.list.hosts {
		if s := d.sights.hosts[host]; !claimed[host] && s.id == id && s.length() >= sweptAfter {
			updates = append(updates, remote.RefUpdate{Ref: hostRef(host), Old: id})
		}
	}
	return updates
}
