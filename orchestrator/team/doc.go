// Package team says what becomes of the agents of an agents file: which of them start, what
// follows what each of them does, and when the run is over.
//
// It is pure, as the reducer is that calls it. One table (table.go) maps the stage that an agent
// is in and what happens to it to what follows; [Run] carries that out on the state of the
// session, and asks the reducer for records, effects and launches through [Session]. Nothing is
// stored but agents.Progress, in the state: the stage follows from it.
//
// Every agent ends with a marker, signals/<name>.done, which is written last: whoever sees it
// finds branch and commit.
package team
