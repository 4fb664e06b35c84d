package settings_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the plugin tells of an error has the status in the form of opencode's stream, by which a fault is named.
func TestThePluginOfOpencodeTellsTheStatusOfAnError(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	l := newLaunch(t)
	told := filepath.Join(t.TempDir(), "told")
	l.Self = filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(l.Self, []byte("#!/bin/sh\nfor word; do :; done\n{ echo \"$word\"; cat; echo; } >>"+told+"\necho '{}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, l, "opencode")
	plugin, err := os.ReadFile(filepath.Join(l.Dir, "agentmux.js"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(l.Dir, "test.mjs")
	const calls = `
const p = await Agentmux({ client: {} })
await p["chat.message"]({ sessionID: "s" }, { parts: [{ text: "go" }] })
for (const data of [{ message: "slow down", statusCode: 429 }, { message: "no more" }])
  await p.event({ event: { type: "session.error", properties: { sessionID: "s", error: { name: "APIError", data } } } })
`
	if err := os.WriteFile(program, append(plugin, calls...), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`StopFailure` + "\n" + `{"session_id":"s","error":"APIError","error_details":"\"statusCode\":429 slow down"}`,
		`StopFailure` + "\n" + `{"session_id":"s","error":"APIError","error_details":"no more"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("told %s, want %s", text, want)
		}
	}
}
