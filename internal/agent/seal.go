package agent

import (
	"crypto/ed25519"
	"encoding/hex"
	"os"

	"github.com/agentmux/agentmux/internal/shield"
)

// sealName is the variable with which a launch signs what it says. Its name has none of the
// words for which programs keep a variable from the tools they start.
const sealName = "AGENTMUX_SEAL"

// maxChecks is how many of the checks of a launch are kept: one for each time it was prepared.
const maxChecks = 8

// newSeal makes the secret of one launch, and what its lines are checked with. The second may
// be read by everybody, so that a later host knows it although no file holds a secret.
func newSeal() (seal, check string) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // never: the source of randomness does not fail since Go 1.24
	}
	return hex.EncodeToString(private.Seed()), hex.EncodeToString(public)
}

// Seal is what this process signs with: of its launch, or "" outside of one. Some programs
// start their tools without most variables; then it is that of the nearest parent that has it.
func Seal() string {
	if seal := os.Getenv(sealName); seal != "" {
		return seal
	}
	pid := os.Getpid()
	for range maxAncestors {
		if pid = shield.Parent(pid); pid <= 1 {
			return ""
		}
		if seal := variableOf(pid, sealName); seal != "" {
			return seal
		}
	}
	return ""
}
