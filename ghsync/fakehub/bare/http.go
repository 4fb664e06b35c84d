package bare

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
	// maxBody is where a fetch becomes git http-backend's to judge, which has a limit of its own.
	maxBody = 1 << 20
)

// Serve answers a request of git's smart protocol. rest is the path below the repository, who
// the account whose name git sees. Lists of refs are made here, fetches and pushes by the
// services of git; the bytes are those of git http-backend, which is left what is not plain.
func (r Repo) Serve(w http.ResponseWriter, req *http.Request, rest, who string) {
	c := call{req, rest, who}
	if c.framed() && r.configured() && r.answer(w, c) {
		return
	}
	r.backend(w, c)
}

// call is a request with what is known of it.
type call struct {
	*http.Request
	rest, who string
}

// framed reports whether the length of the body is known; CGI refuses others.
func (c call) framed() bool { return len(c.TransferEncoding) == 0 && c.ContentLength >= 0 }

// protocol is the version of the protocol as the client asks for it, "" is the oldest.
func (c call) protocol() string { return strings.Join(c.Header.Values("Git-Protocol"), ", ") }

// posts reports whether the request speaks with a service in the way of a client of git.
func (c call) posts(service string) bool {
	return c.Method == http.MethodPost && c.rest == service && c.URL.RawQuery == "" && c.Header.Get("Content-Type") == "application/x-"+service+"-request"
}

// begins reports whether the request is the first one to a service, in the given version.
func (c call) begins(service, protocol string) bool {
	return c.Method == http.MethodGet && c.rest == "info/refs" && c.URL.RawQuery == "service="+service && c.protocol() == protocol
}

// answer is false when nothing was answered.
func (r Repo) answer(w http.ResponseWriter, c call) bool {
	switch {
	case c.begins(uploadPack, "version=2"):
		return r.sendCapabilities(w, c)
	case c.begins(receivePack, ""):
		return r.sendPushRefs(w, c)
	case c.posts(uploadPack):
		return r.upload(w, c)
	case c.posts(receivePack) && c.Header.Get("Content-Encoding") == "":
		r.speak(w, c, c.Body)
		return true
	}
	return false
}

// backend has git http-backend answer.
func (r Repo) backend(w http.ResponseWriter, c call) {
	path, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, fmt.Sprintf("find git: %v", err), http.StatusInternalServerError)
		return
	}
	env := append(r.env(), "GIT_PROJECT_ROOT="+filepath.Dir(r.Dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+c.who)
	handler := &cgi.Handler{Path: path, Args: []string{"http-backend"}, Root: "/", Dir: r.Dir, Env: env, Stderr: &bytes.Buffer{}}
	inner := c.Clone(c.Context())
	inner.URL = &url.URL{Path: "/" + filepath.Base(r.Dir) + "/" + c.rest, RawQuery: c.URL.RawQuery}
	inner.Header.Del("Authorization")
	handler.ServeHTTP(w, inner)
}

// service is a run of a service, in the environment that git http-backend gives it.
func (r Repo) service(name string, c call, options ...string) *exec.Cmd {
	host, _, err := net.SplitHostPort(c.RemoteAddr)
	if err != nil {
		host = c.RemoteAddr
	}
	who := cmp.Or(c.who, "anonymous")
	cmd := r.command(slices.Concat([]string{strings.TrimPrefix(name, "git-")}, options, []string{"."})...)
	cmd.Env = append(cmd.Env, "GIT_COMMITTER_NAME="+who, "GIT_COMMITTER_EMAIL="+who+"@http."+host)
	if protocol := c.protocol(); protocol != "" {
		cmd.Env = append(cmd.Env, "GIT_PROTOCOL="+protocol)
	}
	return cmd
}

// speak has the service of the request answer it. The service is not ended with the request:
// a push whose client went away is carried out.
func (r Repo) speak(w http.ResponseWriter, c call, body io.Reader) {
	cmd := r.service(c.rest, c, "--stateless-rpc")
	cmd.Stdin, cmd.Stdout = body, w
	head(w, c.rest+"-result")
	if err := cmd.Start(); err != nil {
		http.Error(w, fmt.Sprintf("start git: %v", err), http.StatusInternalServerError)
		return
	}
	_ = cmd.Wait() // what went wrong is in the answer
}

// head writes the header of an answer of git.
func head(w http.ResponseWriter, kind string) {
	h := w.Header()
	h.Set("Expires", "Fri, 01 Jan 1980 00:00:00 GMT")
	h.Set("Pragma", "no-cache")
	h.Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	h.Set("Content-Type", "application/x-"+kind)
}

// upload answers a request of a fetch.
func (r Repo) upload(w http.ResponseWriter, c call) bool {
	if c.ContentLength > maxBody {
		return false
	}
	sent, err := io.ReadAll(c.Body)
	if err != nil {
		http.Error(w, fmt.Sprintf("read the request: %v", err), http.StatusBadRequest)
		return true
	}
	c.Body = io.NopCloser(bytes.NewReader(sent)) // for git http-backend
	body, err := decoded(sent, c.Header.Get("Content-Encoding"))
	if err != nil {
		return false
	}
	ask, is := readLsRefs(body)
	if !is || c.protocol() != "version=2" {
		r.speak(w, c, bytes.NewReader(body))
		return true
	}
	s, plain := r.snapshot()
	peeled, whole := r.peel(s)
	if !plain || !whole {
		return false
	}
	head(w, c.rest+"-result")
	_, _ = w.Write(ask.answer(s, peeled)) // the client may have closed the connection
	return true
}

// decoded returns the body as the client made it. Only fetches are packed.
func decoded(body []byte, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return body, nil
	case "gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("unpack the request: %w", err)
		}
		return io.ReadAll(io.LimitReader(unpacked, maxBody))
	}
	return nil, fmt.Errorf("unpack the request: unknown encoding %s", encoding)
}

// offer returns what a service begins with, in the protocol of the request. Git is asked once.
func (r Repo) offer(service string, c call) ([]byte, error) {
	k := r.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.offers[service] == nil {
		out, err := output(r.service(service, c, "--stateless-rpc", "--advertise-refs"))
		if err != nil {
			return nil, err
		}
		k.offers[service] = out
	}
	return k.offers[service], nil
}

// sendCapabilities answers the first request of a fetch in protocol version 2, which tells no refs.
func (r Repo) sendCapabilities(w http.ResponseWriter, c call) bool {
	capabilities, err := r.offer(uploadPack, c)
	if err != nil {
		return false
	}
	head(w, uploadPack+"-advertisement")
	_, _ = w.Write(capabilities) // the client may have closed the connection
	return true
}

// sendPushRefs answers the first request of a push: refs, with what git can do behind the first.
func (r Repo) sendPushRefs(w http.ResponseWriter, c call) bool {
	for _, name := range []string{"shallow", "objects/info/alternates"} { // git would tell of them
		if _, err := os.Stat(filepath.Join(r.Dir, name)); err == nil {
			return false
		}
	}
	offered, err := r.offer(receivePack, c)
	_, after, _ := bytes.Cut(offered, []byte{0})
	capabilities, _, found := bytes.Cut(after, []byte("\n"))
	s, plain := r.snapshot()
	_, whole := r.peel(s)
	if err != nil || !found || !plain || !whole {
		return false
	}
	head(w, receivePack+"-advertisement")
	_, _ = w.Write(pushRefs(s, string(capabilities))) // the client may have closed the connection
	return true
}
