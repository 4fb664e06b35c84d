package duty_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// The digest of a gate that shows no held paths is that of the versions that knew of none: a gate that is open when
// the program is replaced is answered by what its comment says. Held paths make it another one.
func TestAGateKeepsItsDigest(t *testing.T) {
	s := &orchestrator.State{SessionID: "s1", Visit: 4, ChangeRound: 1, BaseSHA: "b0", PlanSHA256: "p0"}
	s.Integrated.Tree = "t0"
	s.Completion.Findings = []string{"a key in a.go"}
	g := &orchestrator.Gate{Name: orchestrator.GateCompletion, Reason: orchestrator.GateBlocked, OpenedAt: orchestrator.At(time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC))}
	sum := sha256.Sum256([]byte(`["gate","s1","completion","` + string(orchestrator.GateBlocked) + `","2026-01-15T10:00:00.000Z",4,1,"b0","p0","t0",false,["a key in a.go"]]`))
	first := duty.GateDigest(g, s)
	if first != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s", first)
	}
	s.Completion.Asked = []string{"CODEOWNERS"}
	if duty.GateDigest(g, s) == first {
		t.Error("a held path is approved without being shown")
	}
}
