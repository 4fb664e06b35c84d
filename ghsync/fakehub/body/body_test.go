package body_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/body"
)

// The bytes are those of encoding/json, by which entity tags and sizes of answers are what they were.
func TestTheBytesAreThoseOfTheStandardLibrary(t *testing.T) {
	text := "plain <b> & \"quoted\" \\ \u2028 é 🙂 \xff"
	for c := range rune(0x100) {
		text += string(c) + string([]byte{byte(c)})
	}
	type told struct {
		Name string `json:"name,omitempty"`
		At   *int   `json:"at"`
	}
	values := []any{
		nil, true, false, 0, -1, math.MaxInt, int64(math.MinInt64), int32(7), uint8(7), 1.5, 1e30, "", "plain", text,
		map[string]any(nil), map[string]any{}, []any(nil), []any{}, []string{"a", "<"}, map[string]string{"b": "1", "a": "&"}, map[string]int{"b": 1, "a": 2},
		told{"<x>", nil}, &told{}, (*told)(nil), json.RawMessage(`{"a": [1]}`), time.Unix(1, 5).UTC(), []byte("bytes"),
		map[string]any{"b": []any{1, "two", nil, map[string]any{"<c>": told{}}}, "a": map[string]any{"z": int64(1), "é": false, "": []any{[]any{}}}},
	}
	for _, c := range text {
		values = append(values, string(c), map[string]any{string(c): string(c)})
	}
	for _, v := range append(values, values) {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := body.JSON(v); string(got) != string(want) {
			t.Errorf("%#v:\n%s\nwant\n%s", v, got, want)
		}
	}
}

func TestWhatCannotBeEncodedIsAMistakeOfTheFake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it was encoded")
		}
	}()
	body.JSON(map[string]any{"a": math.NaN()})
}
