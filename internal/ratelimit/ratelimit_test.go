package ratelimit_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/ratelimit"
)

var now = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// Each way that GitHub has of saying that there is a limit, and refusals that are none.
func TestEachWayOfSayingThatThereIsALimit(t *testing.T) {
	const secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	reset := http.Header{"X-Ratelimit-Reset": {fmt.Sprint(now.Add(20 * time.Minute).Unix())}, "X-Ratelimit-Remaining": {"0"}}
	slow := http.Header{"Date": {now.Add(-time.Hour).Format(http.TimeFormat)}, "X-Ratelimit-Remaining": {"0"}, // a server whose clock is an hour behind
		"X-Ratelimit-Reset": {fmt.Sprint(now.Add(-40 * time.Minute).Unix())}}
	rest := reset.Clone()
	rest.Set("X-RateLimit-Remaining", "5")
	for name, tc := range map[string]struct {
		status        int
		header        http.Header
		message, docs string
		want          ratelimit.Limit
		none          bool
	}{
		"a wait":                         {status: 403, header: http.Header{"Retry-After": {"7"}}, want: ratelimit.Limit{Wait: 7 * time.Second, Scope: "secondary"}},
		"nothing left":                   {status: 403, header: reset, want: ratelimit.Limit{Wait: 20*time.Minute + time.Second, Scope: "primary"}},
		"nothing left, by another clock": {status: 403, header: slow, want: ratelimit.Limit{Wait: 20*time.Minute + time.Second, Scope: "primary"}},
		"words alone":                    {status: 403, message: secondary, want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"words, and a rest":              {status: 403, header: rest, message: secondary, want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"a page alone":                   {status: 403, docs: "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits", want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"a primary one, no number":       {status: 403, message: "API rate limit exceeded for user ID 9.", want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"a bare 429":                     {status: 429, want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"too much content":               {status: 403, message: "was submitted too quickly", want: ratelimit.Limit{Scope: "content", Bare: true}},
		"a wait until a time":            {status: 429, header: http.Header{"Retry-After": {"Sat, 21 Nov 2026 10:05:00 GMT"}}, want: ratelimit.Limit{Wait: 29 * time.Second, Scope: "secondary"}},
		"until a time that is over":      {status: 429, header: http.Header{"Retry-After": {"Sat, 21 Nov 2026 10:04:00 GMT"}}, want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"until a time of another clock":  {status: 403, header: http.Header{"Retry-After": {"Sat, 21 Nov 2026 09:14:31 GMT"}, "Date": slow["Date"]}, want: ratelimit.Limit{Wait: 10 * time.Minute, Scope: "secondary"}},
		"a wait without an end":          {status: 429, header: http.Header{"Retry-After": {"9223372036854775807"}}, want: ratelimit.Limit{Wait: 24 * time.Hour, Scope: "secondary"}},
		"a wait that cannot be read":     {status: 429, header: http.Header{"Retry-After": {"soon"}}, want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"too much, called invalid":       {status: 422, header: reset, message: "Validation Failed: was submitted too quickly after the previous comment", want: ratelimit.Limit{Scope: "content", Bare: true}},
		"invalid":                        {status: 422, header: reset, message: "Validation Failed", none: true},
		"a refusal":                      {status: 403, header: rest, message: "Resource not accessible by integration", none: true},
		"something else":                 {status: 404, header: reset, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.header == nil {
				tc.header = http.Header{}
			}
			got, ok := ratelimit.Of(&http.Response{StatusCode: tc.status, Header: tc.header}, tc.message, tc.docs, now)
			if ok == tc.none || got != tc.want {
				t.Errorf("%+v, %v", got, ok)
			}
		})
	}
}

func TestEachWayOfGraphQL(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, message string
		want          ratelimit.Limit
		none          bool
	}{
		"the documented name": {kind: "RATE_LIMITED", want: ratelimit.Limit{Scope: "primary", Bare: true}},
		"the new name":        {kind: "RATE_LIMIT", message: "API rate limit already exceeded for user ID 9.", want: ratelimit.Limit{Scope: "primary", Bare: true}},
		"a secondary one":     {message: "You have exceeded a secondary rate limit.", want: ratelimit.Limit{Scope: "secondary", Bare: true}},
		"too much content":    {kind: "UNPROCESSABLE", message: "was submitted too quickly", want: ratelimit.Limit{Scope: "content", Bare: true}},
		"a refusal":           {kind: "FORBIDDEN", message: "Resource not accessible by integration", none: true},
	} {
		t.Run(name, func(t *testing.T) {
			if stops := ratelimit.StopsQuery(tc.kind, tc.message); stops == tc.none {
				t.Fatalf("stops %v", stops)
			}
			if got := ratelimit.OfQuery(http.Header{}, tc.message, now); !tc.none && got != tc.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
