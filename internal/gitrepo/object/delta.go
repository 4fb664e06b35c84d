package object

import (
	"encoding/binary"
	"fmt"
)

var errDelta = fmt.Errorf("bad delta: %w", ErrUnread)

// deltaHeader reads the sizes of a delta's base and of what it makes. rest are its commands.
func deltaHeader(delta []byte) (base, size int64, rest []byte, err error) {
	for _, to := range []*int64{&base, &size} {
		n, length := binary.Uvarint(delta)
		if length <= 0 || n > maxObject {
			return 0, 0, nil, errDelta
		}
		*to, delta = int64(n), delta[length:]
	}
	return base, size, delta, nil
}

// applied makes an object from its base.
func applied(base, delta []byte) ([]byte, error) {
	want, size, delta, err := deltaHeader(delta)
	if err != nil || want != int64(len(base)) {
		return nil, errDelta
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		command := delta[0]
		delta = delta[1:]
		var part []byte
		switch {
		case command&0x80 != 0:
			var from, length int
			if from, length, delta, err = deltaCopy(command, delta); err != nil {
				return nil, err
			}
			if from+length > len(base) {
				return nil, errDelta
			}
			part = base[from : from+length]
		case command == 0 || int(command) > len(delta):
			return nil, errDelta
		default:
			part, delta = delta[:command], delta[command:]
		}
		if len(out)+len(part) > int(size) {
			return nil, errDelta
		}
		out = append(out, part...)
	}
	if len(out) != int(size) {
		return nil, errDelta
	}
	return out, nil
}

// deltaCopy reads which part of the base is copied: the low bits of the command say which bytes
// of offset and length follow.
func deltaCopy(command byte, delta []byte) (from, length int, rest []byte, err error) {
	for i := range 7 {
		if command&(1<<i) == 0 {
			continue
		}
		if len(delta) == 0 {
			return 0, 0, nil, errDelta
		}
		if i < 4 {
			from |= int(delta[0]) << (8 * i)
		} else {
			length |= int(delta[0]) << (8 * (i - 4))
		}
		delta = delta[1:]
	}
	if length == 0 {
		length = 0x10000
	}
	return from, length, delta, nil
}
