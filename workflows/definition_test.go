package workflows_test

import (
	"testing"

	"github.com/agentmux/agentmux/workflows"
)

func load(t *testing.T, name string) *workflows.Definition {
	t.Helper()
	d, data, problems := workflows.Load(name, nil)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", name, problems.Lines())
	}
	if len(data) == 0 {
		t.Fatalf("%s: no bytes to freeze", name)
	}
	return d
}

func testShipped(t *testing.T) {
	for _, name := range workflows.Shipped() {
		if d := load(t, name); d.Name != name {
			t.Errorf("%s is named %s", name, d.Name)
		}
	}
}
