package durable

import "time"

// AppendWithin is Append with another patience.
func AppendWithin(path string, wait time.Duration, check func(Tail) ([]byte, error)) error {
	return Disk{}.append(path, wait, check)
}
