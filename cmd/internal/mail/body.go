package mail

import (
	"fmt"
	"io"
	"os"

	"github.com/agentmux/agentmux/workflows/message"
)

// Body reads the body of a message from a file, or from in for -. Of one that is too large it
// takes no more than shows that.
func Body(file string, in io.Reader) (string, error) {
	if file != "-" {
		info, err := os.Stat(file) // to open a FIFO would wait for its writer
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() {
			return "", fmt.Errorf("%s is not a file", file)
		}
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, message.MaxFile+1))
	return string(body), err
}
