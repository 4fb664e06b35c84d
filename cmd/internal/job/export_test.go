package job

import (
	"context"
	"io"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
)

// LeftClaims is left for tests.
var LeftClaims = left

// NewReserve and FreeReserve are for tests.
var (
	NewReserve  = newReserve
	FreeReserve = reserve.free
)

// Checkpointed is checkpointed for tests.
var Checkpointed = checkpointed

// Settle is settle for tests.
func (r Request) Settle(ctx context.Context) { r.settle(ctx) }

// EndWith ends a job that has an error, and writes its log.
func EndWith(out io.Writer, err error) (outcome.Result, error) {
	r := run{log: NewLog(out), shown: func(text string) string { return text }}
	var result outcome.Result
	code, text := exit.Explain(err)
	ofError(&result, err, text)
	result.ExitCode = code
	return result, r.end(context.Background(), result)
}

// End ends a job with a result, and writes its log.
func End(out io.Writer, result outcome.Result) error {
	r := run{log: NewLog(out), shown: func(text string) string { return text }}
	return r.end(context.Background(), result)
}
