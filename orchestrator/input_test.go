package orchestrator_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agentmux/agentmux/internal/lenient"
	"github.com/agentmux/agentmux/orchestrator"
)

func TestArgumentsOfCommands(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		want    orchestrator.CommandArgs
		wrong   string
	}{
		"none":           {payload: `{"name":"pause"}`},
		"null":           {payload: `{"name":"pause","args":null}`},
		"each":           {payload: `{"name":"approve","args":{"exclude":["a"],"id":"q1","message":"m","of":"d","role":"coder","text":"t"}}`, want: orchestrator.CommandArgs{Exclude: []string{"a"}, ID: "q1", Message: "m", Of: "d", Role: "coder", Text: "t"}},
		"a wrong type":   {payload: `{"name":"answer","args":{"id":7,"text":"t","later":{"a":1}}}`, want: orchestrator.CommandArgs{Text: "t"}},
		"a list of both": {payload: `{"name":"approve","args":{"exclude":["a",7,"b"]}}`, want: orchestrator.CommandArgs{Exclude: []string{"a", "b"}}},
		"not an object":  {payload: `{"name":"approve","args":"a"}`, wrong: "args: found string"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := (&orchestrator.Line{Payload: json.RawMessage(c.payload)}).Decode()
			if (err != nil) != (c.wrong != "") || err != nil && lenient.Cause(err) != c.wrong {
				t.Fatalf("read with %v, want %q", err, c.wrong)
			}
			if !reflect.DeepEqual(p.Args, c.want) {
				t.Errorf("read as %+v, want %+v", p.Args, c.want)
			}
		})
	}
	const written = `{"name":"approve","args":{"exclude":["a"],"message":"m","of":"d"}}`
	data, err := json.Marshal(orchestrator.Payload{Name: "approve", Args: orchestrator.CommandArgs{Exclude: []string{"a"}, Message: "m", Of: "d"}})
	if err != nil || string(data) != written {
		t.Errorf("written as %s, %v", data, err)
	}
	if data, err = json.Marshal(orchestrator.Payload{Name: "pause"}); err != nil || string(data) != `{"name":"pause"}` {
		t.Errorf("written as %s, %v", data, err)
	}
}
