package remote_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// A repository that got another name answers under the old one with a redirect, after
// which git has forgotten the user of its address.
func TestAnOldNameOfARepositoryStillWorks(t *testing.T) {
	r, s := newRig(t, map[string]string{"a": "a\n"}), newServer(t)
	inner, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(inner)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if rest, ok := strings.CutPrefix(req.URL.RequestURI(), "/old/name.git"); ok {
			http.Redirect(w, req, "http://"+req.Host+"/o/r.git"+rest, http.StatusMovedPermanently)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	defer front.Close()
	var asked atomic.Int32
	_, err = remote.Repository{
		URL:    front.URL + "/old/name.git",
		Secret: func(context.Context) (string, error) { asked.Add(1); return serverPassword, nil },
	}.Refs(t.Context(), r.Store)
	if err != nil || asked.Load() != 1 {
		t.Errorf("%v, the password was asked for %d times", err, asked.Load())
	}
}
