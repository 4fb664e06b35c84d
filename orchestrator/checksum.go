package orchestrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
)

// checksumKey is the last key of state.json: <seq>/<updated_at>/<CRC-32C of the file without
// this line>. A program that does not know the key keeps the line as it is, so a sum of
// another commit says nothing. Who edits the file by hand takes the line out. It tells damage
// and not forgery: whoever can write the file can write the sum.
const checksumKey = "checksum"

var checksumParts = regexp.MustCompile(`(?s)^(-?[0-9]+)/(.*)/([0-9a-f]{8})$`)

// checksum is the CRC-32C of body in hex. Processors compute this polynomial.
func checksum(body []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// seal adds the checksum to an encoded state.
func (s *State) seal(body []byte) []byte {
	line, _ := json.Marshal(fmt.Sprintf("%d/%s/%s", s.Seq, s.UpdatedAt, checksum(body))) // a string never fails
	return fmt.Appendf(bytes.TrimSuffix(body, []byte("\n}\n")), ",\n  %q: %s\n}\n", checksumKey, line)
}

// sealBroken says why a file is not as this program wrote it, or "". The keys are those of
// the file.
func sealBroken(data []byte, keys map[string]rawJSON) string {
	sealed, ok := keys[checksumKey]
	if !ok {
		return ""
	}
	const edited = `; if you edited it, take out its line "` + checksumKey + `"`
	at, parts := bytes.LastIndex(data, []byte(",\n  \""+checksumKey+"\": ")), checksumParts.FindStringSubmatch(plainText(sealed))
	if at < 0 || parts == nil {
		return "is not as it was written: " + checksumKey + " " + Truncate(string(sealed), 40) + edited
	}
	if checksum(append(bytes.Clone(data[:at]), "\n}\n"...)) == parts[3] {
		return ""
	}
	if number, there := keys["seq"]; there && string(number) != parts[1] {
		return "" // the version before wrote it since
	}
	if updated, there := keys["updated_at"]; there && plainText(updated) != parts[2] {
		return ""
	}
	return "is not as it was written: its checksum does not fit" + edited
}

// plainText is the string a raw value holds, or "".
func plainText(raw rawJSON) (s string) {
	_ = json.Unmarshal(raw, &s) // another kind of value holds none
	return s
}
