package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/agentmux/agentmux/internal/durable"
)

// object is a JSON object of a program's own document, whose other keys are kept as they are.
type object map[string]any

// encode returns indented JSON with a final newline.
func (o object) encode() ([]byte, error) {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(data), '\n'), nil
}

// child returns the object under key and adds an empty one when there is none.
func (o object) child(key string) object {
	switch c := o[key].(type) {
	case object:
		return c
	case map[string]any:
		return c
	}
	c := object{}
	o[key] = c
	return c
}

// readObject reads a JSON object. A missing or broken file is an empty one.
func readObject(path string) (object, error) {
	o := object{}
	data, err := durable.ReadRegular(filepath.Dir(path), filepath.Base(path), 16<<20)
	var unusable *durable.ArtifactError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, nil
	case errors.As(err, &unusable):
		return nil, fmt.Errorf("read the program's state: %w", err)
	case err != nil:
		return nil, err
	}
	if json.Unmarshal(withoutComments(data), &o) != nil || o == nil {
		return object{}, nil
	}
	return o, nil
}

// withoutComments removes the lines with comments, which copilot writes above its JSON.
func withoutComments(data []byte) []byte {
	if json.Valid(data) {
		return data
	}
	var out []byte
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			out = append(out, line...)
		}
	}
	return out
}

// quoted is v as JSON: for strings and lists of strings also valid TOML.
func quoted(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(data)
}
