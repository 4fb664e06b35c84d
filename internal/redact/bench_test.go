package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
)

// hostile are texts that make a careless search slow.
func hostile() map[string]string {
	const size = 1 << 20
	fill := func(part string) string { return strings.Repeat(part, size/len(part)) }
	return map[string]string{
		"prose":        fill("The quick brown fox jumps over the lazy dog.\n"),
		"base64":       base64.StdEncoding.EncodeToString([]byte(random(50, size*3/4, alnum))),
		"nested":       nested(size),
		"one letter":   fill("a"),
		"hex":          fill("0123456789abcdef"),
		"escapes":      fill(`\u0041%41&#65;`),
		"half escapes": fill(`\\\u004%4&#6`),
		"jwt":          fill("eyJ-"),
		"jwt dots":     fill("eyJaaaaaaaaaaaaa."),
		"tokens":       fill("ghp_." + "sk-"),
		"keys":         fill("-----BEGIN PRIVATE KEY-----"),
		"open key":     "-----BEGIN PRIVATE KEY-----" + fill("a"),
		"urls":         fill("://a:"),
		"found":        fill(token("ghp_", 36) + "\n"),
	}
}

// nested is base64 of base64, as often as is looked into.
func nested(size int) string {
	text := random(53, size*81/256, alnum)
	for range 4 {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return text
}

func BenchmarkScan1MiB(b *testing.B) {
	r := redact.New()
	for seed := range uint64(1000) {
		if err := r.Add("token", "ghs_"+random(seed, 516, alnum)); err != nil {
			b.Fatal(err)
		}
	}
	for name, text := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Scan(text)
			}
		})
	}
}

func BenchmarkScanOfTheValueItself(b *testing.B) {
	value := random(51, 520, alnum)
	r := knowing(b, value)
	text := strings.Repeat(value, 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Scan(text)
	}
}

func BenchmarkScanOfAPoorValue(b *testing.B) {
	r := knowing(b, strings.Repeat("a", 64))
	text := strings.Repeat("a", 1<<20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Scan(text)
	}
}

func BenchmarkRedactLogLine(b *testing.B) {
	r := knowing(b, random(52, 520, alnum))
	line := `time=2026-01-15T11:05:12Z level=INFO msg="phase entered" session=20260115-110512-issue-12 phase=reviewing`
	for b.Loop() {
		r.Redact(line)
	}
}

func BenchmarkAdd(b *testing.B) {
	r := redact.New()
	for seed := uint64(0); b.Loop(); seed++ {
		if err := r.Add("token", random(seed, 520, alnum)); err != nil {
			b.Fatal(err)
		}
	}
}
