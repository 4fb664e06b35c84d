package checkpoint_test

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agentmux/agentmux/bot/checkpoint"
)

// Case 68: what is found in a file that is read window by window is what is found in it as a whole, wherever in a window a
// secret lies, how it is written and how long the lines are.
func TestGitHub68SecretsBetweenWindows(t *testing.T) {
	t.Parallel()
	const size, overlap = 2048, 512
	known, value := secrets(t)
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		const all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		text := make([]byte, n)
		for i := range text {
			text[i] = all[random.IntN(len(all))]
		}
		return string(text)
	}
	planted := []func() string{
		func() string { return value },
		func() string { return base64.StdEncoding.EncodeToString([]byte(value)) },
		func() string { return hex.EncodeToString([]byte(value)) },
		func() string { return strings.Join(strings.Split(value, ""), " \n") },
		func() string { return " gh" + "p_" + letters(36) + " " },
		func() string { return " gh" + "p_" + letters(30) + " " }, // too short
		func() string { return "\nnpm" + "_" + letters(36) + "\n" },
		func() string { return `{"a":"x\nnpm` + "_" + letters(36) + `\"}` },
		func() string { return "x" + "npm" + "_" + letters(36) + " " }, // in the middle of a word
		func() string { return "AccountKey" + "=" + letters(86) + "==;" },
		func() string { return " " + letters(76) + "AZDO" + letters(4) + " " },
		func() string { return " postgres://" + letters(10) + ":" + letters(20) + "@" + "db.shop.com/ " },
		func() string { return " postgres://" + letters(10) + ":" + letters(20) + "@" + "db.example.com/ " }, // of an example
		func() string {
			return "\n-----BEGIN " + "PRIVATE KEY-----\n" + letters(64) + "\n" + letters(64) + "\n-----END " + "PRIVATE KEY-----\n"
		},
		func() string { return strings.Repeat(`\`, 50) + "n" },
	}
	found, texts := 0, 120
	if testing.Short() {
		texts = 60
	}
	for n := range texts {
		var text strings.Builder
		line := []int{40, 400, 1 << 20}[n%3] // at most
		for want := random.IntN(5 * size); text.Len() < want; {
			text.WriteString(letters(1+random.IntN(12)) + []string{" ", ", ", "-", `\t`}[random.IntN(3+n/3%2)])
			if random.IntN(line/6+1) == 0 {
				text.WriteString("\n")
			}
		}
		file := text.String()
		for range random.IntN(3) {
			secret := planted[random.IntN(len(planted))]()
			at := random.IntN(len(file) + 1)
			if border := (1+random.IntN(4))*size - random.IntN(4)*overlap; random.IntN(3) > 0 && border <= len(file) {
				at = max(0, border-random.IntN(len(secret)+1))
			}
			file = file[:at] + secret + file[at:]
		}
		want := checkpoint.Secret(known, file)
		got, err := checkpoint.SecretIn(known, size, overlap, iotest.HalfReader(strings.NewReader(file)))
		if err != nil || got != want {
			t.Errorf("text %d: %q, %v; as a whole %q", n, got, err, want)
		}
		if want != "" {
			found++
		}
	}
	if found < texts/3 || found > texts-texts/24 {
		t.Errorf("%d of %d texts with secrets", found, texts)
	}
	if _, err := checkpoint.SecretIn(known, size, overlap, iotest.TimeoutReader(strings.NewReader(strings.Repeat("a", size+1)))); err == nil {
		t.Error("a file that cannot be read has no secrets")
	}
}
