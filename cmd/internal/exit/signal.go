package exit

import (
	"os"
	"time"
)

// oneWish is how long after a signal another one says the same: timeout(1) sends its signal to the
// program and to the process group, and a terminal that is closed sends one beside its supervisor's.
const oneWish = time.Second

// Signals calls cancel with the first signal, so that what runs ends in order. It returns when
// somebody insists: at a signal that comes more than a second after the first.
func Signals(signals <-chan os.Signal, cancel func(os.Signal)) {
	cancel(<-signals)
	first := time.Now()
	for range signals {
		if time.Since(first) > oneWish {
			return
		}
	}
}
