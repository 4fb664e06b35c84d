// Package seal owns the last line of state.json, which tells whether a file is as it was
// written. It tells damage and not forgery: a program that can write the file can write the sum.
package seal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"

	"github.com/agentmux/agentmux/internal/lenient"
)

// Key is the last key of the file: <seq>/<updated_at>/<CRC-32C of the file without this line>.
// A program that does not know the key keeps the line as it is, so a sum of another commit
// says nothing. A person who edits the file takes the line out.
const Key = "checksum"

var parts = regexp.MustCompile(`(?s)^(-?[0-9]+)/(.*)/([0-9a-f]{8})$`)

// before is what the file has before the value of Key.
const before = ",\n  \"" + Key + "\": "

// sum is the CRC-32C in hex of the file that body begins, without the line. Processors compute this
// polynomial.
func sum(body []byte) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	return fmt.Sprintf("%08x", crc32.Update(crc32.Checksum(body, table), table, []byte("\n}\n")))
}

// Add adds the line to an encoded state, which ends with its brace and a newline.
func Add(body []byte, seq int, updated string) []byte {
	body = bytes.TrimSuffix(body, []byte("\n}\n"))
	line, _ := json.Marshal(fmt.Sprintf("%d/%s/%s", seq, updated, sum(body))) // a string never fails
	return fmt.Appendf(body, "%s%s\n}\n", before, line)
}

// Keys returns the keys of a file whose sum fits, without Key, and nil for any other file. The file has
// each of its keys at the beginning of a line, behind two spaces, as json.Indent writes them.
func Keys(data []byte) (keys []string) {
	for line := range bytes.Lines(whole(data)) {
		if key, ok := bytes.CutPrefix(line, []byte(`  "`)); ok {
			key, _, _ = bytes.Cut(key, []byte(`"`))
			keys = append(keys, string(key))
		}
	}
	return keys
}

// Seq returns the number of the last record, without judging the rest of the file. A follower asks for it at
// each look: of a file whose sum fits, one line is read.
func Seq(data []byte) (int, error) {
	_, value, _ := bytes.Cut(whole(data), []byte("\n  \"seq\": "))
	value, _, _ = bytes.Cut(value, []byte(",\n"))
	if seq, err := strconv.Atoi(string(value)); err == nil {
		return seq, nil
	}
	return lenient.Int(data, "seq")
}

// whole returns what is before the line of a file whose sum fits, and nothing of any other file.
func whole(data []byte) []byte {
	data, ended := bytes.CutSuffix(data, []byte("\n}\n"))
	at := bytes.LastIndex(data, []byte(before))
	if !ended || at < 0 {
		return nil
	}
	found := parts.FindStringSubmatch(text(data[at+len(before):]))
	if found == nil || sum(data[:at]) != found[3] {
		return nil
	}
	return data[:at]
}

// Broken says why a file is not as it was written, or "". The keys are those of the file.
func Broken(data []byte, keys map[string]json.RawMessage) string {
	sealed, ok := keys[Key]
	if !ok {
		return ""
	}
	const edited = `; if you edited it, take out its line "` + Key + `"`
	at, found := bytes.LastIndex(data, []byte(before)), parts.FindStringSubmatch(text(sealed))
	if at < 0 || found == nil {
		return fmt.Sprintf("is not as it was written: %s %.40s%s", Key, sealed, edited)
	}
	if sum(data[:at]) == found[3] {
		return ""
	}
	if number, there := keys["seq"]; there && string(number) != found[1] {
		return "" // the version before wrote it since
	}
	if updated, there := keys["updated_at"]; there && text(updated) != found[2] {
		return ""
	}
	return "is not as it was written: its checksum does not fit" + edited
}

// text is the string a raw value holds, or "".
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // another kind of value holds none
	return s
}
