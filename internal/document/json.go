package document

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
)

// json reads data that json.Valid has accepted.
func (r *reader) json(data []byte) *Node {
	j := &jsonReader{reader: r, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	j.dec.UseNumber()
	for i, c := range data {
		if c == '\n' {
			j.breaks = append(j.breaks, i)
		}
	}
	return j.value("", 0)
}

type jsonReader struct {
	*reader
	data   []byte
	dec    *json.Decoder
	breaks []int // offsets of the line breaks
}

// next returns a token and the place where it begins.
func (j *jsonReader) next() (tok json.Token, line, column int) {
	at := int(j.dec.InputOffset())
	for at < len(j.data) && strings.IndexByte(" \t\r\n,:", j.data[at]) >= 0 {
		at++
	}
	tok, _ = j.dec.Token()
	i := sort.SearchInts(j.breaks, at)
	if i == 0 {
		return tok, 1, at + 1
	}
	return tok, i + 1, at - j.breaks[i-1]
}

func (j *jsonReader) value(path string, depth int) *Node {
	tok, line, column := j.next()
	keep := j.room(line, path, depth)
	n := &Node{File: j.file, Line: line, Column: column}
	switch v := tok.(type) {
	case json.Delim:
		if v == '[' {
			j.list(n, path, depth)
		} else {
			j.object(n, path, depth)
		}
	case string:
		n.Kind, n.Tag, n.Text = Scalar, TagText, v
	case bool:
		n.Kind, n.Tag, n.Text = Scalar, TagBool, "false"
		if v {
			n.Text = "true"
		}
	case json.Number:
		n.Kind, n.Tag, n.Text = Scalar, TagInt, v.String()
		if strings.ContainsAny(n.Text, ".eE") {
			n.Tag = TagFloat
		}
	}
	if !keep {
		return nil
	}
	return n
}

func (j *jsonReader) list(n *Node, path string, depth int) {
	n.Kind = List
	for i := 0; j.dec.More(); i++ {
		if item := j.value(Index(path, i), depth+1); item != nil {
			n.Items = append(n.Items, item)
		}
	}
	j.next()
}

func (j *jsonReader) object(n *Node, path string, depth int) {
	n.Kind = Map
	seen := map[string]int{}
	for j.dec.More() {
		tok, line, column := j.next()
		key, _ := tok.(string)
		at := Key(path, key)
		v := j.value(at, depth+1)
		if before, ok := seen[key]; ok {
			j.problem(line, at, "repeated key, first on line %d", before)
			continue
		}
		seen[key] = line
		if v != nil {
			n.Fields = append(n.Fields, Field{Key: key, Line: line, Column: column, Value: v})
		}
	}
	j.next()
}
