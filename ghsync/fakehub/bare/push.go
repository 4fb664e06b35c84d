package bare

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const zeroID = "0000000000000000000000000000000000000000"

// Update is one command of a push.
type Update struct{ Old, New, Ref string }

// Deletes reports whether the update deletes the ref.
func (u Update) Deletes() bool { return u.New == zeroID }

// ReadUpdates reads the commands of a push up to the flush, and the capabilities.
func ReadUpdates(in *bufio.Reader) (updates []Update, caps string) {
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			return updates, caps
		}
		size, err := strconv.ParseInt(string(head), 16, 32)
		if err != nil || size < 4 {
			return updates, caps
		}
		line := make([]byte, size-4)
		if _, err := io.ReadFull(in, line); err != nil {
			return updates, caps
		}
		text, more, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\x00")
		caps += more
		if fields := strings.SplitN(text, " ", 3); len(fields) == 3 {
			updates = append(updates, Update{Old: fields[0], New: fields[1], Ref: fields[2]})
		}
	}
}

// Report is the answer of a server that took none of the updates.
func Report(updates []Update, refusals map[string]string, notes []string, sideband bool) []byte {
	var report bytes.Buffer
	pkt(&report, "unpack ok\n")
	for _, u := range updates {
		reason, refused := refusals[u.Ref]
		if !refused {
			reason = "pre-receive hook declined"
		}
		pkt(&report, fmt.Sprintf("ng %s %s\n", u.Ref, reason))
	}
	report.WriteString("0000")
	if !sideband {
		return report.Bytes()
	}
	var out bytes.Buffer
	for _, note := range notes {
		pkt(&out, "\x02"+note+"\n")
	}
	pkt(&out, "\x01"+report.String())
	out.WriteString("0000")
	return out.Bytes()
}

func pkt(out *bytes.Buffer, payload string) {
	fmt.Fprintf(out, "%04x%s", len(payload)+4, payload)
}
