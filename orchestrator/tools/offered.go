package tools

import "fmt"

// Offered lists the tools a caller's role may use in its session, in the order
// in which they are shown.
func Offered(who Caller) ([]Spec, error) {
	c := &call{who: who}
	st, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	var out []Spec
	for _, spec := range specs {
		if spec.Open(c.def, st, who.Role) {
			out = append(out, spec)
		}
	}
	return out, nil
}
