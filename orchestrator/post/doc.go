// Package post is what becomes of the messages of a session: who is called what, who gets which
// message next, and how each ends.
//
// It is pure. An [Office] changes the state that it was given and asks the reducer for records,
// effects and timers through [Session]; tools read who has mail and whom an agent may write to.
// A message is queued, then delivered, then acknowledged by its reader; or it expires, fails, or is
// an orphan because the session ended before. For each reader the queue has one order, see [Next],
// and one message at a time is on its way.
//
// The package stores nothing but orchestrator.Message, in the state.
package post
