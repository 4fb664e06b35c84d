package post_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// The bare name of a mesh is taken for the one address that it may mean, with a warning; of several all are
// named.
func TestWhomAWriterMeans(t *testing.T) {
	of := func(session string, names ...string) *workflows.Definition {
		team := &agents.Team{Session: session}
		for _, name := range names {
			team.Agents = append(team.Agents, agents.Agent{Name: name})
		}
		return workflows.OfTeam(team)
	}
	shop, instance, one := of("shop", "api", "page"), of("shop-1a2b3c", "api", "page"), of("shop-1a2b3c", "api")
	for _, c := range []struct {
		def                  *workflows.Definition
		text                 string
		to, warning, problem string
	}{
		{shop, "shop/api", "shop/api", "", ""},
		{shop, "api", "shop/api", "", ""},
		{shop, "core/core", "core/core", "", ""},
		{shop, "core", "core/core", "", ""},
		{shop, "shop", "", "", `"shop" is the bare name of a mesh and may mean shop/api, shop/page; name one of them`},
		{instance, "shop-1a2b3c/api", "shop-1a2b3c/api", "", ""},
		{instance, "shop/api", "shop-1a2b3c/api", `"shop/api" is the bare name of a mesh and was taken for shop-1a2b3c/api, the whole address`, ""},
		{instance, "shop", "", "", "may mean shop-1a2b3c/api, shop-1a2b3c/page; name one"},
		{instance, "shop-1a2b3c", "", "", "may mean shop-1a2b3c/api, shop-1a2b3c/page; name one"},
		{one, "shop", "shop-1a2b3c/api", "was taken for shop-1a2b3c/api", ""},
		{one, "shop-1a2b3c", "shop-1a2b3c/api", "was taken for shop-1a2b3c/api", ""},
		{of("api", "api", "page"), "api", "api/api", "", ""},
		{shop, "sho/api", "", "", `no agent is called "sho/api"; expected one of shop/api, shop/page, core/core`},
		{instance, "shop/nobody", "", "", "no agent is called"},
		{instance, "shop-1a/api", "", "", "no agent is called"},
		{instance, "/api", "", "", "no agent is called"},
		{instance, "shop/", "", "", "no agent is called"},
		{instance, "", "", "", "no agent is called"},
	} {
		to, warning, problem := post.Recipient(c.def, c.text)
		if to != c.to || !says(warning, c.warning) || !says(problem, c.problem) {
			t.Errorf("%s: %q, %q, %q", c.text, to, warning, problem)
		}
	}
}

func says(text, want string) bool {
	return want == "" && text == "" || want != "" && strings.Contains(text, want)
}
