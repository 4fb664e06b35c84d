// Package ratelimit reads from an answer of GitHub whether a limit is why it refuses, and for how long
// the limit holds, or whether it refuses nothing and has failed. It is used by the transport. It is pure, and knows what servers say: headers, the
// words of messages, and the types of GraphQL's errors.
package ratelimit

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit is one that the server named.
type Limit struct {
	Wait  time.Duration
	Scope string // primary, secondary, content
	Bare  bool   // no time given: the wait grows with each one
}

// Of finds a limit in a 403 or 429, by its message and the page of the documentation that it names. A
// 429 is always one. Content that comes too quickly may also be called invalid, which is a 422.
func Of(resp *http.Response, message, docs string, now time.Time) (Limit, bool) {
	text := strings.ToLower(message)
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusUnprocessableEntity:
		if isTooQuick(text) {
			return Limit{Scope: "content", Bare: true}, true
		}
	}
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests {
		return Limit{}, false
	}
	if l, ok := timed(resp.Header, now); ok {
		return l, true
	}
	// A primary limit has numbers in its headers, unless a proxy has taken them off.
	named := strings.Contains(text, "rate limit") || strings.Contains(text, "abuse") ||
		strings.Contains(docs, "secondary-rate-limits") || strings.Contains(docs, "abuse-rate-limits")
	if named || resp.StatusCode == http.StatusTooManyRequests {
		return Limit{Scope: "secondary", Bare: true}, true
	}
	return Limit{}, false
}

// Failed reports whether a status tells that a server, or a proxy in front of it, has failed, and not that
// the request was wrong. Some of a load balancer's look like a refusal.
func Failed(status int) bool {
	return status >= http.StatusInternalServerError ||
		slices.Contains([]int{http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly}, status)
}

// queryTypes are what servers call a used up quota of GraphQL: GitHub has changed the name.
var queryTypes = []string{"RATE_LIMITED", "RATE_LIMIT"}

// StopsQuery reports whether a limit is what an error of GraphQL tells of, by its type and its message.
// A secondary limit has no type, and may come with status 200.
func StopsQuery(kind, message string) bool {
	return slices.Contains(queryTypes, kind) || isSecondary(message) || isTooQuick(strings.ToLower(message))
}

// OfQuery is the limit that such an error tells of.
func OfQuery(h http.Header, message string, now time.Time) Limit {
	if isTooQuick(strings.ToLower(message)) {
		return Limit{Scope: "content", Bare: true}
	}
	if l, ok := timed(h, now); ok {
		return l
	}
	if isSecondary(message) {
		return Limit{Scope: "secondary", Bare: true}
	}
	return Limit{Scope: "primary", Bare: true}
}

func isTooQuick(lower string) bool { return strings.Contains(lower, "submitted too quickly") }

func isSecondary(message string) bool {
	return strings.Contains(strings.ToLower(message), "secondary rate limit")
}

// timed finds a limit with a time: a wait that the server asks for, or a quota without a rest.
func timed(h http.Header, now time.Time) (Limit, bool) {
	if wait, ok := retryAfter(h, now); ok {
		return Limit{Wait: wait, Scope: "secondary"}, true
	}
	reset, ok := Reset(h, now)
	if !ok || h.Get("X-RateLimit-Remaining") != "0" {
		return Limit{}, false
	}
	return Limit{Wait: max(0, reset.Sub(now)) + time.Second, Scope: "primary"}, true
}

// longest is the most that is waited for because a server asks for it.
const longest = 24 * time.Hour

// retryAfter is the wait that a server asks for: GitHub in seconds, a proxy in front of it also as a time by its clock.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(seconds, int(longest/time.Second))) * time.Second, seconds >= 0
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	wait = min(byOurs(h, at, now).Sub(now), longest)
	return wait, wait > 0 // a time that is over says nothing
}

// sameClock is by how much two clocks may differ that count as one: a Date has no part of a second, and
// an answer takes its time.
const sameClock = 5 * time.Second

// Reset is when there is a new quota, by the clock that says now; ok is false if the server does not say.
// The server tells the time by its own clock, and what that shows is in the answer, too.
func Reset(h http.Header, now time.Time) (at time.Time, ok bool) {
	seconds, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || seconds == 0 {
		return time.Time{}, false
	}
	return byOurs(h, time.Unix(seconds, 0), now), true
}

// byOurs is a time of the server's clock by the one that says now.
func byOurs(h http.Header, at, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil && now.Sub(date).Abs() > sameClock {
		return at.Add(now.Sub(date))
	}
	return at
}
