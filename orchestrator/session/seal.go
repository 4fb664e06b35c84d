package session

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
)

// sealKey is the last key of a line that a launch has signed. What is signed is the line as it
// would be without it, so that the reader need not compose the same bytes again.
const sealKey = `,"mac":"`

// sealed adds the signature to a line.
func sealed(line []byte, seal string) ([]byte, error) {
	seed, err := hex.DecodeString(seal)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("sign line: the seal of the launch is not readable")
	}
	mac := ed25519.Sign(ed25519.NewKeyFromSeed(seed), line)
	return append(bytes.TrimSuffix(line, []byte("}")), sealKey+hex.EncodeToString(mac)+`"}`...), nil
}

// unsealed parts a line from its signature; mac is nil if it has none.
func unsealed(line []byte) (signed, mac []byte) {
	line = bytes.TrimSpace(line)
	at := bytes.LastIndex(line, []byte(sealKey))
	if at < 0 {
		return nil, nil
	}
	mac, err := hex.DecodeString(string(bytes.TrimSuffix(line[at+len(sealKey):], []byte(`"}`))))
	if err != nil || len(mac) != ed25519.SignatureSize {
		return nil, nil
	}
	return append(bytes.Clone(line[:at]), '}'), mac
}

// Genuine reports whether the launch with one of these checks has written the line.
func Genuine(l orchestrator.Line, checks []string) bool {
	for _, check := range checks {
		key, err := hex.DecodeString(check)
		if err == nil && len(key) == ed25519.PublicKeySize && len(l.MAC) > 0 && ed25519.Verify(key, l.Signed, l.MAC) {
			return true
		}
	}
	return false
}

// Checks are what the lines of a launch are checked with; a launch of an older version has
// none.
func (s *Session) Checks(launch orchestrator.Launch) ([]string, error) {
	data, err := ReadFile(s.Path(LaunchesDir + "/" + string(launch) + "/launch.json"))
	if err != nil {
		return nil, err
	}
	var l struct {
		Checks []string `json:"checks"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("read launch %s: %w", launch, err)
	}
	return l.Checks, nil
}

// Seals reports whether the launch with one of these checks signs with seal.
func Seals(seal string, checks []string) bool {
	seed, err := hex.DecodeString(seal)
	if err != nil || len(seed) != ed25519.SeedSize {
		return false
	}
	public, ok := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return ok && slices.Contains(checks, hex.EncodeToString(public))
}
