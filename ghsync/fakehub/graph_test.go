package fakehub_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/graphql"
)

// TestSchemaIsWhatIsServed holds the schema against the structs that answer for its types:
// each has exactly the fields of its type.
func TestSchemaIsWhatIsServed(t *testing.T) {
	served := map[string][]string{}
	for _, o := range fakehub.Objects() {
		if _, twice := served[o.TypeName()]; twice {
			t.Errorf("two structs for %s", o.TypeName())
		}
		served[o.TypeName()] = slices.Sorted(maps.Keys(graphql.Fields(o)))
	}
	described := fakehub.Schema().Types()
	for name, fields := range described {
		slices.Sort(fields)
		if !reflect.DeepEqual(fields, served[name]) {
			t.Errorf("%s has the fields %v in the schema and %v as served", name, fields, served[name])
		}
	}
	for name := range served {
		if described[name] == nil {
			t.Errorf("%s is not in the schema", name)
		}
	}
}
