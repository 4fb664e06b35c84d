package object

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
)

// maxAttributes bounds an attribute file that is read.
const maxAttributes = 1 << 20

var errAttributes = errors.New("attributes are set")

// AttributesLack reports whether no attribute file that counts for some paths of a commit or tree
// holds one of the words. An attribute is set by its name alone, so what none of them names is
// not set. False where that is not known.
func (r *Reader) AttributesLack(rev string, paths []string, words ...string) bool {
	return r.attributesLack(rev, paths, words) == nil
}

func (r *Reader) attributesLack(rev string, paths, words []string) error {
	root, err := r.TreeOf(rev)
	if err != nil {
		return err
	}
	looked := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(p); !looked[dir]; dir = path.Dir(dir) {
			looked[dir] = true
			e, ok, err := r.Lookup(root, path.Join(dir, ".gitattributes"))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			_, text, err := r.Read(fmt.Sprintf("%x", e.ID), maxAttributes)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) }) {
				return errAttributes
			}
		}
	}
	return nil
}
