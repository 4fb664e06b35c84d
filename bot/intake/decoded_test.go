package intake_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoded finds the repository of a delivery with encoding/json. ok is false for what is not JSON,
// or has an escape in a name: no name of GitHub has one.
func decoded(body []byte) (id int64, name string, ok bool) {
	var all, repo map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		var other any
		return 0, "", json.Unmarshal(body, &other) == nil
	}
	if strings.Contains(string(body), `\`) || !utf8.Valid(body) {
		return 0, "", false
	}
	raw := all["repository"]
	if json.Unmarshal(raw, &repo) != nil {
		return 0, "", true
	}
	if text := string(repo["id"]); regexp.MustCompile(`^[0-9]{1,18}$`).MatchString(text) {
		id, _ = strconv.ParseInt(text, 10, 64)
	}
	if json.Unmarshal(repo["full_name"], &name) != nil || len(name) > 200 {
		name = ""
	}
	return id, name, true
}
