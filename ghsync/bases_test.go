package ghsync_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

func TestGitHub16BasesFollowHostAndEnvironment(t *testing.T) {
	public := transport.Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}
	acme := transport.Addresses{API: "https://git.acme.example/api/v3/", GraphQL: "https://git.acme.example/api/graphql", Server: "https://git.acme.example"}
	tenant := transport.Addresses{API: "https://api.acme.ghe.com/", GraphQL: "https://api.acme.ghe.com/graphql", Server: "https://acme.ghe.com"}
	runner := map[string]string{"GITHUB_API_URL": "https://api.github.com", "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql", "GITHUB_SERVER_URL": "https://github.com"}
	for name, tc := range map[string]struct {
		host string
		env  map[string]string
		want transport.Addresses
	}{
		"github.com":           {"github.com", nil, public},
		"nothing":              {"", nil, public},
		"ghe.com":              {"acme.ghe.com", nil, tenant},
		"own server":           {"Git.Acme.Example", nil, acme},
		"hosted runner":        {"", runner, public},
		"the same server":      {"github.com", runner, public},
		"job of an own server": {"", map[string]string{"GITHUB_API_URL": "https://git.acme.example/api/v3", "GITHUB_SERVER_URL": "https://git.acme.example"}, acme},
		"the same own server":  {"git.acme.example", map[string]string{"GITHUB_API_URL": "https://git.acme.example:443/api/v3"}, transport.Addresses{API: "https://git.acme.example:443/api/v3/", GraphQL: "https://git.acme.example:443/api/graphql", Server: "https://git.acme.example:443"}},
		"server alone":         {"", map[string]string{"GITHUB_SERVER_URL": "https://acme.ghe.com/"}, tenant},
		"API alone":            {"", map[string]string{"GITHUB_API_URL": "https://api.acme.ghe.com"}, tenant},
		"all three": {"", map[string]string{"GITHUB_API_URL": "http://127.0.0.1:80", "GITHUB_GRAPHQL_URL": "http://127.0.0.1:80/g/", "GITHUB_SERVER_URL": "http://127.0.0.1:80/"},
			transport.Addresses{API: "http://127.0.0.1:80/", GraphQL: "http://127.0.0.1:80/g", Server: "http://127.0.0.1:80"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := transport.Bases(tc.host, func(k string) string { return tc.env[k] }); got != tc.want || err != nil {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

// What a runner sets does not take the place of what the person configured.
func TestGitHub16EnvironmentNamesAnotherServer(t *testing.T) {
	for _, tc := range []struct{ host, variable, value string }{
		{"git.acme.example", "GITHUB_API_URL", "https://api.github.com"},
		{"git.acme.example", "GITHUB_GRAPHQL_URL", "https://api.github.com/graphql"},
		{"git.acme.example", "GITHUB_SERVER_URL", "https://github.com"},
		{"git.acme.example", "GITHUB_SERVER_URL", "https://git.acme.example.evil.example"},
		{"git.acme.example", "GITHUB_SERVER_URL", "https://git.acme.example:8443"},
		{"github.com", "GITHUB_API_URL", "https://git.acme.example/api/v3"},
		{"github.com", "GITHUB_API_URL", "%"},
	} {
		t.Run(tc.variable+" is "+tc.value, func(t *testing.T) {
			_, err := transport.Bases(tc.host, func(k string) string { return map[string]string{tc.variable: tc.value}[k] })
			var other *transport.OtherServerError
			if !errors.As(err, &other) || other.Host != tc.host || other.Variable != tc.variable || other.Value != tc.value {
				t.Errorf("%+v: %v", tc, err)
			}
		})
	}
}

// A variable without a server in its name is for GitHub's own servers, as gh has it.
func TestSecurity23TokenOfAVariableIsForItsServer(t *testing.T) {
	public := []string{"AGENTMUX_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}
	enterprise := []string{"AGENTMUX_GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	for _, tc := range []struct {
		at   transport.Addresses
		job  bool
		want []string
	}{
		{transport.Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}, false, public},
		{transport.Addresses{API: "https://api.x.ghe.com/", GraphQL: "https://api.x.ghe.com/graphql", Server: "https://x.ghe.com"}, false, public},
		{transport.Addresses{API: "https://evil.example/api/v3/", GraphQL: "https://evil.example/api/graphql", Server: "https://evil.example"}, false, enterprise},
		{transport.Addresses{API: "https://evil.example/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}, false, enterprise},
		{transport.Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://evilghe.com"}, false, enterprise},
		{transport.Addresses{API: "https://git.acme.example/api/v3/", GraphQL: "https://git.acme.example/api/graphql", Server: "https://git.acme.example"}, true, public},
	} {
		t.Run(tc.at.API, func(t *testing.T) {
			if got := transport.TokenVariables(tc.at, tc.job); !slices.Equal(got, tc.want) {
				t.Errorf("%+v: %q", tc, got)
			}
		})
	}
	for _, name := range append(public, enterprise...) {
		if !slices.Contains(transport.AllTokenVariables(), name) {
			t.Errorf("%s is not known", name)
		}
	}
}

// A token that was read for one server makes no client of another.
func TestSecurity23TokenIsBoundToItsServer(t *testing.T) {
	acme := transport.Addresses{API: "https://git.acme.example/api/v3/", GraphQL: "https://git.acme.example/api/graphql", Server: "https://git.acme.example"}
	token := transport.StaticToken(transport.ModeToken, testSecret(), acme)
	for address, own := range map[string]bool{
		"https://git.acme.example/octo/widgets.git": true, "https://git.acme.example:443/api/v3/": true, "https://GIT.acme.example/x": true,
		"http://git.acme.example/": false, "https://git.acme.example:8443/": false, "https://github.com/": false, "": false, "%": false,
	} {
		t.Run(address, func(t *testing.T) {
			if token.Serves(address) != own {
				t.Errorf("%q: %t", address, !own)
			}
		})
	}
	if _, err := ghsync.New(transport.Options{Token: token}); err == nil {
		t.Error("a client of github.com was made with the token of another server")
	}
	if _, err := ghsync.New(transport.Options{Token: token, APIURL: acme.API, ServerURL: acme.Server}); err != nil {
		t.Error(err)
	}
}
