package lenient_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agentmux/agentmux/internal/lenient"
)

func TestReadTakesWhatHasTheRightType(t *testing.T) {
	type item struct {
		Name string   `json:"name"`
		N    int      `json:"n"`
		List []string `json:"list"`
	}
	for name, c := range map[string]struct {
		data string
		want item
	}{
		"all":                 {`{"name":"a","n":2,"list":["x"]}`, item{"a", 2, []string{"x"}}},
		"a wrong type beside": {`{"name":7,"n":2}`, item{N: 2}},
		"a fraction":          {`{"n":2.9}`, item{N: 2}},
		"some of a list":      {`{"list":["x",7,"y"]}`, item{List: []string{"x", "y"}}},
		"not an object":       {`[1]`, item{}},
		"not JSON":            {`{"name":`, item{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got item
			lenient.Read([]byte(c.data), &got)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("read %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestOtherSpellings(t *testing.T) {
	for name, c := range map[string]struct {
		turn     func(json.RawMessage) json.RawMessage
		raw, out string
	}{
		"a number as text":    {lenient.Number, `" 42 "`, `42`},
		"a number":            {lenient.Number, `42`, `42`},
		"a word for a number": {lenient.Number, `"many"`, `"many"`},
		"a text as a number":  {lenient.Text, `42`, `"42"`},
		"a text":              {lenient.Text, `"42"`, `"42"`},
		"null":                {lenient.Text, `null`, `null`},
		"a list of both":      {lenient.Texts, `[1,"b"]`, `["1","b"]`},
		"a prefix":            {lenient.Bare("plan_"), `[1,"plan_2"]`, `["1","2"]`},
		"no list":             {lenient.Texts, `{}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(c.turn(json.RawMessage(c.raw))); got != c.out {
				t.Errorf("%s, want %s", got, c.out)
			}
		})
	}
}
