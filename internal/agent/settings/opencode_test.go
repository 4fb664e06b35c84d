package settings_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pluginTells runs calls of the plugin p of a launch, and returns the hooks that it ran, each with its event.
func pluginTells(t *testing.T, headless bool, calls string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	l := newLaunch(t)
	l.Headless = headless
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
	if err := os.WriteFile(program, append(plugin, "\nconst p = await Agentmux({ client: {} })\nawait p[\"chat.message\"]({ sessionID: \"s\" }, { parts: [{ text: \"go\" }] })\n"+calls...), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What the plugin tells of an error has the status in the form of opencode's stream, by which a fault is named.
func TestThePluginOfOpencodeTellsTheStatusOfAnError(t *testing.T) {
	text := pluginTells(t, false, `
for (const data of [{ message: "slow down", statusCode: 429 }, { message: "no more" }])
  await p.event({ event: { type: "session.error", properties: { sessionID: "s", error: { name: "APIError", data } } } })
`)
	for _, want := range []string{
		`StopFailure` + "\n" + `{"session_id":"s","error":"APIError","error_details":"\"statusCode\":429 slow down"}`,
		`StopFailure` + "\n" + `{"session_id":"s","error":"APIError","error_details":"no more"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("told %s, want %s", text, want)
		}
	}
}

// What each answer used is told once, when it is complete; not of a headless run, which tells it in its stream.
func TestThePluginOfOpencodeTellsTheUsage(t *testing.T) {
	const calls = `
const info = { id: "m1", role: "assistant", sessionID: "s", time: {}, cost: 0.25, tokens: { input: 100, output: 20, reasoning: 5, cache: { read: 10, write: 3 } } }
const updated = (info) => p.event({ event: { type: "message.updated", properties: { info } } })
await updated(info)
await updated({ id: "u1", role: "user", sessionID: "s", time: { completed: 1 } })
for (let n = 0; n < 2; n++) await updated({ ...info, time: { completed: 1 } })
await updated({ ...info, id: "m2", sessionID: "helper", time: { completed: 1 } })
`
	const want = `Usage` + "\n" + `{"session_id":"s","usage":{"input_tokens":100,"output_tokens":25,"reasoning_tokens":5,"cache_read_tokens":10,"cache_write_tokens":3,"turn_usd":0.25,"turns":1}}`
	if text := pluginTells(t, false, calls); strings.Count(text, want) != 2 || strings.Count(text, "Usage") != 2 {
		t.Errorf("told %s, want twice %s", text, want)
	}
	if text := pluginTells(t, true, calls); strings.Contains(text, "Usage") {
		t.Errorf("a headless run told %s", text)
	}
}
