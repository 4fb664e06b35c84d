package gitrepo

import (
	"context"
	"fmt"
)

// Hold makes ref point to commit, wherever it pointed before. Nobody else moves such a ref,
// so a lost race is no concern. Where it is done already it costs no process, since a
// machine that starts again asks for it in all of its sessions. ErrNoCommit if the commit is
// not there.
func (h *Host) Hold(ctx context.Context, ref, commit string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	if !objectID.MatchString(commit) {
		return fmt.Errorf("hold %s: bad object id", ref)
	}
	if h.loose(ref) == commit {
		return nil
	}
	h.dropStaleLock(ref)
	if _, err := h.git("update-ref", "--no-deref", ref, commit).run(ctx); err != nil {
		// Asked of git itself: what is known of the commit may be of before it went.
		if _, gone := resolve(ctx, h.git(), commit); gone != nil {
			return fmt.Errorf("hold %s: %w", ref, gone)
		}
		return fmt.Errorf("hold %s: %w", ref, err)
	}
	return nil
}
