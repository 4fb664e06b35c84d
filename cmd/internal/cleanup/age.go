package cleanup

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Age is how old something is, as the value of a flag. It takes Go's durations and also days and
// weeks, as 3d and 2w.
type Age time.Duration

// ages are the units that Go does not know.
var ages = map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// String, Set and Type make it the value of a flag.
func (a *Age) String() string { return time.Duration(*a).String() }

// Set parses an age, which must not be negative.
func (a *Age) Set(text string) error {
	d, err := time.ParseDuration(text)
	for unit, of := range ages {
		if number, ok := strings.CutSuffix(text, unit); ok {
			var n float64
			n, err = strconv.ParseFloat(number, 64)
			d = time.Duration(n * float64(of))
		}
	}
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	if err != nil {
		return err
	}
	*a = Age(d)
	return nil
}

// Type names what the flag takes.
func (a *Age) Type() string { return "age" }
