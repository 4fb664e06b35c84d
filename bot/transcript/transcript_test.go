package transcript_test

import (
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/redact"
)

func TestSecurity33ATranscriptHoldsNoSecretAndIsCut(t *testing.T) {
	t.Parallel()
	dir, runtime := made(t)
	secret := "ghp_" + strings.Repeat("aB3", 12)
	launched(t, dir, "1.planner.1")
	take(t, runtime, dir, redact.New())
	if err := transcript.Send(t.Context(), strings.NewReader("token "+secret+"\nend\n"), dir, "1.planner.1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "transcripts", "1.planner.1.log")
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), secret) || !strings.HasSuffix(string(text), "\nend\n") {
		t.Errorf("transcript %q, %v", text, err)
	}
	long := strings.NewReader(strings.Repeat(strings.Repeat("x", 99)+"\n", 21<<20/100))
	if err := transcript.Send(t.Context(), long, dir, "1.planner.1"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() < 20<<20 || info.Size() > 20<<20+100 {
		t.Errorf("size %d, %v", info.Size(), err)
	}
	if err := transcript.Send(t.Context(), strings.NewReader(""), dir, "../x"); err == nil {
		t.Error("a launch with a path was accepted")
	}
}

// A secret is found although its characters have colours, and a transcript cannot control the
// terminal of the person who prints it.
func TestSecurity21ATranscriptIsText(t *testing.T) {
	t.Parallel()
	dir, runtime := made(t)
	secret := strings.ToLower(rand.Text())
	painted := "\x1b[31m" + strings.Join(strings.Split(secret, ""), "\x1b[0m\x1b[38;5;12m") + "\x1b[0m"
	redactor := redact.New()
	if err := redactor.Add("key", secret); err != nil {
		t.Fatal(err)
	}
	take(t, runtime, dir, redactor)
	moved := secret[:9] + "\r\n\x1b[2C" + secret[9:18] + "\x1b[7;3H" + secret[18:]
	for name, c := range map[string]struct{ in, want string }{
		"colours":     {"a " + painted + " b\r\n", "a [redacted:key] b\n"},
		"moves":       {"a\x1b[5;1Hb\x1b[4Cc\x1b[2Kd\x1b(Be\x1bcf\r\n", "a\nb cdef\n"},
		"progress":    {"10%\r20%\r\n\x1b[K\rx\r\n", "10%\n20%\nx\n"},
		"moved value": {moved + "\r\n", "[redacted:key]\n"},
		"strings":     {"a\x1b]52;c;aGk=\x07b\x1b]0;title\x1b\\c\x1bPq#0\x1b\\d\u009b31me\u009d0;x\u009cf\a\b\x7f\n", "abcdef\n"},
		"left open":   {"a\x1b]0;never ended\nb\x1b[12", "ab"},
		"other text":  {"é 日本 \xff\t.\u2028\n", "é 日本 \t.\u2028\n"},
	} {
		t.Run(name, func(t *testing.T) {
			launch := "1." + strings.ReplaceAll(name, " ", "") + ".1"
			launched(t, dir, launch)
			if err := transcript.Send(t.Context(), iotest.OneByteReader(strings.NewReader(c.in)), dir, launch); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "transcripts", launch+".log"))
			// Its first line may have been written before the second one came.
			text := strings.TrimPrefix(string(data), secret[:9]+"\n[redacted:key]\n")
			if err != nil || text != c.want {
				t.Errorf("%q, want %q, %v", data, c.want, err)
			}
		})
	}
}

// launched creates what a transcript needs of a launch.
func launched(t *testing.T, dir, launch string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "launches", launch), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Without a host, which knows the secrets, nothing is written. The next host gets everything,
// and what the former host wrote is in the file once.
func TestSecurity33ARecorderWaitsForAHost(t *testing.T) {
	t.Parallel()
	dir, runtime := made(t)
	launched(t, dir, "1.planner.1")
	file := filepath.Join(dir, "transcripts", "1.planner.1.log")
	secret := strings.ToLower(rand.Text())
	redactor := redact.New()
	if err := redactor.Add("key", secret); err != nil {
		t.Fatal(err)
	}
	in, words := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- transcript.Send(t.Context(), in, dir, "1.planner.1") }()
	say := func(text string) {
		t.Helper()
		if _, err := io.WriteString(words, text); err != nil {
			t.Fatal(err)
		}
	}
	say("first " + secret + "\n")
	if text, err := os.ReadFile(file); err == nil {
		t.Errorf("written without a host: %q", text)
	}
	written := func(want string) {
		t.Helper()
		eventually(t, "the transcript is "+want, func() bool {
			text, err := os.ReadFile(file)
			return err == nil && string(text) == want
		})
	}
	stop := take(t, runtime, dir, redactor)
	written("first [redacted:key]\n")
	stop()
	say("second " + secret)
	if err := words.Close(); err != nil {
		t.Fatal(err)
	}
	take(t, runtime, dir, redactor)
	written("first [redacted:key]\nsecond [redacted:key]")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A recorder that connects in the moment in which the host ends is left to the next host: this
// one would wait for it as long as its pane is there.
func TestARecorderThatComesAtTheEndIsLetGo(t *testing.T) {
	t.Parallel()
	dir, runtime := made(t)
	rs := recorders(t, dir, "", redact.New())
	if err := rs.Listen(runtime); err != nil {
		t.Fatal(err)
	}
	if err := rs.Close(); err != nil {
		t.Fatal(err)
	}
	host, recorder := net.Pipe()
	if err := recorder.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if rs.Hold(host) {
		t.Error("taken after the end")
	}
	if _, err := recorder.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
}

// A host that lost the directory of its socket, and could not make it again, lets go of the
// recorders that it has as any other.
func TestAHostWithoutASocketLetsGoOfItsRecorders(t *testing.T) {
	t.Parallel()
	dir, runtime := made(t)
	launched(t, dir, "1.planner.1")
	secret := strings.ToLower(rand.Text())
	of := func(host string) *redact.Redactor {
		r := redact.New()
		if err := r.Add(host, secret); err != nil {
			t.Fatal(err)
		}
		return r
	}
	lost := runtime + "-lost"
	rs := recorders(t, dir, lost, of("first"))
	if err := rs.Listen(runtime); err != nil {
		t.Fatal(err)
	}
	in, words := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- transcript.Send(t.Context(), in, dir, "1.planner.1") }()
	say := func(text string) {
		t.Helper()
		if _, err := io.WriteString(words, text); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "transcripts", "1.planner.1.log")
	say("begun\n")
	eventually(t, "the first host writes", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && string(text) == "begun\n"
	})
	if err := os.RemoveAll(runtime); err != nil {
		t.Fatal(err)
	}
	if socket := rs.Relisten(lost); socket != "" {
		t.Fatalf("it listens at %s", socket)
	}
	if err := rs.Close(); err != nil {
		t.Error(err)
	}
	take(t, runtime, dir, of("second"))
	say(secret + "\n")
	if err := words.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "begun\n[redacted:second]\n" {
		t.Errorf("transcript %q, %v", text, err)
	}
}
