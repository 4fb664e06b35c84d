package console

import "io"

// For the tests.
var Pager = pager

func NewPrinter(w io.Writer) io.Writer { return newPrinter(w) }

// NewColorPrinter is the printer of a terminal.
func NewColorPrinter(w io.Writer) io.Writer { return &printer{w: w, colors: true} }
