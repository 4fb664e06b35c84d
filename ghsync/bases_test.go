package ghsync_test

import (
	"testing"

	"github.com/agentmux/agentmux/ghsync"
)

func TestGitHub16BasesFollowHostAndEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		host string
		env  map[string]string
		want ghsync.Addresses
	}{
		"github.com": {"github.com", nil, ghsync.Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}},
		"nothing":    {"", nil, ghsync.Addresses{API: "https://api.github.com/", GraphQL: "https://api.github.com/graphql", Server: "https://github.com"}},
		"ghe.com":    {"acme.ghe.com", nil, ghsync.Addresses{API: "https://api.acme.ghe.com/", GraphQL: "https://api.acme.ghe.com/graphql", Server: "https://acme.ghe.com"}},
		"own server": {"Git.Acme.Example", nil, ghsync.Addresses{API: "https://git.acme.example/api/v3/", GraphQL: "https://git.acme.example/api/graphql", Server: "https://git.acme.example"}},
		"job of an own server": {"github.com", map[string]string{"GITHUB_API_URL": "https://git.acme.example/api/v3", "GITHUB_SERVER_URL": "https://git.acme.example"},
			ghsync.Addresses{API: "https://git.acme.example/api/v3/", GraphQL: "https://git.acme.example/api/graphql", Server: "https://git.acme.example"}},
		"all three": {"github.com", map[string]string{"GITHUB_API_URL": "http://127.0.0.1:80", "GITHUB_GRAPHQL_URL": "http://127.0.0.1:80/g/", "GITHUB_SERVER_URL": "http://127.0.0.1:80/"},
			ghsync.Addresses{API: "http://127.0.0.1:80/", GraphQL: "http://127.0.0.1:80/g", Server: "http://127.0.0.1:80"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ghsync.Bases(tc.host, func(k string) string { return tc.env[k] }); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
