// Package transport is the way of one identity to one GitHub server: addresses, tokens, and
// an HTTP client that keeps to the server's limits and to our own, repeats what may be
// repeated, reads conditionally, and gives refusals and failures as typed errors. An identity
// is an oauth2.TokenSource for each call, so that a call waits for a token no longer than for
// its answer.
package transport
