package daemon

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// makeLabels makes the request label where it is missing: people can only set a label that is there.
// A repository where it cannot be made is served all the same.
func (w *wired) makeLabels(ctx context.Context) {
	label := w.options.Config.Bot.Label
	for _, repo := range w.options.Repos {
		made, err := w.makeLabel(ctx, repo, label)
		switch _, again := transport.Later(err); {
		case ctx.Err() != nil:
			return
		case again:
			w.options.Log.Warn("the request label was not looked for; the next start does", "repo", repo.String(), "label", label, "err", account.LastWords(err))
		case err != nil:
			w.options.Log.Warn("the request label is not there and cannot be made", "repo", repo.String(), "label", label, "err", account.LastWords(err),
				"hint", fmt.Sprintf("gh label create %s --color %s --repo %s, by somebody who may; agentmux doctor --repo %s says why", label, site.LabelColor, repo, repo))
		case made:
			w.options.Log.Info("the request label is made", "repo", repo.String(), "label", label)
		}
	}
}

func (w *wired) makeLabel(ctx context.Context, repo ghsync.Repo, label string) (bool, error) {
	of, err := w.options.Accounts.For(ctx, repo)
	if err != nil {
		return false, err
	}
	made, err := of.Client.EnsureLabels(ctx, repo, []ghsync.Label{site.RequestLabel(label)})
	return made > 0, err
}
