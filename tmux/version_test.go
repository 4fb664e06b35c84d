package tmux_test

import (
	"testing"

	"github.com/agentmux/agentmux/tmux"
)

func TestVersionsAreInOrder(t *testing.T) {
	texts := []string{"tmux 2.9a", "tmux 3.3\n", "tmux 3.3a", "tmux next-3.4", "tmux 3.5a", "tmux 4.0"}
	var last tmux.Version
	for _, text := range texts {
		v, err := tmux.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		if !last.Before(v) || v.Before(last) {
			t.Errorf("%v is not before %v", last, v)
		}
		last = v
	}
	if _, err := tmux.ParseVersion("tmux master"); err == nil {
		t.Error("a text without a version was read")
	}
}

func TestInstalledVersionIsSupported(t *testing.T) {
	v, err := newServer(t).Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.Before(tmux.Oldest()) {
		t.Errorf("tmux %v is older than %v", v, tmux.Oldest())
	}
}

func TestFaultsBelongToOldVersions(t *testing.T) {
	if len(tmux.Oldest().Faults()) == 0 || len((tmux.Version{Major: 3, Minor: 4}).Faults()) != 0 {
		t.Error("faults of 3.3a and 3.4 are told wrong")
	}
}
