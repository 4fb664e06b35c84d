package ghsync

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/google/go-github/v62/github"
)

const (
	// maxPages bounds a list: ten thousand entries of what we read by a hundred.
	maxPages = 100
	// maxListBytes bounds what the pages of one list hold together.
	maxListBytes = 64 << 20
)

// pages leads through a list that a server gives in pages, and no farther than a list goes
// that somebody means.
type pages struct {
	read  int
	bytes atomic.Int64
}

// context is the one that the pages are read with.
func (p *pages) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, bytesKey, &p.bytes)
}

// next returns the number of the page after the one that resp is, 0 after the last. The error
// is a *Terminal for a list without end.
func (p *pages) next(resp *github.Response, page int) (int, error) {
	p.read++
	switch {
	case resp.NextPage == 0:
		return 0, nil
	case p.read >= maxPages, resp.NextPage <= page:
		return 0, endless(fmt.Sprintf("%d pages", p.read))
	case p.bytes.Load() > maxListBytes:
		return 0, endless(fmt.Sprintf("%d MiB", p.bytes.Load()>>20))
	}
	return resp.NextPage, nil
}

// endless is the error of a list that goes on after so much of it.
func endless(read string) error {
	return &Terminal{Code: CodeRefused, Message: "the server's list does not end after " + read}
}

// counted adds the size of a body to the list that it is a page of.
func counted(ctx context.Context, size int) {
	if n, ok := ctx.Value(bytesKey).(*atomic.Int64); ok {
		n.Add(int64(size))
	}
}
