package agent

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"strings"

	"github.com/agentmux/agentmux/internal/agent/process"
)

// sealName is the variable with the secret by which a launch signs its lines. The name has none
// of the words by which programs withhold a variable from the tools they start.
const sealName = "AGENTMUX_SEAL"

// sealBegins is how a seal begins, so that package redact knows one in any text, also in the host after the one that made
// it. Those of older versions have nothing before the secret.
const sealBegins = "agentmux_seal_"

// maxChecks is how many checks of a launch are kept: one for each time it was prepared.
const maxChecks = 8

// newSeal returns the secret of one launch and the check that verifies its lines. The check is
// public: launch.json has it for later hosts, and no file holds the secret.
func newSeal() (seal, check string) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // never: the source of randomness does not fail since Go 1.24
	}
	return sealBegins + hex.EncodeToString(private.Seed()), hex.EncodeToString(public)
}

// Seal returns the secret that this process signs with: that of its launch, or "" outside of
// one.
func Seal() string {
	return strings.TrimPrefix(cmp.Or(os.Getenv(sealName), process.Inherited(sealName)), sealBegins)
}
