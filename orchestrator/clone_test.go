package orchestrator_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// fill sets every field of a value to something, so that nothing is left out.
func fill(t *testing.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[orchestrator.Time]() {
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i), depth+1)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Slice && v.Type().Elem().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		item := reflect.New(v.Type().Elem()).Elem()
		fill(t, item, depth+1)
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), item)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), depth+1)
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("a State holds a %s", v.Kind())
	}
}

// shared reports the first place where two values are the same memory.
func shared(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() {
			return ""
		}
		if a.Pointer() == b.Pointer() {
			return path
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		return shared(path, a.Elem(), b.Elem())
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[orchestrator.Time]() {
			return ""
		}
		for i := range a.NumField() {
			if at := shared(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); at != "" {
				return at
			}
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			if at := shared(path+"["+key.String()+"]", a.MapIndex(key), b.MapIndex(key)); at != "" {
				return at
			}
		}
	case reflect.Slice:
		for i := range a.Len() {
			if at := shared(path+"[]", a.Index(i), b.Index(i)); at != "" {
				return at
			}
		}
	}
	return ""
}

func TestACloneIsEqualAndSharesNothing(t *testing.T) {
	s := orchestrator.NewState()
	fill(t, reflect.ValueOf(s).Elem(), 0)
	s.LastEvent, s.SchemaVersion = orchestrator.LastResumed, 1
	c := s.Clone()
	was, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	is, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, is) {
		t.Errorf("clone:\n%s\nof:\n%s", is, was)
	}
	if at := shared("State", reflect.ValueOf(s).Elem(), reflect.ValueOf(c).Elem()); at != "" {
		t.Errorf("%s is shared", at)
	}
}

// A key that the reader takes for unknown is kept but never read.
func TestEveryKeyOfAStateIsReadBack(t *testing.T) {
	s := orchestrator.NewState()
	fill(t, reflect.ValueOf(s).Elem(), 0)
	s.LastEvent, s.SchemaVersion = orchestrator.LastResumed, 1
	was, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := orchestrator.Decode(was)
	if err != nil {
		t.Fatal(err)
	}
	for key := range back.Unknown {
		t.Errorf("%s is written and taken for unknown", key)
	}
	if is, err := back.Encode(); err != nil || !bytes.Equal(was, is) {
		t.Errorf("read: %v\n%s\nwritten:\n%s", err, is, was)
	}
}
