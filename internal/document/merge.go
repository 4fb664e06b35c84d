package document

// Merge lays over on top of under and returns a new tree: maps merge key by key,
// everything else replaces what lies under it. Each part keeps its own place. A
// nil side counts as absent, and so does an empty value over a map, as a section
// has whose lines are all commented out. Neither argument is changed.
func Merge(under, over *Node) *Node {
	switch {
	case over == nil:
		return under
	case under == nil || under.Kind != Map:
		return over
	case over.Kind == Null:
		return under
	case over.Kind != Map:
		return over
	}
	out := *over
	out.Fields = append([]Field(nil), under.Fields...)
	for _, f := range over.Fields {
		out.put(f)
	}
	return &out
}

func (n *Node) put(f Field) {
	for i := range n.Fields {
		if n.Fields[i].Key == f.Key {
			f.Value = Merge(n.Fields[i].Value, f.Value)
			n.Fields[i] = f
			return
		}
	}
	n.Fields = append(n.Fields, f)
}
