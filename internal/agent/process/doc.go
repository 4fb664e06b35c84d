// Package process finds and ends the processes of launches. It knows a launch by the two
// variables its processes carry, LaunchName and MarkName, and reads no file of a session.
//
// Promises: a signal goes to a process only when its start time is the recorded one, so never
// to a later process with the same id. Stop and StopAll return without an error only when no
// process of the launch is left. What a process shows of itself is not trusted: an agent can
// lie about its own process, but not about its ancestors.
//
// Linux is read through /proc; there a process can also adopt the orphans below it
// (BecomeReaper). Other systems are read through ps(1), and orphans are found by their mark.
// The package writes nothing.
package process
