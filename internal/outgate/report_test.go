package outgate_test

import (
	"slices"
	"testing"

	"github.com/agentmux/agentmux/internal/outgate"
)

func TestAReportInWords(t *testing.T) {
	r := outgate.Report{Findings: []outgate.Finding{
		{Rule: "size", Text: "too much"}, {Rule: "secret.x", Path: "a", Line: 3, Text: "holds a secret"},
	}}
	if got, want := r.Texts(), []string{"size: the change: too much", `secret.x: "a" line 3: holds a secret`}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
}

func TestPathsOfNotes(t *testing.T) {
	notes := []outgate.Note{{"protected", "b", "held"}, {"lfs", "", "the change uses LFS"}, {"mode", "b", "executable"}, {"protected", "a", "held"}}
	if got, want := outgate.Paths(notes), []string{"b", "the change uses LFS", "a"}; !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
}
