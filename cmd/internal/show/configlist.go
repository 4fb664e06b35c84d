package show

import (
	"fmt"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

// SettingJSON is one value of the configuration; file and line are those of a file that sets it.
type SettingJSON struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	Layer string `json:"layer"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	// AddsTo is the layer whose items the list has besides its own.
	AddsTo    string          `json:"adds_to,omitempty"`
	Overruled []overruledJSON `json:"overruled,omitempty"`
}

// overruledJSON is a value of a file that has no effect.
type overruledJSON struct {
	Value  any    `json:"value"`
	Layer  string `json:"layer"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Settings are all values of a configuration.
func Settings(c *config.Config) []SettingJSON {
	rows := []SettingJSON{}
	for _, v := range c.Show() {
		row := SettingJSON{Key: v.Path, Value: v.Plain, Layer: v.Layer, File: v.File, Line: v.Line, AddsTo: v.AddsTo}
		for _, o := range v.Overruled {
			row.Overruled = append(row.Overruled, overruledJSON{o.Plain, o.Layer, o.File, o.Line, o.Why})
		}
		rows = append(rows, row)
	}
	return rows
}

// PrintSettings prints every value with its origin.
func PrintSettings(a *console.Console, c *config.Config) {
	var rows [][]console.Cell
	for _, v := range c.Show() {
		from := v.Layer
		if v.File != "" {
			from = fmt.Sprintf("%s (%s:%d)", v.Layer, v.File, v.Line)
		}
		if v.AddsTo != "" {
			from += ", added to " + v.AddsTo
		}
		for _, o := range v.Overruled {
			from += fmt.Sprintf("; not %s of %s (%s:%d): %s", o.Text, o.Layer, o.File, o.Line, o.Why)
		}
		ink := paint.Plain
		if v.Layer == config.LayerBuiltIn {
			ink = paint.Faint
		}
		rows = append(rows, []console.Cell{console.NewCell(v.Path, ink), console.NewCell(v.Text, ink), console.NewCell(from, paint.Faint)})
	}
	a.Page(a.Out).Table([]string{"KEY", "VALUE", "FROM"}, rows)
}
