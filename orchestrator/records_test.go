package orchestrator_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTheGoldenJournalStaysByteForByte reads records as the reducers of all tests and earlier
// versions wrote them: one for each type and each set of its keys.
func TestTheGoldenJournalStaysByteForByte(t *testing.T) {
	journal, err := os.ReadFile("testdata/journal.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(journal) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		e, err := orchestrator.ReadEvent(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		seen[e.Type] = true
		if got := marshal(t, e); !bytes.Equal(got, line) {
			t.Errorf("rewritten\n%s, was\n%s", got, line)
		}
	}
	for kind := range orchestrator.RecordTypes {
		if !seen[kind] {
			t.Errorf("the journal has no %s", kind)
		}
	}
}

func TestEveryTypeOfRecordIsInTheTable(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "events.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{} // type -> constant
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if name := value.Names[0].Name; strings.HasPrefix(name, "Ev") {
				kind, _ := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
				declared[kind] = name
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(declared)) {
		if orchestrator.RecordTypes[kind] == nil {
			t.Errorf("%s is not in the table", declared[kind])
			continue
		}
		record := orchestrator.ReadRecord(kind, []byte("{}"))
		if record.Type() != kind {
			t.Errorf("%T says it is of %s, want %s", record, record.Type(), kind)
		}
		if got, want := reflect.TypeOf(record).Name(), strings.TrimPrefix(declared[kind], "Ev")+"Record"; got != want {
			t.Errorf("%s is read as %s, want %s", kind, got, want)
		}
	}
	for kind := range orchestrator.RecordTypes {
		if declared[kind] == "" {
			t.Errorf("the table has %s, no constant does", kind)
		}
	}
}

// fillRecord gives every field of a record a value that is not empty.
func fillRecord(v reflect.Value) {
	if at, ok := v.Addr().Interface().(*orchestrator.Time); ok {
		*at = orchestrator.At(time.Unix(1<<30, 0))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a <text>")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 << 40)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillRecord(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillRecord(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fillRecord(v.Field(i))
		}
	}
}

func TestRecordsWithAllFieldsAndWithNone(t *testing.T) {
	for kind := range orchestrator.RecordTypes {
		t.Run(kind, func(t *testing.T) {
			none := orchestrator.ReadRecord(kind, []byte("{}"))
			full := reflect.New(reflect.TypeOf(none)).Elem()
			fillRecord(full)
			for _, record := range []orchestrator.Record{none, full.Interface().(orchestrator.Record)} {
				data := marshal(t, record)
				again := orchestrator.ReadRecord(kind, data)
				if !reflect.DeepEqual(again, record) || !bytes.Equal(marshal(t, again), data) {
					t.Errorf("%s is read as %+v", data, again)
				}
				var fields map[string]json.RawMessage
				if err := json.Unmarshal(data, &fields); err != nil {
					t.Fatal(err)
				}
				if sorted := marshal(t, fields); !bytes.Equal(sorted, data) {
					t.Errorf("the keys are not sorted: %s", data)
				}
			}
		})
	}
}

func TestADamagedFieldHidesNothingElse(t *testing.T) {
	tree := "t"
	for name, c := range map[string]struct {
		kind, data string
		want       orchestrator.Record
	}{
		"wrong types": {orchestrator.EvVerdict, `{"findings":"2","iteration":{},"role":["a"],"tree":7,"verdict":"fail"}`,
			orchestrator.VerdictRecord{Verdict: "fail"}},
		"a broken number": {orchestrator.EvVerdict, `{"findings":2.7,"iteration":1e3,"role":"a"}`,
			orchestrator.VerdictRecord{Findings: 2, Iteration: 1000, Role: "a"}},
		"a list with other items": {orchestrator.EvReviewStarted, `{"iteration":1,"roles":["a",1,{},"b"]}`,
			orchestrator.ReviewStartedRecord{Iteration: 1, Roles: []string{"a", "b"}}},
		"a text for a list": {orchestrator.EvReviewStarted, `{"roles":"a","tree":"t"}`, orchestrator.ReviewStartedRecord{Tree: "t"}},
		"paths": {orchestrator.EvScopeViolation, `{"id":"1","paths":[{"path":"a","added":"x","removed":2},"b"]}`,
			orchestrator.ScopeViolationRecord{ID: "1", Paths: []orchestrator.ScopePath{{Path: "a", Removed: 2}}}},
		"a pointer":      {orchestrator.EvGateOpened, `{"gate":1,"tree":"t"}`, orchestrator.GateOpenedRecord{Tree: &tree}},
		"null":           {orchestrator.EvVerdict, `null`, orchestrator.VerdictRecord{}},
		"not an object":  {orchestrator.EvVerdict, `["a"]`, orchestrator.VerdictRecord{}},
		"unknown fields": {orchestrator.EvPaused, `{"actor":"mia","since":{"a":1}}`, orchestrator.PausedRecord{Actor: "mia"}},
		"unknown type":   {"later", `{"b":1,"a":2}`, orchestrator.UnknownRecord{Name: "later", Raw: json.RawMessage(`{"b":1,"a":2}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := orchestrator.ReadRecord(c.kind, []byte(c.data)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("read as %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestALineThatIsNotARecordIsRefused(t *testing.T) {
	for name, line := range map[string]string{
		"a type that is not a text": `{"seq":1,"type":7,"data":{}}`, "a text as number": `{"seq":"1","type":"paused","data":{}}`,
		"data that is a list": `{"seq":1,"type":"paused","data":[]}`, "data that is a text": `{"seq":1,"type":"paused","data":"a"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if e, err := orchestrator.ReadEvent([]byte(line)); err == nil {
				t.Errorf("read as %+v", e)
			}
		})
	}
	for name, line := range map[string]string{"null": `{"seq":1,"type":"paused","data":null}`, "none": `{"seq":1,"type":"paused"}`} {
		t.Run("data: "+name, func(t *testing.T) {
			e, err := orchestrator.ReadEvent([]byte(line))
			if err != nil || e.Data != orchestrator.Record(orchestrator.PausedRecord{}) {
				t.Errorf("read as %+v, %v", e, err)
			}
		})
	}
}

func TestTextsOfRecordsAreCut(t *testing.T) {
	errs := []string{"long", "a"}
	cut := orchestrator.TruncateRecord(orchestrator.InputRejectedRecord{Errors: errs, Tool: "öffnen"}, 2)
	if want := (orchestrator.InputRejectedRecord{Errors: []string{"lo", "a"}, Tool: "öf"}); !reflect.DeepEqual(cut, want) {
		t.Errorf("cut: %+v, want %+v", cut, want)
	}
	if errs[0] != "long" {
		t.Error("the list of the state was cut")
	}
}
