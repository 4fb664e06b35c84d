package bare

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
)

// Kept is an answer that is held back.
type Kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *Kept) Header() http.Header         { return k.header }
func (k *Kept) Write(p []byte) (int, error) { return k.body.Write(p) }
func (k *Kept) WriteHeader(status int)      { k.status = status }

// Send passes the answer on.
func (k *Kept) Send(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body.Bytes()) // the client may have closed the connection
}

// Keep returns an empty answer.
func Keep() *Kept { return &Kept{header: http.Header{}, status: http.StatusOK} }

// Spool keeps the body in a file: git sends long pushes in chunks of unknown number,
// which CGI cannot take.
func Spool(r *http.Request, dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "push")
	if err != nil {
		return nil, fmt.Errorf("keep the push: %w", err)
	}
	if _, err = io.Copy(file, r.Body); err == nil {
		r.ContentLength, err = file.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		Unspool(file)
		return nil, fmt.Errorf("keep the push: %w", err)
	}
	r.TransferEncoding = nil
	r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	r.Body = file
	return file, nil
}

// Unspool removes the file.
func Unspool(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}
