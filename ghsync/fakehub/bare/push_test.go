package bare_test

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
)

const (
	oldID  = "1111111111111111111111111111111111111111"
	newID  = "2222222222222222222222222222222222222222"
	zeroID = "0000000000000000000000000000000000000000"
)

func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

func TestReadUpdatesEndsAtTheFlush(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(
		line(oldID+" "+newID+" refs/heads/main\x00report-status side-band-64k") + line(oldID+" "+zeroID+" refs/heads/old\n") + "0000PACK"))
	updates, caps := bare.ReadUpdates(in)
	if len(updates) != 2 || updates[0] != (bare.Update{Old: oldID, New: newID, Ref: "refs/heads/main"}) {
		t.Fatalf("updates %+v", updates)
	}
	if updates[0].Deletes() || !updates[1].Deletes() {
		t.Error("the second update alone deletes its ref")
	}
	if caps != "report-status side-band-64k" {
		t.Errorf("capabilities %q", caps)
	}
	if rest, _ := in.Peek(4); string(rest) != "PACK" {
		t.Errorf("the pack begins with %q", rest)
	}
}

func FuzzReadUpdates(f *testing.F) {
	f.Add([]byte(line(oldID+" "+newID+" refs/heads/main\x00caps") + "0000"))
	f.Add([]byte("0003"))
	f.Add([]byte("ffff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		updates, _ := bare.ReadUpdates(bufio.NewReader(bytes.NewReader(data)))
		for _, u := range updates {
			if strings.Contains(u.Old, " ") || strings.Contains(u.New, " ") {
				t.Errorf("update %+v", u)
			}
		}
	})
}

func TestReportRefusesEveryUpdate(t *testing.T) {
	updates := []bare.Update{{Ref: "refs/heads/a"}, {Ref: "refs/heads/b"}}
	plain := string(bare.Report(updates, map[string]string{"refs/heads/a": "no"}, nil, false))
	want := line("unpack ok\n") + line("ng refs/heads/a no\n") + line("ng refs/heads/b pre-receive hook declined\n") + "0000"
	if plain != want {
		t.Errorf("got %q, want %q", plain, want)
	}
	banded := string(bare.Report(updates[:1], map[string]string{"refs/heads/a": "no"}, []string{"note"}, true))
	if !strings.HasPrefix(banded, line("\x02note\n")) || !strings.HasSuffix(banded, "0000") {
		t.Errorf("got %q", banded)
	}
}
