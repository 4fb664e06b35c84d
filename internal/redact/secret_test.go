package redact_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/redact"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	value := random(40, 30, alnum)
	secret := redact.NewSecret(value)
	type holder struct {
		Token  redact.Secret
		hidden redact.Secret
	}
	held := holder{secret, secret}
	nested := map[string]any{"a": []redact.Secret{secret}, "b": &held, "c": &secret, "d": map[string]holder{"x": held}}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%t", "%10.3s"} {
		fmt.Fprintf(&out, verb+verb+verb+verb+"\n", secret, &secret, held, nested)
	}
	fmt.Fprint(&out, secret, held, fmt.Errorf("call with %v", secret))
	for _, v := range []any{secret, held, nested} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	if data, err := xml.Marshal(secret); err == nil {
		out.Write(data)
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "token", secret, "held", held, slog.Group("g", "t", &secret))
	}
	out.Write(log.Bytes())
	text := out.String()
	if strings.Contains(text, value) || strings.Contains(text, fmt.Sprintf("%x", value)) || strings.Contains(text, value[:3]+" ") {
		t.Errorf("the value was printed: %s", text)
	}
	if strings.Count(text, "[token]") < 20 {
		t.Errorf("[token] is missing: %s", text)
	}
	if secret.Reveal() != value || secret.IsZero() {
		t.Error("the value is lost")
	}
	if zero := (redact.Secret{}); !zero.IsZero() || zero.Reveal() != "" || zero.String() != "[token]" {
		t.Error("the zero Secret is not empty")
	}
}

func TestSecretCanBeSearchedFor(t *testing.T) {
	value := random(41, 30, alnum)
	r := redact.New()
	if err := r.AddSecret("github", redact.NewSecret(value)); err != nil {
		t.Fatal(err)
	}
	if got := r.Redact(value); got != "[redacted:github]" {
		t.Errorf("got %q", got)
	}
}
