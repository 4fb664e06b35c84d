package session_test

import (
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub/session"
)

func TestMarkerOf(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       session.Marker
		has        bool
	}{
		{"whole text", "x\n<!-- agentmux session=s kind=final seq=5 -->\r\n", session.Marker{Session: "s", Kind: "final", Seq: "5"}, true},
		{"part", "x\n<!-- agentmux session=s kind=verdict seq=5 part=2/3 -->", session.Marker{Session: "s", Kind: "verdict", Seq: "5", Part: "2/3"}, true},
		{"quoted above", "<!-- agentmux session=s kind=final seq=5 -->\nx", session.Marker{}, false},
		{"words on its line", "x <!-- agentmux session=s kind=final seq=5 -->", session.Marker{}, false},
		{"no marker", "x", session.Marker{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, has := session.MarkerOf(tt.text)
			if got != tt.want || has != tt.has {
				t.Errorf("got %+v, %t", got, has)
			}
		})
	}
}

func TestLastIsTheLastOfTwoMarkers(t *testing.T) {
	const text = "<!-- agentmux session=a kind=final seq=5 -->\n> <!-- agentmux session=b kind=status seq=1 --> x"
	if got := session.Last(text); got != "b" {
		t.Errorf("got %q", got)
	}
	if got := session.Last("x"); got != "" {
		t.Errorf("got %q of a text without a marker", got)
	}
}
