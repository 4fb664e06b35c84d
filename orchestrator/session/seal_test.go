package session_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestSecurity19ASealHoldsTheWholeLine signs a line and changes it, its order of keys and its
// signature; and asks with the key of another launch.
func TestSecurity19ASealHoldsTheWholeLine(t *testing.T) {
	s, _ := entered(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	line := &session.NewLine{
		Tool: "report_status", Role: "planner", Launch: "1.planner.1", Visit: 1, Seal: hex.EncodeToString(private.Seed()),
		Payload: orchestrator.Payload{Message: `a text with ,"mac":"00"} in it`},
	}
	if err := s.Append(session.ToolEvents, time.Now(), func(session.Tail) (*session.NewLine, error) { return line, nil }); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.Path(session.ToolEvents))
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimSpace(whole)
	check := []string{hex.EncodeToString(other), hex.EncodeToString(public)}
	if !session.Genuine(session.ParseLine(whole), check) {
		t.Errorf("not believed: %s", whole)
	}
	if session.Genuine(session.ParseLine(whole), check[:1]) {
		t.Error("believed with the key of another launch")
	}
	for from, to := range map[string]string{
		`"planner"`: `"coder"`, `"a text`: `"b text`, `"visit":1`: `"visit":2`, `{"tool"`: `{"role":"coder","tool"`,
		`"}`: `","role":"coder"}`, `,"mac":"`: `,"Mac":"`,
	} {
		changed := bytes.Clone(whole)
		at := bytes.LastIndex(changed, []byte(from))
		if at < 0 {
			t.Fatalf("%s is not in %s", from, whole)
		}
		changed = append(append(bytes.Clone(changed[:at]), to...), changed[at+len(from):]...)
		if session.Genuine(session.ParseLine(changed), check) {
			t.Errorf("believed: %s", changed)
		}
	}
}
