//go:build !crash

package crash

// Point is a moment right behind a step; of is what the step was about, a path for
// instance, or "".
func Point(step, of string) {}
