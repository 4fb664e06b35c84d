package fakehub

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/ghsync/fakehub/hook"
)

// Webhook is one that is registered in a repository. Deliveries are made by SendHooks alone.
type Webhook = hook.Registered

// SetWebhooks says which webhooks the repository has.
func (h *Repo) SetWebhooks(list ...Webhook) { h.locked(func() { h.r.webhooks = list }) }

func listHooks(c *call) reply {
	return page(c, hook.Show(c.repo.webhooks, c.url("repos", c.repo.fullName(), "hooks")), same)
}

func listDeliveries(c *call) reply {
	return page(c, hook.ShowDeliveries(c.repo.webhooks, c.param("id")), same)
}

func same(shown any) any { return shown }

// listRepos lists those of an organisation, or without one those that the account has a role in.
func listRepos(c *call) reply {
	org := c.users[key(c.params["org"])]
	if c.params["org"] != "" && (org == nil || org.kind != "Organization") {
		return notFound()
	}
	var list []*repo
	for _, id := range slices.Sorted(maps.Keys(c.repos)) {
		r := c.repos[id]
		if _, has := r.roles[c.token.user.id]; c.viewer.sees(r) && (r.owner == org || org == nil && has) {
			list = append(list, r)
		}
	}
	return page(c, list, func(r *repo) any { return c.repoJSON(r) })
}
