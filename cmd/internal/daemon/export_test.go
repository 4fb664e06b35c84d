package daemon

import "log/slog"

// Patient is patient for tests.
var Patient = patient

// Warned returns what a job remembers of what use logs.
func Warned(use func(*slog.Logger)) func() string {
	w := new(warnings)
	use(w.of(slog.New(slog.DiscardHandler)))
	return w.last
}
