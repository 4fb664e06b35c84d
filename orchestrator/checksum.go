package orchestrator

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"regexp"
)

// checksumKey is the last key of state.json: <seq>/<updated_at>/<CRC-32C of the file without
// this line>, with no updated_at where that is not a time as this program writes it. A program
// that does not know the key keeps the line as it is, so a sum of another commit says nothing.
// Who edits the file by hand takes the line out. It tells damage and not forgery: whoever can
// write the file can write the sum.
const checksumKey = "checksum"

var (
	checksumLine = regexp.MustCompile(`,\n  "` + checksumKey + `": "(-?[0-9]+)/([0-9TZ:.-]*)/([0-9a-f]{8})"\n}\n?$`)
	checksumTime = regexp.MustCompile(`^[0-9TZ:.-]*$`)
	castagnoli   = crc32.MakeTable(crc32.Castagnoli) // the polynomial that processors compute
)

// seal adds the checksum to an encoded state.
func (s *State) seal(body []byte) []byte {
	sum := crc32.Checksum(body, castagnoli)
	out := bytes.TrimSuffix(body, []byte("\n}\n"))
	updated := s.UpdatedAt
	if !checksumTime.MatchString(updated) {
		updated = ""
	}
	return fmt.Appendf(out, ",\n  %q: \"%d/%s/%08x\"\n}\n", checksumKey, s.Seq, updated, sum)
}

// sealBroken says why a file is not as this program wrote it, or "". The keys are those of
// the file.
func sealBroken(data []byte, keys map[string]rawJSON) string {
	sealed, ok := keys[checksumKey]
	if !ok {
		return ""
	}
	const edited = `; if you edited it, take out its line "` + checksumKey + `"`
	m := checksumLine.FindSubmatchIndex(data)
	if m == nil {
		return "is not as it was written: " + checksumKey + " " + cut(string(sealed), 40) + edited
	}
	seq, updated, want := data[m[2]:m[3]], data[m[4]:m[5]], data[m[6]:m[7]]
	body := append(bytes.Clone(data[:m[0]]), "\n}\n"...)
	if fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) == string(want) {
		return ""
	}
	if number, there := keys["seq"]; there && string(number) != string(seq) {
		return "" // the version before wrote it since
	}
	if at, there := keys["updated_at"]; there && len(updated) > 0 && string(at) != `"`+string(updated)+`"` {
		return ""
	}
	return "is not as it was written: its checksum does not fit" + edited
}
