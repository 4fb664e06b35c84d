package ghsync_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
)

func TestGitHub50MarkersAreReadOnlyFromTheLastLine(t *testing.T) {
	marker := ghsync.Marker{Session: "20261121-x", Kind: ghsync.KindVerdict, Seq: 38, Part: "2/3"}
	for body, want := range map[string]bool{
		"text\n" + marker.String():                                   true,
		"text\r\n" + marker.String() + "\r\n":                        true,
		marker.String():                                              true,
		marker.String() + "\ntext":                                   false,
		"> " + marker.String():                                       false,
		"<!-- agentmux session=a b kind=status seq=1 -->":            false,
		"<!-- agentmux session=a kind=other seq=1 -->":               false,
		"<!-- agentmux session=a kind=status seq=1 --><script>":      false,
		"text <!-- agentmux session=a kind=status seq=1 -->":         false,
		"```\n<!-- agentmux session=a kind=status seq=1 -->\n```":    false,
		"<!-- agentmux session=a kind=status seq=123456789012 -->":   false,
		"<!-- agentmux session=a kind=status seq=1 part=x y -->":     false,
		"<!-- agentmux session=a\u200b kind=status seq=1 -->":        false,
		"text\n\n\n" + marker.String() + "   ":                       true,
		"text\n<!-- agentmux session=a kind=status seq=1 part=1 -->": true,
	} {
		t.Run(body, func(t *testing.T) {
			got, ok := ghsync.ParseMarker(body)
			if ok != want {
				t.Errorf("%q: %v", body, ok)
			}
			if ok && strings.Contains(body, "2/3") && got != marker {
				t.Errorf("%q: %+v", body, got)
			}
		})
	}
}
