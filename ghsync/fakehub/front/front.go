// Package front lets tests reach a server's repositories with a password that git need not ask for.
// Git asks by starting a program, which is the test binary; with the race detector that costs more
// than the rest of a push or of a list of refs. Which way the password takes is tested in
// internal/gitrepo/remote.
package front

import (
	"net/http"
	"net/http/httptest"
)

// TB is the part of testing.TB that is used here.
type TB interface{ Cleanup(func()) }

// Open returns an address of the server, without a slash at its end, at which each request has the
// password. It is closed at the end of the test.
func Open(tb TB, server http.Handler, password string) string {
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.SetBasicAuth("x-access-token", password)
		server.ServeHTTP(w, r)
	}))
	tb.Cleanup(at.Close)
	return at.URL
}
