package durable

import (
	"time"
)

// settleTime is how long a file must have looked the same to count as written.
const settleTime = time.Second

// Look is what a file looked like at one moment.
type Look struct {
	// Size is its length in bytes.
	Size int64
	// ModTime is when it was last written.
	ModTime time.Time
	// At is when it was looked at.
	At time.Time
}

// LookAt looks at the regular file rel below root, by the path rules of
// ReadRegular and with its errors. now is the present time.
func LookAt(root, rel string, now time.Time) (Look, error) {
	f, err := openBelow(root, rel)
	if err != nil {
		return Look{}, artifactError(rel, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Look{}, artifactError(rel, err)
	}
	return Look{Size: info.Size(), ModTime: info.ModTime(), At: now}, nil
}

// Same reports whether both looks saw the same size and time.
func (l Look) Same(other Look) bool {
	return l.Size == other.Size && l.ModTime.Equal(other.ModTime)
}

// StableSince reports whether the file has stopped changing: it is not empty,
// looked the same at least a second before in earlier, and was written at or
// after from (the zero time allows any). Whether it is blank only its content
// can tell.
func (l Look) StableSince(earlier Look, from time.Time) bool {
	return l.Size > 0 && l.Same(earlier) &&
		l.At.Sub(earlier.At) >= settleTime &&
		!l.ModTime.Before(from)
}
