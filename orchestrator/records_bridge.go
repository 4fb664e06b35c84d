package orchestrator

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Record reads the data of a record as the struct of its type.
func (e Event) Record() Record {
	data, err := json.Marshal(e.Data)
	if err != nil || e.Data == nil {
		data = []byte("{}")
	}
	return ReadRecord(e.Type, data)
}

// FieldsOf returns a record as it is kept in an [Event].
func FieldsOf(record Record) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(record)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() && strings.HasSuffix(v.Type().Field(i).Tag.Get("json"), ",omitempty") {
			continue
		}
		value := f.Interface()
		if f.Kind() == reflect.Pointer {
			value = nil
			if !f.IsNil() {
				value = f.Elem().Interface()
			}
		}
		if f.Kind() == reflect.String && f.Type() != reflect.TypeFor[Optional]() {
			value = f.String()
		}
		fields[jsonName(v.Type().Field(i))] = value
	}
	return fields
}
