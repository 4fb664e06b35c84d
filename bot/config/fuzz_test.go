package config_test

import (
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/bot/config"
)

// FuzzConfig checks that a project's file gives a configuration or problems with their places,
// and never changes a key that a repository may not set.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"version: 2\n", "version: 1\n", "", "[]", "version: 2\ndefaults: {workflow: quick, max_review_iterations: 0}\n",
		"version: 2\nroles: {coder: {provider: codex, model: x}}\nlimits: {phase: 20m, stall: 0, parallel: 99}\n",
		"version: 2\nsandbox: {level: none, setup: [true]}\n", "version: 2\nbot: {label: x}\noutput: {max_bytes: 1 TiB}\n",
		"version: 2\nprovidres: {}\nsession: {transcripts: maybe}\n", "version: 2\nmesh: {a: {b: {c: {d: e}}}}\n",
		`{"version": 2, "github": {"base_branch": "main", "mirror": "on"}}`, "version: 2\nversion: 2\n", "a: &a [*a]\n",
	} {
		f.Add([]byte(seed))
	}
	s := config.Sources{Home: "/home/me", Providers: builtInProviders}
	plain, _ := config.Load(s)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := s
		s.Project = fstest.MapFS{".agentmux/config.yaml": {Data: data}}
		c, problems := config.Load(s)
		if (c == nil) == (problems.Err() == nil) {
			t.Fatalf("configuration %v, problems %v", c, problems.Lines())
		}
		for _, line := range problems.Lines() {
			if line == "" {
				t.Fatal("a problem without words")
			}
		}
		if c != nil && (c.Output.MaxBytes != plain.Output.MaxBytes || c.Bot.Label != plain.Bot.Label || c.Sandbox.Level != plain.Sandbox.Level) {
			t.Fatalf("a repository changed a key of the host: %+v", c)
		}
	})
}
