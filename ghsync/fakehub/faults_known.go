package fakehub

import (
	"net/http"
	"strconv"
	"time"
)

// LoseResponse applies one request and cuts the connection.
func LoseResponse(route string) Fault {
	return Fault{Route: route, Times: 1, Drop: AfterApplying}
}

// ResetBefore cuts the connection of one request that has no effect.
func ResetBefore(route string) Fault {
	return Fault{Route: route, Times: 1, Drop: BeforeApplying}
}

// AppliedBut5xx applies one request and answers a server error.
func AppliedBut5xx(route string, status int) Fault {
	return Fault{Route: route, Times: 1, Status: status, Apply: true, Message: "Server Error"}
}

// Unavailable answers a status times times, 0 is always.
func Unavailable(route string, status, times int) Fault {
	return Fault{Route: route, Times: times, Status: status}
}

// RetryAfter is a limit with that header; status is 403 or 429.
func RetryAfter(route string, status int, wait time.Duration) Fault {
	return Fault{Route: route, Times: 1, Status: status,
		Message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
		Header:  map[string]string{"Retry-After": strconv.Itoa(int(wait.Seconds()))}}
}

// Exhausted is the primary limit with nothing remaining until reset.
func Exhausted(route string, status int, reset time.Time) Fault {
	return Fault{Route: route, Times: 1, Status: status, Message: "API rate limit exceeded for user ID 1.",
		Header: map[string]string{
			"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "5000",
			"X-RateLimit-Reset": strconv.FormatInt(reset.Unix(), 10), "X-RateLimit-Resource": "core",
		}}
}

// Secondary is a secondary limit that only its text tells.
func Secondary(route string, status int) Fault {
	return Fault{Route: route, Times: 1, Status: status,
		Message: "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later."}
}

// BareLimit is a 429 that says nothing.
func BareLimit(route string) Fault {
	return Fault{Route: route, Times: 1, Status: http.StatusTooManyRequests}
}

// TooQuickly is the refusal of content that was written too fast.
func TooQuickly(route string) Fault {
	return Fault{Route: route, Times: 1, Status: http.StatusForbidden, Code: "custom", Message: "was submitted too quickly"}
}

// StaleLists lets lists miss what is younger than lag.
func StaleLists(route string, lag time.Duration) Fault {
	return Fault{Route: route, Stale: lag}
}

// LateRead lets what is younger than lag answer 404.
func LateRead(route string, lag time.Duration) Fault {
	return Fault{Route: route, Hide: lag}
}

// Redirect sends one request elsewhere: 301, 302, 307 or 308.
func Redirect(route string, status int, location string) Fault {
	return Fault{Route: route, Times: 1, Status: status, Message: "Moved Permanently", Header: map[string]string{"Location": location}}
}

// Refuse answers one request with a class of 422 or 403 by its short name; it panics for
// a name that is not in the table.
func Refuse(route, class string) Fault {
	f, known := refusals[class]
	if !known {
		panic("fakehub: unknown refusal " + class)
	}
	f.Route, f.Times = route, 1
	return f
}

// refusals are GitHub's texts by class.
var refusals = map[string]Fault{
	"ref_exists":         {Status: 422, Message: "Reference already exists"},
	"ref_failed":         {Status: 422, Message: "Reference update failed"},
	"pr_exists":          {Status: 422, Code: "custom", Message: "A pull request already exists for octo:branch."},
	"no_commits":         {Status: 422, Code: "custom", Message: "No commits between main and branch"},
	"head_invalid":       {Status: 422, Code: "invalid", Message: "head is invalid"},
	"body_too_long":      {Status: 422, Code: "custom", Message: "body is too long (maximum is 65536 characters)"},
	"label_exists":       {Status: 422, Code: "already_exists"},
	"review_from_author": {Status: 422, Message: "Review cannot be requested from pull request author."},
	"draft_unsupported":  {Status: 422, Message: "Draft pull requests are not supported in this repository."},
	"validation":         {Status: 422, Code: "invalid", Message: "Validation Failed"},
	"pr_forbidden":       {Status: 403, Message: "GitHub Actions is not permitted to create or approve pull requests."},
	"locked":             {Status: 403, Message: "Unable to create comment because issue is locked."},
	"inaccessible":       {Status: 403, Message: "Resource not accessible by integration"},
	"gone":               {Status: 410, Message: "This issue was deleted"},
	"legal":              {Status: 451, Message: "Repository access blocked"},
}
