// Package orchestrator has the values of a session and their forms in files: its [State], the
// [Input] that may change it, the [Event] records that tell what happened, and the [Effect]
// values that someone else makes true. What follows from an input is decided by the package
// decide.
package orchestrator
