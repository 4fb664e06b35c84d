package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/document"
)

const auto = "auto"

// AutoDuration is a duration, or Auto when the program chooses.
type AutoDuration struct {
	Auto bool
	D    time.Duration
}

// UnmarshalDocument takes "auto" or a duration.
func (a *AutoDuration) UnmarshalDocument(n *document.Node) error {
	if n.IsText() && n.Text == auto {
		*a = AutoDuration{Auto: true}
		return nil
	}
	d, err := time.ParseDuration(n.Text)
	if !n.IsText() || err != nil || d <= 0 {
		return errors.New("expected auto or a duration such as 20m, found " + n.Found())
	}
	*a = AutoDuration{D: d}
	return nil
}

// AutoInt is a number from 1, or Auto when the program chooses.
type AutoInt struct {
	Auto bool
	N    int
}

// UnmarshalDocument takes "auto" or a whole number from 1.
func (a *AutoInt) UnmarshalDocument(n *document.Node) error {
	if n.IsText() && n.Text == auto {
		*a = AutoInt{Auto: true}
		return nil
	}
	i, ok := n.Int()
	if !ok || i < 1 {
		return errors.New("expected auto or a whole number from 1, found " + n.Found())
	}
	*a = AutoInt{N: int(i)}
	return nil
}

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1000}, {"MB", 1000_000}, {"GB", 1000_000_000}, {"B", 1},
}

// UnmarshalDocument takes a number of bytes or text such as "20 MiB".
func (s *Size) UnmarshalDocument(n *document.Node) error {
	wrong := errors.New("expected a size such as 20 MiB, found " + n.Found())
	if i, ok := n.Int(); ok && i > 0 {
		*s = Size(i)
		return nil
	}
	if !n.IsText() {
		return wrong
	}
	size, err := ParseSize(n.Text)
	if err != nil {
		return wrong
	}
	*s = size
	return nil
}

// ParseSize parses a size such as "20 MiB".
func ParseSize(text string) (Size, error) {
	wrong := fmt.Errorf("expected a size such as 20 MiB, found %q", text)
	for _, unit := range sizeUnits {
		number, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		i, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || i < 1 || i > (1<<62)/unit.bytes {
			return 0, wrong
		}
		return Size(i * unit.bytes), nil
	}
	return 0, wrong
}
