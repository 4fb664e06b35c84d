package hostlog

import (
	"bytes"
	"io"
)

// seekBlock is how many bytes are read in one step from the end of a log.
const seekBlock = 32 << 10

// SeekLines sets a log to where its last n lines begin.
func SeekLines(f io.ReadSeeker, n int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	lines, block := 0, make([]byte, seekBlock)
	for at := end; at > 0; {
		from := max(0, at-seekBlock)
		part := block[:at-from]
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.ReadFull(f, part); err != nil {
			return err
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if from+int64(i) == end-1 {
				continue // the end of the last line
			}
			if lines++; lines == n {
				_, err := f.Seek(from+int64(i)+1, io.SeekStart)
				return err
			}
		}
		at = from
	}
	if n == 0 {
		_, err = f.Seek(end, io.SeekStart)
	} else {
		_, err = f.Seek(0, io.SeekStart)
	}
	return err
}
