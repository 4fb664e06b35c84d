package transport

import (
	"context"
	"fmt"
	"sync/atomic"
)

const (
	// maxPages bounds a list: ten thousand entries of what we read by a hundred.
	maxPages = 100
	// maxListBytes bounds what the pages of one list hold together.
	maxListBytes = 64 << 20
)

// Pages leads through a list that a server gives in pages, and no farther than a list goes
// that somebody means.
type Pages struct {
	read  int
	bytes atomic.Int64
}

// Context is the one that the pages are read with.
func (p *Pages) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, bytesKey, &p.bytes)
}

// Next returns the number of the page after this one, which the server says is after, 0 behind
// the last. The error is a *Terminal for a list without end.
func (p *Pages) Next(page, after int) (int, error) {
	p.read++
	switch {
	case after == 0:
		return 0, nil
	case p.read >= maxPages, after <= page:
		return 0, Endless(fmt.Sprintf("%d pages", p.read))
	case p.bytes.Load() > maxListBytes:
		return 0, Endless(fmt.Sprintf("%d MiB", p.bytes.Load()>>20))
	}
	return after, nil
}

// Endless is the error of a list that continues after read was read of it.
func Endless(read string) error {
	return &Terminal{Code: CodeRefused, Message: "the server's list does not end after " + read}
}

// counted adds the size of a body to the list that it is a page of.
func counted(ctx context.Context, size int) {
	if n, ok := ctx.Value(bytesKey).(*atomic.Int64); ok {
		n.Add(int64(size))
	}
}
